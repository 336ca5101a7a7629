"""Models whose answers do not depend on the names of the symbols in the question.

Importing this package makes its classes known to transformers' Auto classes, its pipelines to `transformers.pipeline`
and its metrics to `evaluate.load`. That costs next to nothing: every public name below is imported when it is first
used, so logic and solvers never load torch.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from .auto_classes import register_auto_classes, register_pipelines
from .metrics.registration import register_metrics

if TYPE_CHECKING:
    from .datasets_scripts.loading import load_data
    from .datasets_scripts.questions.builder import RandomQuestions
    from .datasets_scripts.questions.copying import Copying
    from .datasets_scripts.questions.grid import QuestionGrid
    from .datasets_scripts.questions.ltl_random import LtlRandom
    from .datasets_scripts.questions.prop_random import PropRandom
    from .evaluation import checkpoint
    from .logic import (
        Formula,
        FormulaSyntaxError,
        Trace,
        parse,
        parse_infix,
        parse_lbt,
        parse_prefix,
        parse_trace,
        to_infix,
        to_lbt,
        to_prefix,
        trace_to_infix,
        trace_to_prefix,
    )
    from .modeling.causal_symbinv import SymbolInvariantForCausalLM
    from .modeling.classification_symbinv import SymbolInvariantForSequenceClassification
    from .modeling.configuration_identity_gpt2 import IdentityGPT2Config
    from .modeling.configuration_symbinv import SymbolInvariantConfig
    from .modeling.modeling_identity_gpt2 import (
        IdentityGPT2ForSequenceClassification,
        IdentityGPT2LMHeadModel,
        IdentityGPT2Model,
    )
    from .modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration, SymbolInvariantModel
    from .modeling.tokenization_symbinv import SymbolInvariantTokenizer, SymbolTable, TokenizationError
    from .modeling.words_symbinv import SymbolInvariantWordTokenizer
    from .pipelines import LtlWitnessPipeline, PropAssignmentPipeline, SymbolPipeline
    from .solvers import Checker, CheckResult, find_witness
    from .tasks import COPY, LTL, PROP, SymbolTask, load_task
    from .training import Recipe, generate_answers, train
    from .training.cards import ModelCardCallback

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "modeling.causal_symbinv": ("SymbolInvariantForCausalLM",),
    "modeling.classification_symbinv": ("SymbolInvariantForSequenceClassification",),
    "modeling.configuration_identity_gpt2": ("IdentityGPT2Config",),
    "modeling.configuration_symbinv": ("SymbolInvariantConfig",),
    "modeling.modeling_identity_gpt2": (
        "IdentityGPT2ForSequenceClassification",
        "IdentityGPT2LMHeadModel",
        "IdentityGPT2Model",
    ),
    "modeling.modeling_symbinv": ("SymbolInvariantModel", "SymbolInvariantForConditionalGeneration"),
    "modeling.tokenization_symbinv": ("SymbolInvariantTokenizer", "SymbolTable", "TokenizationError"),
    "modeling.words_symbinv": ("SymbolInvariantWordTokenizer",),
    "logic": (
        "Formula",
        "Trace",
        "FormulaSyntaxError",
        "parse",
        "parse_infix",
        "parse_lbt",
        "parse_prefix",
        "parse_trace",
        "to_infix",
        "to_lbt",
        "to_prefix",
        "trace_to_infix",
        "trace_to_prefix",
    ),
    "evaluation": ("checkpoint",),
    "pipelines": ("LtlWitnessPipeline", "PropAssignmentPipeline", "SymbolPipeline"),
    "solvers": ("Checker", "CheckResult", "find_witness"),
    "tasks": ("COPY", "LTL", "PROP", "SymbolTask", "load_task"),
    "datasets_scripts.loading": ("load_data",),
    "datasets_scripts.questions.builder": ("RandomQuestions",),
    "datasets_scripts.questions.copying": ("Copying",),
    "datasets_scripts.questions.grid": ("QuestionGrid",),
    "datasets_scripts.questions.ltl_random": ("LtlRandom",),
    "datasets_scripts.questions.prop_random": ("PropRandom",),
    "training": ("Recipe", "generate_answers", "train"),
    "training.cards": ("ModelCardCallback",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "COPY",
    "CheckResult",
    "Checker",
    "Copying",
    "Formula",
    "FormulaSyntaxError",
    "IdentityGPT2Config",
    "IdentityGPT2ForSequenceClassification",
    "IdentityGPT2LMHeadModel",
    "IdentityGPT2Model",
    "LTL",
    "LtlRandom",
    "LtlWitnessPipeline",
    "ModelCardCallback",
    "PROP",
    "PropAssignmentPipeline",
    "PropRandom",
    "QuestionGrid",
    "RandomQuestions",
    "Recipe",
    "SymbolInvariantConfig",
    "SymbolInvariantForCausalLM",
    "SymbolInvariantForConditionalGeneration",
    "SymbolInvariantForSequenceClassification",
    "SymbolInvariantModel",
    "SymbolInvariantTokenizer",
    "SymbolInvariantWordTokenizer",
    "SymbolPipeline",
    "SymbolTable",
    "SymbolTask",
    "TokenizationError",
    "Trace",
    "checkpoint",
    "find_witness",
    "generate_answers",
    "load_data",
    "load_task",
    "parse",
    "parse_infix",
    "parse_lbt",
    "parse_prefix",
    "parse_trace",
    "to_infix",
    "to_lbt",
    "to_prefix",
    "trace_to_infix",
    "trace_to_prefix",
    "train",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hf_symbinv' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    except ModuleNotFoundError as error:
        from .extras import missing_extra

        message = missing_extra(error, f"hf_symbinv.{name}")
        if message is None:
            raise
        raise ImportError(message) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_auto_classes(sys.modules[__name__])
register_pipelines()
register_metrics()
