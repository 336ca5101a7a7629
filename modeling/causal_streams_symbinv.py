"""Streams for a decoder alone, where a symbol may occur for the first time at any place.

The stream of a symbol that has not occurred yet shows placeholders at all symbols, and so do those of all such symbols.
One **anonymous** stream stands for them, and what it says of its own symbol means *a new symbol*. When a symbol first
occurs, its stream forks from the anonymous one: up to there its hidden states are those of the anonymous stream, so
decoding from a cache copies these and replays nothing. Slot 0 is the anonymous stream, slot s that of the s-th symbol.

Attention is causal, and means over streams must be so too: at each place they take the anonymous stream and those of
symbols that have occurred by then. A mean over all streams would tell how many symbols are still to come.

Letters: B batch, S streams (S - 1 symbols and the anonymous stream), T length, D model width, V_n base tokens.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.cache_utils import Cache, DynamicCache
from transformers.generation.logits_process import LogitsProcessor

from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import (
    Slots,
    StreamsEmbedding,
    StreamsHead,
    assign_slots,
    learned_rows,
    mean_over_streams,
    referents_of,
)
from .embedding_symbinv import slots_to_ids as known_to_ids


class CausalStreamsEmbedding(StreamsEmbedding):
    """Identical to StreamsEmbedding except: slot 0 is the anonymous stream, and streams are active from a place on."""

    def assign(self, referents: torch.Tensor, known: torch.Tensor | None = None) -> Slots:
        """Slots for the symbols of `referents (B, T)`, -1 at base tokens, behind those that are `known`.

        Args:
            referents: `(B, T)` int64, of tokens that follow those of the known slots.
            known: `(B, S')` int64, the referents of the tokens before, as this method gave them; None for none.

        Returns:
            Slots with `referents (B, S)`, -1 in slot 0, and `active (B, S, T)`: the anonymous stream, and those of
            symbols that have occurred by each place.
        """
        start = referents.new_full((len(referents), 1), -1)
        known = start if known is None else known
        joined = torch.cat((known, referents), dim=1)
        # Streams that have a cache keep their places, so only those of a beginning may be shuffled.
        found = assign_slots(joined, self.config.canonical_slots or known.shape[1] > 1).referents
        # Without symbols there is the anonymous stream alone; a stream that has a cache stays, whoever it is for.
        width = max(int((found >= 0).sum(1).max()) + 1, known.shape[1])
        found = nn.functional.pad(torch.cat((start, found), dim=1), (0, width - 1 - found.shape[1]), value=-1)
        occurs = (joined.unsqueeze(1) == found.unsqueeze(2)) & (found >= 0).unsqueeze(2)  # (B, S, S' + T)
        active = occurs.cumsum(2)[:, :, known.shape[1] :] > 0
        active[:, 0] = True
        return Slots(found, active)


class CausalStreamsHead(StreamsHead):
    """Base tokens from the mean over streams, each symbol that has occurred from its own, a new one from the anonymous.

    Source: SIT Algorithm 5; the anonymous stream is our own.
    """

    def forward(self, hidden_states: torch.Tensor, slots: Slots) -> torch.Tensor:
        """Logits `(B, T, V_n + S)` of `hidden_states (B, S, T, D)`: column V_n is a new symbol, -inf not yet occurred.

        Args:
            hidden_states: `(B, S, T, D)`.
            slots: of the same B, S and T, as `CausalStreamsEmbedding` gave them.
        """
        table, base = learned_rows(self.weight, self.config), self.config.base_vocab_size
        hidden_states = self.features(hidden_states)
        base_logits = mean_over_streams(hidden_states, slots.active) @ table[:base].T  # (B, T, V_n)
        symbol_logits = (hidden_states @ table[base]).masked_fill(~slots.active, -math.inf).transpose(1, 2)
        return torch.cat((base_logits, symbol_logits), dim=-1)


def label_columns(labels: torch.Tensor, slots: Slots, base_vocab_size: int) -> torch.Tensor:
    """The column `(B, T)` of each label in the logits of its place; -100 kept.

    A symbol that has not occurred by then is a new one, whatever it is called.

    Args:
        labels: `(B, T)` int64 ids, what follows each place, -100 where nothing is to be predicted.
        slots: with `active (B, S, T or more)`, those of the tokens read.
        base_vocab_size: V_n.
    """
    referents = torch.where(labels >= base_vocab_size, labels - base_vocab_size, -1)
    slot = slots.of(referents).clamp(min=0)  # 0 is the anonymous stream
    occurred = slots.active[:, :, : labels.shape[1]].gather(1, slot.unsqueeze(1)).squeeze(1)
    return torch.where(referents >= 0, base_vocab_size + torch.where(occurred, slot, 0), labels)


def smallest_new_referents(slots: Slots) -> torch.Tensor:
    """The smallest referent `(B, T)` that has not occurred by each place, of slots with `active (B, S, T)`."""
    candidates = torch.arange(slots.referents.shape[1], device=slots.referents.device)
    is_candidate = slots.referents.unsqueeze(2) == candidates  # (B, S, candidates); -1 is none
    occurred = is_candidate.transpose(1, 2).float() @ slots.active.float() > 0  # (B, candidates, T)
    return (~occurred).int().argmax(1)


def slots_to_ids(logits: torch.Tensor, slots: Slots, config: SymbolInvariantConfig) -> torch.Tensor:
    """`logits (B, T, V_n + S)` in slot space, moved to ids `(B, T, max(vocab_size, largest id + 1) + 1)`.

    A new symbol stands at the smallest id that has not occurred by that place; the other ids that have not are -inf.

    Raises:
        ValueError: for an id that is too large, as `embedding_symbinv.slots_to_ids` says.
    """
    base = config.base_vocab_size
    known = nn.functional.pad(known_to_ids(logits, slots, base, config.vocab_size), (0, 1), value=-math.inf)
    return known.scatter(2, (base + smallest_new_referents(slots)).unsqueeze(2), logits[..., base : base + 1])


class StreamsCache(DynamicCache):
    """Identical to DynamicCache except: it knows whose stream each is, and forks streams.

    Per-stream keys and values are `(B, S·H, K, D / H)`, aggregated ones `(B, H, K, D / H)`.

    Attributes:
        referents: `(B, S)` int64, -1 for the anonymous stream and where a stream has no symbol yet; None when empty.
    """

    def __init__(self) -> None:
        super().__init__()
        self.referents: torch.Tensor | None = None

    def fork(self, referents: torch.Tensor, per_stream: Iterable[int]) -> None:
        """Has a stream for each of `referents (B, S)` from now on; new ones begin as copies of the anonymous one.

        A stream without a symbol shows placeholders only, as the anonymous one does, so rows need not agree when they
        fork.

        Args:
            referents: `(B, S)` int64, that begin with those known.
            per_stream: layers of the cache that hold per-stream keys and values.
        """
        known, self.referents = self.referents, referents
        if known is None or known.shape[1] == referents.shape[1]:
            return
        more = referents.shape[1] - known.shape[1]
        for index in per_stream:
            layer = self.layers[index]
            layer.keys, layer.values = (
                torch.cat((states, states[:, : states.shape[1] // known.shape[1]].repeat(1, more, 1, 1)), dim=1)
                for states in (layer.keys, layer.values)
            )

    def rename(self, names: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Renames the symbols.

        Args:
            names: from referents `(B, S)`, -1 where there is none, to referents.

        Raises:
            ValueError: if a symbol has no other name.
        """
        if self.referents is None:
            return
        renamed = names(self.referents)
        if ((renamed < 0) & (self.referents >= 0)).any():
            raise ValueError(
                "past_key_values knows symbols that do not occur in input_ids; pass the whole text, the part that the "
                "cache holds too"
            )
        self.referents = renamed

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Has row `beam_idx[i]` at place i, `beam_idx (B,)`."""
        super().reorder_cache(beam_idx)
        self._select(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Has every row `repeats` times."""
        super().batch_repeat_interleave(repeats)
        if self.referents is not None:
            self.referents = self.referents.repeat_interleave(repeats, 0)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keeps the rows `indices (A,)`."""
        super().batch_select_indices(indices)
        self._select(indices)

    def _select(self, indices: torch.Tensor) -> None:
        if self.referents is not None:
            self.referents = self.referents[indices.to(self.referents.device)]

    def reset(self) -> None:
        """Empties the cache. (Older versions of transformers would keep zeros in the place of keys.)"""
        self.layers.clear()
        self.referents = None

    def crop(self, *args: Any) -> None:
        """Refused: a symbol that occurred among the tokens taken back would keep its stream.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "a cache of streams cannot be cropped: symbols would keep streams though they no longer occur; read the "
            "shorter text again, and decode without an assistant"
        )


