"""Arguments of `generate`: those that are refused and why, those that hold ids, and a user's function of ids.

Letters: B batch, K slots, V_n base tokens.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import torch

# Arguments of `generate` that hold ids, which it would take for slots.
_ID_ARGUMENTS = (
    "bad_words_ids", "sequence_bias", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id",
    "forced_eos_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "decoder_start_token_id",
)  # fmt: skip

_ON_THE_HUB = "transformers moved this search to code on the Hub, and that code knows no symbols; "

_OF_STRINGS = "it belongs to stop_strings, token_healing and assistants of another vocabulary; leave them out"

# Argument → why a model over symbols cannot follow it, and what to do.
REFUSED = {
    "watermarking_config": "a watermark hangs on ids, so the names of symbols would change an answer; leave it out",
    "token_healing": "it looks for longer names of the last token, but the name of a symbol means nothing; leave it "
    "out",
    "stop_strings": "a string may hold names of symbols, which mean nothing to the model; pass base ids as eos_token_id, "
    "or a StoppingCriteria",
    "tokenizer": _OF_STRINGS,
    "assistant_tokenizer": _OF_STRINGS,
    "assistant_lookbehind": _OF_STRINGS,
    "target_lookbehind": _OF_STRINGS,
    "assistant_early_exit": "no layer but the last can be read; leave it out, or use prompt_lookup_num_tokens",
    "use_mtp": "the model predicts one token at a time; leave it out",
    "speculation_type": "no draft model of this type knows symbols; leave it out",
    "penalty_alpha": _ON_THE_HUB + "use do_sample=True or num_beams",
    "low_memory": "it belongs to contrastive search, which is refused; leave it out",
    "dola_layers": _ON_THE_HUB + "leave it out",
    "num_beam_groups": _ON_THE_HUB + "use num_beams with do_sample=True for answers that differ",
    "diversity_penalty": "it belongs to groups of beams, which are refused; use num_beams with do_sample=True",
    "constraints": _ON_THE_HUB + "use a logits_processor, a grammar or prefix_allowed_tokens_fn",
    "force_words_ids": _ON_THE_HUB + "use a logits_processor, a grammar or prefix_allowed_tokens_fn",
}

_GUIDANCE = {
    "negative_prompt_ids": "it belongs to guidance_scale, which is refused; leave it out",
    "negative_prompt_attention_mask": "it belongs to guidance_scale, which is refused; leave it out",
}

# What an encoder-decoder cannot follow either.
REFUSED_BY_ENCODER_DECODER = {
    **REFUSED,
    "assistant_model": "the answer's symbols are numbered by the question, which an assistant would not get; leave it "
    "out, or use prompt_lookup_num_tokens",
    "is_assistant": "an encoder-decoder assists no other model; leave it out",
    "encoder_outputs": "generate encodes itself, with the symbols of decoder_input_ids; pass input_ids",
    "guidance_scale": "without its question an answer has no streams to be compared with; use a logits_processor",
    **_GUIDANCE,
    "prefill_chunk_size": "the encoder reads a question at once; leave it out",
    "cache_config": "only the dynamic cache keeps the encoder once per input; leave it out",
    "max_cache_len": "only the dynamic cache keeps the encoder once per input; leave it out",
}

# What a decoder that draws its rows cannot follow either.
REFUSED_BY_DRAWS = {
    **REFUSED,
    "guidance_scale": "the pass without the prompt would draw other rows for the symbols; use a logits_processor",
    **_GUIDANCE,
}

# Values that ask for nothing, where it is not 0.
_NEUTRAL = {"guidance_scale": 1, "num_beam_groups": 1}


def refuse_arguments(model: Any, given: dict[str, Any], refused: dict[str, str]) -> None:
    """Refuses arguments of `generate` that a model cannot follow.

    Args:
        model: whose `generation_config` holds the arguments that are not given.
        given: the call's arguments by name.
        refused: argument → reason and remedy.

    Raises:
        ValueError: with the argument, its value, the reason and the remedy.
    """
    for name, why in refused.items():
        value = _value(model, given, name)
        asks_nothing = isinstance(value, (bool, int, float)) and value == _NEUTRAL.get(name, 0)
        if value is not None and not asks_nothing:
            shown = repr(value) if isinstance(value, (bool, int, float, str)) else f"a {type(value).__name__}"
            raise ValueError(f"{name}={shown}: {why}")


def refuse_symbols(model: Any, given: dict[str, Any], base_vocab_size: int) -> None:
    """Refuses symbols in the arguments of `generate` that hold ids.

    Args:
        model: whose `generation_config` holds the arguments that are not given.
        given: the call's arguments by name.
        base_vocab_size: V_n.

    Raises:
        ValueError: with the argument and the id.
    """
    for name in _ID_ARGUMENTS:
        value = _value(model, given, name)
        if name == "sequence_bias" and value is not None:
            value = [pair[0] for pair in (value.items() if isinstance(value, dict) else value)]
        for token in flat(value):
            if token >= base_vocab_size:
                raise ValueError(
                    f"{name}: {token} is a symbol, and generate numbers the symbols of each question anew; give base "
                    f"ids, 0 … {base_vocab_size - 1}, or for symbols a LogitsProcessor or StoppingCriteria with the "
                    "map that slot_referents gives"
                )


def refuse_cache_with_beams(model: Any, given: dict[str, Any], own: tuple[type, ...]) -> None:
    """Refuses beams in a cache that would move the encoder's keys, which all beams of an input share.

    Args:
        model: whose `generation_config` holds the arguments that are not given.
        given: the call's arguments by name.
        own: the classes of `past_key_values` that beams can use.

    Raises:
        ValueError: with the cache and the number of beams.
    """
    beams, cache = _value(model, given, "num_beams"), given.get("past_key_values")
    if beams is not None and beams > 1 and not isinstance(cache, own):
        raise ValueError(
            f"past_key_values is a {type(cache).__name__}, and num_beams={beams}: it would move the encoder's keys, "
            "which all beams of an input share; leave past_key_values out"
        )


def _value(model: Any, given: dict[str, Any], name: str) -> Any:
    """What `generate` will take for an argument: that of the call, of its configuration, or of the model's."""
    if name in given:
        return given[name]
    value = getattr(given.get("generation_config"), name, None)
    return getattr(model.generation_config, name, None) if value is None else value


