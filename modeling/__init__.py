"""The files that travel with every checkpoint: configuration, embedders, layers, models, generation, tokenizer.

A checkpoint saved after `register_for_auto_class` carries flat copies of these modules, so each of them imports torch,
transformers and its siblings (`from .sibling import Name`) and nothing else. Import the public names from `hf_symbinv`.
"""