def streams_cache(cache: Cache | None) -> StreamsCache | None:
    """`cache`, which must be one of streams if there is one.

    Raises:
        ValueError: for another.
    """
    if cache is not None and not isinstance(cache, StreamsCache):
        raise ValueError(
            f"past_key_values is a {type(cache).__name__}: streams need a StreamsCache, which knows whose each of them "
            "is and has room for more; leave past_key_values and cache_implementation out, and you get one"
        )
    return cache


def refuse_rows(**given: Any) -> None:
    """Refuses what is only for embedders that draw rows, or have one for every symbol.

    Args:
        given: by name, what a call was given.

    Raises:
        ValueError: naming the first that is not None.
    """
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f'{name}: symbol_embedding="streams" draws no rows and numbers symbols by their first occurrence; '
                "leave it out"
            )


class FreshSymbolsLogitsProcessor(LogitsProcessor):
    """Lets at most `limit` symbols be written that a prompt does not have.

    Args:
        limit: at least 0.
        base_vocab_size: V_n.
        prompt_length: tokens of the prompt, whose symbols are numbered by their first occurrence.

    Raises:
        ValueError: for a negative limit.
    """

    def __init__(self, limit: int, base_vocab_size: int, prompt_length: int):
        if limit < 0:
            raise ValueError(f"num_fresh_symbols={limit}: must be at least 0, or None for no limit")
        self.limit, self.base_vocab_size, self.prompt_length = limit, base_vocab_size, prompt_length

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Sets `scores (R, columns)` of symbols beyond the limit to -inf, for texts `input_ids (R, length)`."""
        prompt = input_ids[:, : self.prompt_length].amax(1, keepdim=True)
        symbols = (prompt + 1).clamp(min=self.base_vocab_size)  # V_n and as many as the prompt has
        columns = torch.arange(scores.shape[1], device=scores.device)
        return scores.masked_fill(columns >= symbols + self.limit, -math.inf)


class WideLogitsProcessor(LogitsProcessor):
    """Adds columns of -inf, for versions of transformers whose beam search wants the same number at every step.

    Args:
        columns: of all scores, at least as many as they have.
    """

    def __init__(self, columns: int):
        self.columns = columns

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Widens `scores (R, C)` of texts `input_ids (R, length)` to `(R, columns)`."""
        return nn.functional.pad(scores, (0, self.columns - scores.shape[1]), value=-math.inf)


