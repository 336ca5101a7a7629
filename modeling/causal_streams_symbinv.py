"""Symbols that come in while a text grows: in a decoder alone, and in an answer that has symbols of its own.

The stream of a symbol that has not occurred yet shows placeholders at all symbols, and so do those of all such symbols.
One **anonymous** stream stands for them, and what it says of its own symbol means *a new symbol*. When a symbol first
occurs, its stream forks from the anonymous one: up to there its hidden states are those of the anonymous stream, so
decoding from a cache copies these and replays nothing. Slot 0 is the anonymous stream, slot s that of the s-th symbol.

Attention is causal, and means over streams must be so too: at each place they take the anonymous stream and those of
symbols that have occurred by then. A mean over all streams would tell how many symbols are still to come.

An encoder-decoder with `num_fresh_symbols` does the same in its answers, where the symbols of the question are known
from the beginning. Its encoder has streams for these and the anonymous one, and knows nothing of an answer: a new
symbol sees of the question what the anonymous stream sees. Canonical names have one stream and a row for each symbol of
an example; a new symbol takes the next row that is free.

Letters: B batch, S streams (S - 1 symbols and the anonymous stream), K slots (with streams S), T length, D model width,
V_n base tokens.
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
from .embedding_symbinv import CanonicalEmbedding, Slots, StreamsEmbedding, assign_slots, referents_of
from .embedding_symbinv import slots_to_ids as known_to_ids
from .kernels_symbinv import is_exporting, reads_values
from .layers_symbinv import with_streams


class CausalStreamsEmbedding(StreamsEmbedding):
    """Identical to StreamsEmbedding except: slot 0 is the anonymous stream, and streams are active from a place on.

    Source: SIT Algorithm 5; the anonymous stream is our own.
    """

    @reads_values
    def assign(self, referents: torch.Tensor, known: torch.Tensor | None = None) -> Slots:
        """Slots for the symbols of `referents (B, T)`, -1 at base tokens, behind those that are `known`.

        Args:
            referents: `(B, T)` int64, of tokens that follow those of the known slots.
            known: `(B, S')` int64, the referents of the tokens before, as this method gave them; None for none.

        Returns:
            Slots with `referents (B, S)`, -1 in slot 0, and `active (B, S, T)`: the anonymous stream, and those of
            symbols that are known or have occurred by each place.

        Raises:
            ValueError: while exporting.
        """
        refuse_export()
        start = referents.new_full((len(referents), 1), -1)
        known = start if known is None else known
        joined = torch.cat((known, referents), dim=1)
        # Streams that have a cache keep their places, so only those of a beginning may be shuffled.
        found = assign_slots(joined, self.config.canonical_slots or known.shape[1] > 1).referents
        # Without symbols there is the anonymous stream alone; a stream that has a cache stays, whoever it is for.
        width = max(int((found >= 0).sum(1).max()) + 1, known.shape[1])
        found = nn.functional.pad(torch.cat((start, found), dim=1), (0, width - 1 - found.shape[1]), value=-1)
        active = known_by_place(found, joined)[:, :, known.shape[1] :]
        active[:, 0] = True
        return Slots(found, active)


class GrowingCanonicalEmbedding(CanonicalEmbedding):
    """Identical to CanonicalEmbedding except: a symbol of an answer takes the next free row from its place on."""

    @reads_values
    def assign(self, referents: torch.Tensor, known: torch.Tensor | None = None) -> Slots:
        """Slots for the symbols of `referents (B, T)`, -1 at base tokens, behind those that are `known`.

        Args:
            referents: `(B, T)` int64, of tokens that follow those of the known slots.
            known: `(B, K)` int64, the referents of the tokens before, as this method gave them; None for none.

        Returns:
            Slots with `referents (B, K)` and `active (B, K, T)`, the symbols that are known or have occurred by each
            place.

        Raises:
            ValueError: while exporting, and if an example has more symbols than the model has rows.
        """
        refuse_export()
        if known is None:
            found, joined = super().assign(referents).referents, referents
        else:
            joined = torch.cat((known, referents), dim=1)
            found = self.with_rows(assign_slots(joined).referents)
        return Slots(found, known_by_place(found, joined)[:, :, -referents.shape[1] :])


GrowingEmbedding = CausalStreamsEmbedding | GrowingCanonicalEmbedding


def known_by_place(found: torch.Tensor, referents: torch.Tensor) -> torch.Tensor:
    """By place, `(B, K, L)` bool, whether each of `found (B, K)` has occurred in `referents (B, L)`; never for -1."""
    occurs = (referents.unsqueeze(1) == found.unsqueeze(2)) & (found >= 0).unsqueeze(2)
    return occurs.cumsum(2) > 0


def refuse_export() -> None:
    """Refuses to be recorded: which streams there are depends on the text.

    Raises:
        ValueError: while exporting.
    """
    if is_exporting():
        raise ValueError(
            "torch.export: symbols come in while a text grows, so a graph has no fixed number of streams; export an "
            "encoder-decoder without num_fresh_symbols, or a decoder without streams"
        )


@reads_values
def label_columns(labels: torch.Tensor, slots: Slots, base_vocab_size: int, num_views: int = 1) -> torch.Tensor:
    """The column `(B, T)` of each label in the logits of its place; -100 kept.

    A symbol that has not occurred by then is a new one, whatever it is called.

    Args:
        labels: `(B, T)` int64 ids, what follows each place, -100 where nothing is to be predicted.
        slots: with `active (B, K, T or more)`, those of the tokens read.
        base_vocab_size: V_n.
        num_views: of a symbol.
    """
    is_symbol, symbols = labels >= base_vocab_size, labels - base_vocab_size
    slot = slots.of(torch.where(is_symbol, symbols // num_views, -1))
    active, new = slots.active[:, :, : labels.shape[1]], slots.new[:, : labels.shape[1]]
    occurred = (slot >= 0) & active.gather(1, slot.clamp(min=0).unsqueeze(1)).squeeze(1)
    column = base_vocab_size + torch.where(occurred, slot, new) * num_views + symbols % num_views
    return torch.where(is_symbol, column, labels)


@reads_values
def refuse_many(labels: torch.Tensor, known: torch.Tensor, embedding: GrowingEmbedding, limit: int) -> None:
    """Refuses answers with more new symbols than a model may write.

    Args:
        labels: `(B, T)` int64 ids, -100 where there is none.
        known: `(B, K)` int64, the referents of each question's slots.
        embedding: that gave them.
        limit: new symbols of an answer.

    Raises:
        ValueError: with the first such row and its number of new symbols.
    """
    base, views = embedding.config.base_vocab_size, embedding.config.num_views
    referents = embedding.assign(torch.where(labels >= base, (labels - base) // views, -1), known).referents
    refuse_counts("labels", (referents >= 0).sum(1) - (known >= 0).sum(1), limit)


def refuse_counts(name: str, counts: torch.Tensor, limit: int) -> None:
    """Refuses an argument of this name whose rows have `counts (B,)` new symbols, if one has more than the `limit`."""
    if (counts > limit).any():
        row = int((counts > limit).nonzero()[0, 0])
        raise ValueError(
            f"{name} row {row} has {int(counts[row])} symbols that its question does not have, and an answer may have "
            f"{limit} (num_fresh_symbols); leave such examples out, or load the model with a larger num_fresh_symbols"
        )


def slots_of_answers(questions: torch.Tensor, prompts: torch.Tensor | None, limit: int) -> Slots:
    """The slots of a call of `generate`: the symbols of question and prompt, then the names of new ones to come.

    Args:
        questions: `(B, L)` int64, the referents of each question, -1 for none.
        prompts: `(B, T)` int64, those of the beginning of each answer; None for none.
        limit: symbols of an answer that its question does not have, the prompt's included.

    Raises:
        ValueError: for a negative limit, and for a prompt with more new symbols.
    """
    if limit < 0:
        raise ValueError(f"num_fresh_symbols={limit}: must be at least 0, or None for that of the configuration")
    own = (assign_slots(questions).referents >= 0).sum(1)  # (B,)
    known = assign_slots(questions if prompts is None else torch.cat((questions, prompts), dim=1))
    refuse_counts("decoder_input_ids", (known.referents >= 0).sum(1) - own, limit)
    count = max(int(own.max()) + limit, 1)
    is_beyond = torch.arange(count, device=own.device) >= (own + limit).unsqueeze(1)
    return Slots.from_referents(Names(known, 0).referents(count).masked_fill(is_beyond, -1))


def smallest_new_referents(slots: Slots) -> torch.Tensor:
    """The smallest referent `(B, T)` that has not occurred by each place, of slots with `active (B, K, T)`."""
    candidates = torch.arange(slots.referents.shape[1] + 1, device=slots.referents.device)
    is_candidate = slots.referents.unsqueeze(2) == candidates  # (B, K, candidates); -1 is none
    occurred = is_candidate.transpose(1, 2).float() @ slots.active.float() > 0  # (B, candidates, T)
    return (~occurred).int().argmax(1)


def slots_to_ids(logits: torch.Tensor, slots: Slots, config: SymbolInvariantConfig) -> torch.Tensor:
    """`logits (B, T, V_n + K · num_views)` in slot space, moved to ids `(B, T, max(vocab_size, largest id + 1))`.

    Where symbols come in, there are columns for one referent more: a new symbol stands at the smallest referent that
    has not occurred by that place, and the other ids that have not are -inf.

    Raises:
        ValueError: for an id that is too large, as `embedding_symbinv.slots_to_ids` says.
    """
    base, views, width = config.base_vocab_size, config.num_views, config.vocab_size
    if not slots.by_place:
        return known_to_ids(logits, slots, base, width, views)
    view = torch.arange(views, device=logits.device)
    free = slots.new < slots.active.shape[1]  # (B, T)
    column = base + slots.new.where(free, 0).unsqueeze(2) * views + view  # (B, T, num_views)
    new = logits.gather(2, column).masked_fill(~free.unsqueeze(2), -math.inf)
    unknown = ~slots.active.transpose(1, 2).repeat_interleave(views, 2)  # (B, T, K · num_views)
    logits = logits.masked_fill(nn.functional.pad(unknown, (base, 0)), -math.inf)
    known = nn.functional.pad(known_to_ids(logits, slots, base, width, views), (0, views), value=-math.inf)
    return known.scatter(2, base + smallest_new_referents(slots).unsqueeze(2) * views + view, new)


class StreamsCache(DynamicCache):
    """Identical to DynamicCache except: it knows whose slot each is, and forks streams.

    Per-stream keys and values are `(B, S·H, keys, D / H)`, aggregated ones `(B, H, keys, D / H)`.

    Attributes:
        referents: `(B, K)` int64, -1 for the anonymous stream and where a slot has no symbol yet; None when empty.
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
        for index in per_stream:
            layer = self.layers[index]
            heads = layer.keys.shape[1] // known.shape[1]
            layer.keys, layer.values = (
                with_streams(states, heads, referents.shape[1]) for states in (layer.keys, layer.values)
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
            f"past_key_values is a {type(cache).__name__}: symbols that come in need a StreamsCache, which knows whose "
            "each slot is and has room for more; leave past_key_values and cache_implementation out, and you get one"
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
    """Lets at most `limit` symbols be written that a text does not have.

    Args:
        limit: at least 0.
        known: `(B,)` int64, symbols that each text has; these have the first numbers.
        base_vocab_size: V_n.
        num_views: of a symbol.

    Raises:
        ValueError: for a negative limit.
    """

    def __init__(self, limit: int, known: torch.Tensor, base_vocab_size: int, num_views: int = 1):
        if limit < 0:
            raise ValueError(f"num_fresh_symbols={limit}: must be at least 0, or None for no limit")
        self.columns = base_vocab_size + (known + limit) * num_views  # (B,)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Sets `scores (R, columns)` of symbols beyond the limit to -inf, R a multiple of B."""
        allowed = self.columns.to(scores.device).repeat_interleave(len(scores) // len(self.columns)).unsqueeze(1)
        return scores.masked_fill(torch.arange(scores.shape[1], device=scores.device) >= allowed, -math.inf)


class WideLogitsProcessor(LogitsProcessor):
    """Adds columns of -inf, or leaves such out, where a search wants the same number at every step.

    Args:
        columns: of all scores; those that are left out must be of no symbol.
    """

    def __init__(self, columns: int):
        self.columns = columns

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Brings `scores (R, C)` of texts `input_ids (R, length)` to `(R, columns)`."""
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
