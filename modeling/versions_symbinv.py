"""Every name that comes from transformers, and the versions of it that this code runs on.

All other files import these names from here, so a name that moves costs a line of `HOMES`. A test imports all of them
with the lowest version, one between, and the newest. An older version than the lowest is refused before, so that a user
reads which version is needed and not which name is missing.
"""

import importlib
import re
from typing import Any

import transformers

LOWEST = (5, 10)


def check_transformers(version: str) -> None:
    """Refuses a `version` of transformers, as `transformers.__version__`, from before `LOWEST` by an ImportError."""
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < LOWEST:
        wanted = f"transformers>={LOWEST[0]}.{LOWEST[1]}"
        raise ImportError(
            f'transformers {version}: the symbol-invariant models run on {wanted}; run: pip install "{wanted}"'
        )


check_transformers(transformers.__version__)

# Module of transformers -> the names that are taken from it; from `LOWEST` to the newest release they have stood there.
_NAMES = {
    "activations": "ACT2FN",
    "configuration_utils": "PreTrainedConfig strict",
    "generation.configuration_utils": "GenerationConfig",
    "generation.logits_process": "EncoderNoRepeatNGramLogitsProcessor EncoderRepetitionPenaltyLogitsProcessor "
    "EpsilonLogitsWarper EtaLogitsWarper ExponentialDecayLengthPenalty ForcedBOSTokenLogitsProcessor "
    "ForcedEOSTokenLogitsProcessor InfNanRemoveLogitsProcessor LogitNormalization MinLengthLogitsProcessor "
    "MinNewTokensLengthLogitsProcessor MinPLogitsWarper NoBadWordsLogitsProcessor NoRepeatNGramLogitsProcessor "
    "PrefixConstrainedLogitsProcessor RepetitionPenaltyLogitsProcessor SequenceBiasLogitsProcessor "
    "SuppressTokensAtBeginLogitsProcessor SuppressTokensLogitsProcessor TemperatureLogitsWarper TopHLogitsWarper "
    "TopKLogitsWarper TopPLogitsWarper TypicalLogitsWarper",
    "generation.utils": "GenerationMixin",
    "modeling_layers": "GradientCheckpointingLayer",
    "modeling_outputs": "SequenceClassifierOutput TokenClassifierOutput",
    "modeling_utils": "PreTrainedModel",
    "models.auto.configuration_auto": "AutoConfig",
    "models.auto.modeling_auto": "AutoModel MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "models.auto.tokenization_auto": "AutoTokenizer",
    "models.gpt2.configuration_gpt2": "GPT2Config",
    "models.gpt2.modeling_gpt2": "GPT2Attention GPT2ForSequenceClassification GPT2LMHeadModel GPT2Model",
    "tokenization_python": "PythonBackend",
    "tokenization_utils_base": "AddedToken BatchEncoding PaddingStrategy PreTrainedTokenizerBase TruncationStrategy",
    "tokenization_utils_tokenizers": "TokenizersBackend",
    "utils": "ModelOutput to_py_obj",
}
HOMES = {name: f"transformers.{module}" for module, names in _NAMES.items() for name in names.split()}


def later(name: str) -> Any:
    """A name of transformers, imported when it is first asked for: configurations need no torch."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


__getattr__ = later
