"""Makes transformers know this package's classes, by its documented `register` functions.

Those take the classes themselves, whose import takes as long as that of transformers with torch. `import hf_symbinv`
calls both functions, but not where `HF_SYMBINV_LIGHT` is set in the environment. `symbinv` and the processes of solvers
set it for their own import alone, so that a program or process that they start is not affected. Before they load a
model, or run a user's file that imports transformers, they call the functions themselves.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# architecture in config.json -> the Auto class of transformers that makes and loads it
AUTO_CLASSES = {
    "IdentityGPT2ForSequenceClassification": "AutoModelForSequenceClassification",
    "IdentityGPT2LMHeadModel": "AutoModelForCausalLM",
    "IdentityGPT2Model": "AutoModel",
    "SymbolInvariantEncoder": "AutoModel",
    "SymbolInvariantEncoderForSequenceClassification": "AutoModelForSequenceClassification",
    "SymbolInvariantEncoderForTokenClassification": "AutoModelForTokenClassification",
    "SymbolInvariantForCausalLM": "AutoModelForCausalLM",
    "SymbolInvariantForConditionalGeneration": "AutoModelForSeq2SeqLM",
    "SymbolInvariantForMaskedLM": "AutoModelForMaskedLM",
    "SymbolInvariantForSequenceClassification": "AutoModelForSequenceClassification",
    "SymbolInvariantForTokenClassification": "AutoModelForTokenClassification",
    "SymbolInvariantModel": "AutoModel",
}
# task of `transformers.pipeline` -> class, and the bundled checkpoint that it takes if no model is named
PIPELINES = {
    "ltl-witness": ("LtlWitnessPipeline", "ltl-base"),
    "prop-assignment": ("PropAssignmentPipeline", "prop-base"),
    "symbol-task": ("SymbolPipeline", None),
}


@cache
def register_auto_classes() -> None:
    """Let AutoConfig, AutoTokenizer and the AutoModel classes find the classes of this package; once in a process."""
    import transformers

    import hf_symbinv

    for architecture, auto_class in AUTO_CLASSES.items():
        model = getattr(hf_symbinv, architecture)
        if model.config_class.model_type not in transformers.CONFIG_MAPPING:  # a user's own stays
            transformers.AutoConfig.register(model.config_class.model_type, model.config_class)
        getattr(transformers, auto_class).register(model.config_class, model)
    # A configuration has one tokenizer; the others are found by their names, which a saved tokenizer states.
    for other in (
        hf_symbinv.SymbolInvariantWordTokenizer,
        hf_symbinv.SymbolInvariantTextTokenizer,
        hf_symbinv.SymbolInvariantSubwordTokenizer,
    ):
        transformers.AutoTokenizer.register(
            hf_symbinv.SymbolInvariantConfig,
            tokenizer_class=hf_symbinv.SymbolInvariantTokenizer,
            slow_tokenizer_class=other,
        )


@cache
def register_pipelines() -> None:
    """Let `transformers.pipeline` find the pipelines of this package; once in a process."""
    from transformers import AutoModelForSeq2SeqLM
    from transformers.pipelines import PIPELINE_REGISTRY

    import hf_symbinv

    of_tokens = PIPELINE_REGISTRY.check_task("token-classification")[1]
    if "transformers.pipelines.token_classification." in str(of_tokens["impl"]):  # a class, or where it is
        of_tokens["impl"] = hf_symbinv.SymbolTokensPipeline
    known = PIPELINE_REGISTRY.get_supported_tasks()
    for task, (class_name, bundled) in PIPELINES.items():
        if task not in known:  # a user's own stays
            PIPELINE_REGISTRY.register_pipeline(
                task,
                pipeline_class=getattr(hf_symbinv, class_name),
                pt_model=AutoModelForSeq2SeqLM,
                default=None if bundled is None else {"model": (hf_symbinv.checkpoint(bundled), None)},
                type="text",
            )


def imports_transformers(file: Path) -> bool:
    """Whether a user's Python file imports transformers anywhere, and so may ask it for a model of this package."""
    return re.search(rb"^\s*(?:from|import)\b.*\btransformers\b", file.read_bytes(), re.MULTILINE) is not None
