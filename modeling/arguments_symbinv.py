"""Arguments of `generate`: where a value comes from, what is refused and why, and the processors that they ask for.

Letters: B questions, R rows (beams of questions), K slots, V_n base tokens, C columns.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .slots_symbinv import Names, referents_of
from .versions_symbinv import (
    EncoderNoRepeatNGramLogitsProcessor,
    EncoderRepetitionPenaltyLogitsProcessor,
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    ExponentialDecayLengthPenalty,
    ForcedBOSTokenLogitsProcessor,
    ForcedEOSTokenLogitsProcessor,
    GenerationConfig,
    InfNanRemoveLogitsProcessor,
    LogitNormalization,
    MinLengthLogitsProcessor,
    MinNewTokensLengthLogitsProcessor,
    MinPLogitsWarper,
    NoBadWordsLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    PrefixConstrainedLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
    SuppressTokensAtBeginLogitsProcessor,
    SuppressTokensLogitsProcessor,
    TemperatureLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

# Arguments of `generate` that hold ids, which it would take for slots.
_ID_ARGUMENTS = (
    "bad_words_ids", "sequence_bias", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id",
    "forced_eos_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "decoder_start_token_id",
)  # fmt: skip

# Arguments -> why a model over symbols cannot follow them, and what does instead.
_REASONS = {
    "watermarking_config": "a watermark hangs on ids, so the names of symbols would change an answer",
    "token_healing": "it extends the name of the last token, but the name of a symbol means nothing",
    "assistant_model assistant_tokenizer assistant_early_exit is_assistant prompt_lookup_num_tokens use_mtp "
    "speculation_type": "a symbol that was guessed and taken back would keep its stream",
    "guidance_scale negative_prompt_ids negative_prompt_attention_mask": "a pass without its question has other "
    "symbols; a logits_processor can compare as it sees fit",
    "custom_generate": "another loop would not know slots; call it with the model, custom_generate(model, …)",
    "cache_implementation cache_config max_cache_len prefill_chunk_size": "the model's own cache grows with what is "
    "written, and its beams share the encoder's keys",
    "penalty_alpha low_memory dola_layers num_beam_groups diversity_penalty constraints force_words_ids": "this "
    "search is code on the Hub now, which knows no symbols; use num_beams, do_sample=True, a grammar or a "
    "logits_processor",
    "synced_gpus": "processes that share weights would wait for each other; gather the weights first, as with ZeRO-2",
}
REFUSED = {name: why for names, why in _REASONS.items() for name in names.split()}

# Values that ask for nothing, where it is not 0.
_NEUTRAL = {"guidance_scale": 1, "num_beam_groups": 1, "cache_implementation": "dynamic"}

# What transformers takes where nobody says: tokens of an answer, and the likeliest tokens that samples are drawn from.
_NEW_TOKENS, _TOP_K = 20, 50
# The settings of transformers, and our own.
_SETTINGS = {name for name in vars(GenerationConfig()) if not name.startswith("_")} | {"grammar", "num_fresh_symbols"}


class Settings:
    """What one call of `generate` decodes by: its arguments, else its generation config, else the model's."""

    def __init__(self, arguments: Mapping[str, Any], generation_config: Any, model_config: Any):
        configs = [vars(config) for config in (model_config, generation_config) if config is not None]
        self.names = _SETTINGS.union(*configs)  # of all settings that there are
        self.arguments = {name: value for name, value in arguments.items() if name in self.names}
        self._values: dict[str, Any] = dict.fromkeys(name for config in configs for name in config)
        for config in configs:
            self._values |= {name: value for name, value in config.items() if value is not None}
        self._values |= self.arguments

    def get(self, name: str, default: Any = None) -> Any:
        """The setting of this name; `default` if none of them has it."""
        return self._values.get(name, default)

    def max_length(self, prompt_length: int) -> int:
        """Tokens at most, those before the answer included."""
        new_tokens, length = self.get("max_new_tokens"), self.get("max_length")
        longest = prompt_length + (_NEW_TOKENS if new_tokens is None else new_tokens)
        return int(longest if length is None or new_tokens is not None else length)

    def refuse_arguments(self, call: Mapping[str, Any]) -> None:
        """Refuses what a model cannot follow, here or in a `call`, and numbers or words that mean nothing."""
        for name, why in REFUSED.items():
            value = call.get(name, self.get(name))
            is_plain = isinstance(value, (bool, int, float, str))
            if value is None or (is_plain and value == _NEUTRAL.get(name, 0)):
                continue
            shown = repr(value) if is_plain else f"a {type(value).__name__}"
            raise ValueError(f"{name}={shown}: {why}; leave this argument out")
        for name in ("num_beams", "num_return_sequences"):
            if (value := self.get(name)) is not None and (not hasattr(value, "__index__") or value < 1):
                raise ValueError(f"{name}={value!r}: must be an integer of at least 1")
        if (value := self.get("early_stopping")) not in (None, False, True, "never"):
            raise ValueError(f'early_stopping={value!r}: must be True, False or "never"')

    def refuse_symbols(self, base_vocab_size: int) -> None:
        """Refuses symbols in the arguments of `generate` that hold ids."""
        for name in _ID_ARGUMENTS:
            value = self.get(name)
            if name == "sequence_bias" and value is not None:
                value = [pair[0] for pair in (value.items() if isinstance(value, dict) else value)]
            for token in flat(value):
                if token >= base_vocab_size:
                    raise ValueError(
                        f"{name}: {token} is a symbol, and generate numbers the symbols of each question anew; give "
                        f"base ids, 0 … {base_vocab_size - 1}. For symbols, give a LogitsProcessor or StoppingCriteria "
                        "with the map of slot_referents"
                    )


