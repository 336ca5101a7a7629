"""Makes transformers' Auto classes and `pipeline` know this package's classes, without importing transformers or torch.

`AutoModel.register` needs the classes themselves, and importing those takes seconds that a solver process or
`symbinv --help` should not pay. transformers finds its own models in another way: tables of names, whose entries are
imported from ``transformers.models.<model type>`` when they are first asked for. This module adds its names to those
tables, at once where transformers has loaded them, otherwise right after it does. Pipelines are in such a table too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# model type -> its configuration
CONFIGS = {"symbol_invariant": "SymbolInvariantConfig", "identity_gpt2": "IdentityGPT2Config"}
# no model's types: places for the other tokenizers in the table, where AutoTokenizer looks for the names of classes
WORDS, TEXTS = "symbol_invariant_words", "symbol_invariant_texts"
# module of transformers -> table of names -> model type -> class; the names are those of the Auto class's own table
NAMES: dict[str, dict[str, dict[str, str]]] = {
    "transformers.models.auto.configuration_auto": {"CONFIG_MAPPING": CONFIGS},
    "transformers.models.auto.tokenization_auto": {
        "TOKENIZER_MAPPING": {
            "symbol_invariant": "SymbolInvariantTokenizer",
            WORDS: "SymbolInvariantWordTokenizer",
            TEXTS: "SymbolInvariantTextTokenizer",
        },
    },
    "transformers.models.auto.modeling_auto": {
        "MODEL_MAPPING": {"symbol_invariant": "SymbolInvariantModel", "identity_gpt2": "IdentityGPT2Model"},
        "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING": {"symbol_invariant": "SymbolInvariantForConditionalGeneration"},
        "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING": {
            "symbol_invariant": "SymbolInvariantForSequenceClassification",
            "identity_gpt2": "IdentityGPT2ForSequenceClassification",
        },
        "MODEL_FOR_CAUSAL_LM_MAPPING": {
            "symbol_invariant": "SymbolInvariantForCausalLM",
            "identity_gpt2": "IdentityGPT2LMHeadModel",
        },
    },
}

PIPELINES = "transformers.pipelines"
# task of `transformers.pipeline` -> class, and the bundled checkpoint that it takes if no model is named
PIPELINE_CLASSES: dict[str, tuple[str, str | None]] = {
    "ltl-witness": ("LtlWitnessPipeline", "ltl-small"),
    "prop-assignment": ("PropAssignmentPipeline", "prop-small"),
    "symbol-task": ("SymbolPipeline", None),
}


def register_auto_classes(package: ModuleType) -> None:
    """Lets AutoConfig, AutoTokenizer and the AutoModel classes find the classes of `package`.

    Args:
        package: Module whose attributes are the classes named in `NAMES`; its attributes are read on first use.
    """
    for model_type in (*CONFIGS, WORDS, TEXTS):
        sys.modules[f"transformers.models.{model_type}"] = package
    _now_or_after_loading(tuple(NAMES), _add_names)


def register_pipelines() -> None:
    """Lets `transformers.pipeline` find the pipelines of this package; they are imported when they are asked for."""
    _now_or_after_loading((PIPELINES,), _add_pipelines)


def _now_or_after_loading(names: tuple[str, ...], action: Callable[[ModuleType], None]) -> None:
    for name in names:
        if name in sys.modules:
            action(sys.modules[name])
    if not all(name in sys.modules for name in names):
        sys.meta_path.insert(0, _AfterLoading(names, action))


def _add_names(module: ModuleType) -> None:
    for table, classes in NAMES[module.__name__].items():
        getattr(module, f"{table}_NAMES").update(classes)
        mapping = getattr(module, table)
        if table != "CONFIG_MAPPING":  # a mapping built before the configurations had names cannot look them up
            mapping._reverse_config_mapping.update(
                {CONFIGS[model_type]: model_type for model_type in classes if model_type in CONFIGS}
            )


def _add_pipelines(module: ModuleType) -> None:
    checkpoints = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checkpoints")
    for task, (class_name, bundled) in PIPELINE_CLASSES.items():
        known: dict[str, object] = {
            "impl": f"hf_symbinv.pipelines.{class_name}",
            "pt": (module.AutoModelForSeq2SeqLM,),
            "type": "text",
        }
        if bundled is not None:
            known["default"] = {"model": (os.path.join(checkpoints, bundled), None)}
        module.PIPELINE_REGISTRY.supported_tasks[task] = known


class _AfterLoading(MetaPathFinder):
    """Lets the other finders find the named modules, and calls `action` on each when it has been executed."""

    def __init__(self, names: tuple[str, ...], action: Callable[[ModuleType], None]) -> None:
        self.names = names
        self.action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.names:
            return None
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(fullname, path, target) if finder is not self and find_spec else None
            if spec is not None and spec.loader is not None:
                spec.loader = _ThenCall(spec.loader, self.action)
                return spec
        return None


class _ThenCall(Loader):
    """Loads a module as `loader` does, puts `loader` back in its place and calls `action` on the module."""

    def __init__(self, loader: Loader, action: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.action(module)
