"""The files that travel with every checkpoint, in the order in which to read them.

configuration → slots → embedding → layers → base → modeling, causal or classification → generation → search.
Tokenizers begin with `numbering_symbinv.py`; `encoder_symbinv.py` and `modeling_identity_gpt2.py` stand alone.

A checkpoint saved after `register_for_auto_class` carries flat copies of these modules, so each of them imports torch,
transformers and its siblings (`from .sibling import Name`) and nothing else. Import the public names from `hf_symbinv`.
"""