def flat(value: Any) -> list[int]:
    """The ids in a number, a tensor or lists of lists; none in None."""
    if value is None:
        return []
    if isinstance(value, Tensor):
        value = value.tolist()
    return [token for part in value for token in flat(part)] if isinstance(value, (list, tuple)) else [value]


def usual_processors(
    settings: Settings, told: Any, prompts: Tensor, source: Tensor | None, allowed: tuple[Any, int] | None
) -> list[Callable[[Tensor, Tensor], Tensor]]:
    """Those of transformers that settings ask for, in its order; `prompts (B, T)` and questions are slot ids.

    The questions of rows are `source (R, L)`; None if there are none beside the prompts. `allowed` is
    `prefix_allowed_tokens_fn` of slot ids, and the rows of a question; None for none.
    """
    found: list[Any] = []
    add = partial(_add, found, settings)
    length, device = prompts.shape[1], prompts.device
    eos = torch.tensor(list(told.eos), device=device)
    has_source, ends = source is not None, len(told.eos) > 0
    encoder_penalty, decay = EncoderRepetitionPenaltyLogitsProcessor, ExponentialDecayLengthPenalty
    add("sequence_bias", SequenceBiasLogitsProcessor)
    add("encoder_repetition_penalty", lambda value: encoder_penalty(value, source), 1.0, has_source)
    add("repetition_penalty", RepetitionPenaltyLogitsProcessor, 1.0)
    add("no_repeat_ngram_size", NoRepeatNGramLogitsProcessor, 0)
    add("encoder_no_repeat_ngram_size", lambda value: EncoderNoRepeatNGramLogitsProcessor(value, source), 0, has_source)
    add("bad_words_ids", lambda value: NoBadWordsLogitsProcessor(value, eos if ends else None))
    add("min_length", lambda value: MinLengthLogitsProcessor(value, eos, device), 0, ends)
    add("min_new_tokens", lambda value: MinNewTokensLengthLogitsProcessor(length, value, eos, device), 0, ends)
    if allowed is not None:
        found.append(PrefixConstrainedLogitsProcessor(*allowed))
    add("forced_bos_token_id", ForcedBOSTokenLogitsProcessor)
    add("forced_eos_token_id", lambda value: ForcedEOSTokenLogitsProcessor(told.max_length, value, device))
    add("remove_invalid_values", lambda value: InfNanRemoveLogitsProcessor(), False)
    add("exponential_decay_length_penalty", lambda value: decay(value, eos, length), needed=ends)
    add("suppress_tokens", lambda value: SuppressTokensLogitsProcessor(value, device))
    begin = length + (length == 1 and settings.get("forced_bos_token_id") is not None)
    add("begin_suppress_tokens", lambda value: SuppressTokensAtBeginLogitsProcessor(value, begin, device))
    return found


def warpers(settings: Settings, told: Any) -> list[Callable[[Tensor, Tensor], Tensor]]:
    """What narrows the distribution that is drawn from, in transformers' order, and a normalisation."""
    found: list[Any] = []
    get, add = settings.get, partial(_add, found, settings)
    keep = {"min_tokens_to_keep": 1 if told.beams == 1 else 1 + max(1, len(told.eos))}
    if told.sample:
        top_k = _TOP_K if get("top_k") is None and "top_k" not in settings.arguments else get("top_k")
        add("temperature", lambda value: TemperatureLogitsWarper(float(value)), 1.0)
        add("top_h", TopHLogitsWarper)
        if top_k:
            found.append(TopKLogitsWarper(top_k, **keep))
        add("top_p", partial(TopPLogitsWarper, **keep), needed=(get("top_p") or 1.0) < 1.0)
        add("min_p", partial(MinPLogitsWarper, **keep))
        add("typical_p", partial(TypicalLogitsWarper, **keep), needed=(get("typical_p") or 1.0) < 1.0)
        add("epsilon_cutoff", partial(EpsilonLogitsWarper, **keep), 0)
        add("eta_cutoff", partial(EtaLogitsWarper, **keep), 0)
    add("renormalize_logits", lambda value: LogitNormalization(), False)
    return found


def _add(
    found: list[Any], settings: Settings, name: str, make: Callable[[Any], Any], off: Any = None, needed: bool = True
) -> None:
    """Adds to those `found` what the setting of this name makes, unless it is None or says that it is `off`."""
    value = settings.get(name)
    if value is not None and value != off and needed:
        found.append(make(value))


def allowed_in_slots(
    function: Callable[[int, Tensor], Any], names: Names, invents: bool
) -> Callable[[int, Tensor], list[int]]:
    """A user's `prefix_allowed_tokens_fn`, a `function (T,)` of an input's index and ids, as one of slot ids.

    It leaves out symbols that the input does not have, but the next new one if the model `invents` some, and raises a
    ValueError if that leaves nothing.
    """
    base, views = names.base_vocab_size, names.num_views

    def allowed(index: int, written: Tensor) -> list[int]:
        own = Names(names.known[index : index + 1], base, views)
        if invents:  # up to the next new symbol
            last = max(int((own.known >= 0).sum()), 1 + (int(written.max()) - base) // views)
            own = Names(own.referents(last + 1), base, views)
        wanted = flat(function(index, own.outside(written.unsqueeze(0))[0]))
        ids = torch.tensor([wanted], dtype=torch.long, device=written.device)
        is_known = (ids < base) | (own.numbers(referents_of(ids, base, views)) >= 0)
        found: list[int] = own.inside(ids)[is_known].tolist()
        if wanted and not found:
            said = f"prefix_allowed_tokens_fn allows {wanted} only, symbols that input {index} does not have"
            raise ValueError(f"{said}; allow one of its symbols or a base token")
        return found

    return allowed