@dataclass(frozen=True)
class Names:
    """What the symbols of a call of `generate` are called inside, by their first occurrence, and outside.

    Attributes:
        slots: the symbols of the prompts, `referents (B, K)`, numbered from 0 without an anonymous stream.
        base_vocab_size: V_n.
    """

    slots: Slots
    base_vocab_size: int

    def referents(self, count: int) -> torch.Tensor:
        """The referents `(B, count)` of the first symbols: those of a prompt, then the smallest that it has not."""
        known, place = self.slots.referents, torch.arange(count, device=self.slots.referents.device)
        candidates = torch.arange(known.shape[1] + count, device=known.device)
        taken = (known.unsqueeze(2) == candidates).any(1)  # (B, K + count)
        free = (candidates + taken * len(candidates)).sort(1).values
        number = (known >= 0).sum(1, keepdim=True)
        given = nn.functional.pad(known, (0, max(count - known.shape[1], 0)))[:, :count]
        return torch.where(place < number, given, free.gather(1, (place - number).clamp(min=0)))

    def inside(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
        """The prompts `input_ids (B, T)`, of `attention_mask (B, T)`, with symbols numbered by first occurrence."""
        base = self.base_vocab_size
        slot = self.slots.of(referents_of(input_ids, base, attention_mask))
        return torch.where(slot >= 0, base + slot, input_ids.clamp(max=base - 1))  # masked symbols stand for nothing

    def renamed(self, slots: torch.Tensor) -> torch.Tensor:
        """The referent of each of `slots (R, T)`, R a multiple of B; -1 for -1."""
        count = max(int(slots.max()) + 1, 1) if slots.numel() else 1
        referents = self.referents(count).repeat_interleave(len(slots) // len(self.slots.referents), 0)
        return torch.where(slots >= 0, referents.to(slots.device).gather(1, slots.clamp(min=0)), -1)

    def outside(self, ids: torch.Tensor) -> torch.Tensor:
        """`ids (R, T)`, R a multiple of B, as a user has them."""
        referents = self.renamed((ids - self.base_vocab_size).clamp(min=-1))
        return torch.where(referents >= 0, self.base_vocab_size + referents, ids)

    def scores_outside(self, scores: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        """By id, `(R, ids)`, the `scores (R, columns)` of each step."""
        base, rows = self.base_vocab_size, len(scores[0]) // len(self.slots.referents)
        referents = self.referents(max(step.shape[1] for step in scores) - base).repeat_interleave(rows, 0)
        width = base + int(referents.max()) + 1
        moved = []
        for step in scores:
            out = step.new_full((len(step), width), -math.inf)
            out[:, :base] = step[:, :base]
            moved.append(out.scatter(1, base + referents[:, : step.shape[1] - base], step[:, base:]))
        return tuple(moved)


def padded_left(attention_mask: torch.Tensor) -> torch.Tensor:
    """Places `(B, T)` in an order in which padding, where `attention_mask (B, T)` is 0, comes first."""
    return attention_mask.bool().int().sort(dim=1, stable=True).indices
