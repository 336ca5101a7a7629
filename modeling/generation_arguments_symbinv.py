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

_OF_STRINGS = "it belongs to stop_strings, token_healing and assistants of another vocabulary; leave it out"

# Argument → why a model over symbols cannot follow it, and what to do.
REFUSED = {
    "watermarking_config": "a watermark hangs on ids, so the names of symbols would change an answer; leave it out",
    "token_healing": "it looks for longer names of the last token, but the name of a symbol means nothing; leave it "
    "out",
    "stop_strings": "a string may hold names of symbols, which mean nothing to the model; pass base ids as "
    "eos_token_id, or a StoppingCriteria",
    "tokenizer": _OF_STRINGS,
    "assistant_tokenizer": _OF_STRINGS,
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

_UNDONE = "a symbol that was guessed and taken back would keep its stream; leave it out"

# What an encoder-decoder cannot follow either whose answers have new symbols.
REFUSED_BY_NEW_SYMBOLS = {
    **REFUSED_BY_ENCODER_DECODER,
    "assistant_model": _UNDONE,
    "prompt_lookup_num_tokens": _UNDONE,
}

# What a decoder with streams cannot follow either.
REFUSED_BY_STREAMS = {
    **REFUSED,
    "assistant_model": _UNDONE,
    "prompt_lookup_num_tokens": _UNDONE,
    "is_assistant": "a decoder with streams assists no other model; leave it out",
    "guidance_scale": "the pass without the prompt has no streams to be compared with; use a logits_processor",
    **_GUIDANCE,
    "prefix_allowed_tokens_fn": "symbols that are new have no ids yet; use a logits_processor, which sees slot ids",
}

# Values that ask for nothing, where it is not 0.
_NEUTRAL = {"guidance_scale": 1, "num_beam_groups": 1}


# New tokens where nobody says how many: what transformers takes.
_DEFAULT_NEW_TOKENS = 20


class Settings:
    """What one call of `generate` decodes by: its arguments, else its generation config, else the model's."""

    def __init__(self, arguments: dict[str, Any], model_config: Any):
        self.arguments = arguments
        self.configs = [arguments.get("generation_config"), model_config]

    def get(self, name: str, default: Any = None) -> Any:
        """The setting of this name; `default` if it is one of none of them."""
        if name in self.arguments:
            return self.arguments[name]
        values = [getattr(config, name) for config in self.configs if hasattr(config, name)]
        return next((value for value in values if value is not None), None if values else default)

    def max_length(self, prompt_length: int) -> int:
        """Tokens at most, those before the answer included."""
        new_tokens, length = self.get("max_new_tokens"), self.get("max_length")
        if new_tokens is None and length is not None:
            return length
        return prompt_length + (_DEFAULT_NEW_TOKENS if new_tokens is None else new_tokens)


def refuse_arguments(settings: Settings, refused: dict[str, str]) -> None:
    """Refuses arguments of `generate` that a model cannot follow.

    Args:
        settings: of the call.
        refused: argument → reason and remedy.

    Raises:
        ValueError: with the argument, its value, the reason and the remedy.
    """
    for name, why in refused.items():
        value = settings.get(name)
        asks_nothing = isinstance(value, (bool, int, float)) and value == _NEUTRAL.get(name, 0)
        if value is not None and not asks_nothing:
            shown = repr(value) if isinstance(value, (bool, int, float, str)) else f"a {type(value).__name__}"
            raise ValueError(f"{name}={shown}: {why}")


def refuse_symbols(settings: Settings, base_vocab_size: int) -> None:
    """Refuses symbols in the arguments of `generate` that hold ids.

    Args:
        settings: of the call.
        base_vocab_size: V_n.

    Raises:
        ValueError: with the argument and the id.
    """
    for name in _ID_ARGUMENTS:
        value = settings.get(name)
        if name == "sequence_bias" and value is not None:
            value = [pair[0] for pair in (value.items() if isinstance(value, dict) else value)]
        for token in flat(value):
            if token >= base_vocab_size:
                raise ValueError(
                    f"{name}: {token} is a symbol, and generate numbers the symbols of each question anew; give base "
                    f"ids, 0 … {base_vocab_size - 1}, or for symbols a LogitsProcessor or StoppingCriteria with the "
                    "map that slot_referents gives"
                )


def flat(value: Any) -> list[int]:
    """The ids in a number, a tensor or lists of lists; none in None."""
    if value is None:
        return []
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return [token for part in value for token in flat(part)] if isinstance(value, (list, tuple)) else [value]


def allowed_in_slots(
    function: Callable[[int, torch.Tensor], Any],
    referents: torch.Tensor,
    base_vocab_size: int,
    num_views: int = 1,
    known: torch.Tensor | None = None,
) -> Callable[[int, torch.Tensor], list[int]]:
    """A user's `prefix_allowed_tokens_fn`, which reads and returns ids, as one of slots.

    Args:
        function: of an input's index and what is written `(T,)` to the ids that may follow.
        referents: `(B, K)` int64, the referent of each slot, -1 where there is none.
        base_vocab_size: V_n.
        num_views: of a referent.
        known: `(B,)` int64, the slots of each input's own symbols, if the others are for new ones, which come in order;
            None if all are the input's.

    Returns:
        A function of an input's index and slot ids `(T,)` to slot ids. It leaves out symbols that do not occur in the
        input and are not the next new one, and raises a ValueError if that leaves nothing.
    """
    slots = [{referent: slot for slot, referent in enumerate(row)} for row in referents.tolist()]

    def allowed(index: int, written: torch.Tensor) -> list[int]:
        own = referents[index].to(written.device)
        symbols = written - base_vocab_size
        names = own[(symbols // num_views).clamp(min=0, max=len(own) - 1)]
        ids = base_vocab_size + names * num_views + symbols % num_views
        wanted = flat(function(index, torch.where(symbols >= 0, ids, written)))
        last = len(own) if known is None else max(int(known[index]), 1 + int(symbols.max()) // num_views)
        found = []
        for token in wanted:
            referent, view = divmod(token - base_vocab_size, num_views)
            if token < base_vocab_size:
                found.append(token)
            elif referent in slots[index] and slots[index][referent] <= last:
                found.append(base_vocab_size + slots[index][referent] * num_views + view)
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
    "REFUSED_BY_NEW_SYMBOLS",
    "REFUSED_BY_STREAMS",
    "OneBatchAtATime",
    "Settings",
    "allowed_in_slots",
    "flat",
    "refuse_arguments",
    "refuse_symbols",
]
