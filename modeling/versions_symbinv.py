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
    """Refuses a version of transformers from before `LOWEST`.

    Args:
        version: as `transformers.__version__`.

    Raises:
        ImportError: naming the version, those that will do, and how to get one.
    """
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < LOWEST:
        wanted = f"transformers>={LOWEST[0]}.{LOWEST[1]}"
        raise ImportError(
            f'transformers {version}: the symbol-invariant models run on {wanted}; run: pip install "{wanted}"'
        )


check_transformers(transformers.__version__)

_CLASSES, _PROCESSORS = "transformers.modeling_utils", "transformers.generation.logits_process"
_TOKENIZERS, _GPT2 = "transformers.tokenization_utils_base", "transformers.models.gpt2.modeling_gpt2"
# Name -> its module, and the releases that have it there: since, and None as long as the newest one has it.
HOMES: dict[str, tuple[str, str, str | None]] = {
    "ACT2FN": ("transformers.activations", "5.10", None),
    "AddedToken": (_TOKENIZERS, "5.10", None),
    "AutoConfig": ("transformers.models.auto.configuration_auto", "5.10", None),
    "AutoModel": ("transformers.models.auto.modeling_auto", "5.10", None),
    "AutoTokenizer": ("transformers.models.auto.tokenization_auto", "5.10", None),
    "BaseStreamer": ("transformers.generation.streamers", "5.10", None),
    "BatchEncoding": (_TOKENIZERS, "5.10", None),
    "EncoderNoRepeatNGramLogitsProcessor": (_PROCESSORS, "5.10", None),
    "EncoderRepetitionPenaltyLogitsProcessor": (_PROCESSORS, "5.10", None),
    "EpsilonLogitsWarper": (_PROCESSORS, "5.10", None),
    "EtaLogitsWarper": (_PROCESSORS, "5.10", None),
    "ExponentialDecayLengthPenalty": (_PROCESSORS, "5.10", None),
    "ForcedBOSTokenLogitsProcessor": (_PROCESSORS, "5.10", None),
    "ForcedEOSTokenLogitsProcessor": (_PROCESSORS, "5.10", None),
    "GenerationConfig": ("transformers.generation.configuration_utils", "5.10", None),
    "GenerationMixin": ("transformers.generation.utils", "5.10", None),
    "GPT2Attention": (_GPT2, "5.10", None),
    "GPT2Config": ("transformers.models.gpt2.configuration_gpt2", "5.10", None),
    "GPT2ForSequenceClassification": (_GPT2, "5.10", None),
    "GPT2LMHeadModel": (_GPT2, "5.10", None),
    "GPT2Model": (_GPT2, "5.10", None),
    "GradientCheckpointingLayer": ("transformers.modeling_layers", "5.10", None),
    "InfNanRemoveLogitsProcessor": (_PROCESSORS, "5.10", None),
    "LogitNormalization": (_PROCESSORS, "5.10", None),
    "MinLengthLogitsProcessor": (_PROCESSORS, "5.10", None),
    "MinNewTokensLengthLogitsProcessor": (_PROCESSORS, "5.10", None),
    "MinPLogitsWarper": (_PROCESSORS, "5.10", None),
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": ("transformers.models.auto.modeling_auto", "5.10", None),
    "ModelOutput": ("transformers.utils", "5.10", None),
    "NoBadWordsLogitsProcessor": (_PROCESSORS, "5.10", None),
    "NoRepeatNGramLogitsProcessor": (_PROCESSORS, "5.10", None),
    "PaddingStrategy": (_TOKENIZERS, "5.10", None),
    "PrefixConstrainedLogitsProcessor": (_PROCESSORS, "5.10", None),
    "PreTrainedConfig": ("transformers.configuration_utils", "5.10", None),
    "PreTrainedModel": (_CLASSES, "5.10", None),
    "PreTrainedTokenizerBase": (_TOKENIZERS, "5.10", None),
    "PythonBackend": ("transformers.tokenization_python", "5.10", None),
    "RepetitionPenaltyLogitsProcessor": (_PROCESSORS, "5.10", None),
    "SequenceBiasLogitsProcessor": (_PROCESSORS, "5.10", None),
    "SequenceClassifierOutput": ("transformers.modeling_outputs", "5.10", None),
    "SuppressTokensAtBeginLogitsProcessor": (_PROCESSORS, "5.10", None),
    "SuppressTokensLogitsProcessor": (_PROCESSORS, "5.10", None),
    "TemperatureLogitsWarper": (_PROCESSORS, "5.10", None),
    "TokenClassifierOutput": ("transformers.modeling_outputs", "5.10", None),
    "TokenizersBackend": ("transformers.tokenization_utils_tokenizers", "5.10", None),
    "TopHLogitsWarper": (_PROCESSORS, "5.10", None),
    "TopKLogitsWarper": (_PROCESSORS, "5.10", None),
    "TopPLogitsWarper": (_PROCESSORS, "5.10", None),
    "TruncationStrategy": (_TOKENIZERS, "5.10", None),
    "TypicalLogitsWarper": (_PROCESSORS, "5.10", None),
    "logging": ("transformers.utils", "5.10", None),
    "strict": ("transformers.configuration_utils", "5.10", None),
    "to_py_obj": ("transformers.utils", "5.10", None),
}


def later(name: str) -> Any:
    """A name of transformers, for a file that must not import it, and with it torch, when it is imported itself."""
    return __getattr__(name)


def __getattr__(name: str) -> Any:
    """A name of transformers, imported when it is first asked for: configurations need no torch."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name][0]), name)