def flat(value: Any) -> list[int]:
    """The ids in a number, a tensor or lists of lists; none in None."""
    if value is None:
        return []
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return [token for part in value for token in flat(part)] if isinstance(value, (list, tuple)) else [value]


def allowed_in_slots(
    function: Callable[[int, torch.Tensor], Any], referents: torch.Tensor, base_vocab_size: int
) -> Callable[[int, torch.Tensor], list[int]]:
    """A user's `prefix_allowed_tokens_fn`, which reads and returns ids, as one of slots.

    Args:
        function: of an input's index and what is written `(T,)` to the ids that may follow.
        referents: `(B, K)` int64, the referent of each slot, -1 where there is none.
        base_vocab_size: V_n.

    Returns:
        A function of an input's index and slot ids `(T,)` to slot ids. It leaves out symbols that do not occur in the
        input, and raises a ValueError if that leaves nothing.
    """
    slots = [{referent: slot for slot, referent in enumerate(row)} for row in referents.tolist()]

    def allowed(index: int, written: torch.Tensor) -> list[int]:
        own = referents[index].to(written.device)
        names = own[(written - base_vocab_size).clamp(min=0, max=len(own) - 1)]
        wanted = flat(function(index, torch.where(written >= base_vocab_size, base_vocab_size + names, written)))
        found = [
            token if token < base_vocab_size else base_vocab_size + slots[index][token - base_vocab_size]
            for token in wanted
            if token < base_vocab_size or token - base_vocab_size in slots[index]
        ]
        if wanted and not found:
            raise ValueError(
                f"prefix_allowed_tokens_fn allows {wanted} only, symbols that input {index} does not have; allow one "
                "of its symbols or a base token"
            )
        return found

    return allowed


class OneBatchAtATime:
    """What a model whose attention knows no pages has in place of continuous batching."""

    def generate_batch(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused, as `cache_implementation="paged"` is; see `init_continuous_batching`."""
        self.init_continuous_batching()

    def init_continuous_batching(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: continuous batching keeps keys in pages, which this attention cannot read.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            f"continuous batching (generate_batch, init_continuous_batching, cache_implementation='paged'): the "
            f"attention of {type(self).__name__} reads no pages; use generate, with inputs of similar length together"
        )


__all__ = [
    "REFUSED",
    "REFUSED_BY_DRAWS",
    "REFUSED_BY_ENCODER_DECODER",
    "OneBatchAtATime",
    "allowed_in_slots",
    "flat",
    "refuse_arguments",
    "refuse_cache_with_beams",
    "refuse_symbols",
]
