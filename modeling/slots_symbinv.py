"""Slots: which symbol each row or stream of an example stands for, and the way from ids to slots and back.

The referents of one example are numbered 0 … k-1 in the order of their first appearance, so alpha-equivalent inputs
become the same tensors. Where symbols come in while a text grows, one **anonymous** stream, slot 0, stands for all that
have not occurred yet, since each of theirs would show placeholders everywhere. What it says of its own symbol means *a
new symbol*, and when a symbol first occurs, its stream forks from it. Means over streams must be causal too: at each
place they take the anonymous stream and those of symbols that have occurred by then, or they would tell how many are
still to come.

Letters: B batch, R rows (beams of examples), S streams, N copies (all streams of all examples), K slots, L or T length,
V_n base tokens, C columns.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

# Columns of logits in id space, at most; our choice: 100 tokens of one example then take 400 MB.
WIDEST = 2**20

# Whether torch.export records: nothing may depend on values then, not even a shape. (`len(tensor)` would make a number
# of a dimension that is to stay open; `tensor.shape[0]` does not.) Torch 2.6 can only tell what is without Dynamo.
is_exporting: Callable[[], bool] = getattr(
    torch.compiler, "is_exporting", lambda: torch.compiler.is_compiling() and not torch.compiler.is_dynamo_compiling()
)


def reads_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `function`, which reads values, between two graphs of `torch.compile`; while exporting it must read none."""
    outside = torch.compiler.disable(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (function if is_exporting() else outside)(*args, **kwargs)

    return call


@dataclass(frozen=True)
class Slots:
    """Which symbol each slot of each example stands for; an example without symbols has one anonymous stream."""

    referents: Tensor  # (B, K) int64, the referent of each slot, -1 where there is none
    # Bool, the streams that take part in means: (B, S), with streams S = K, or where symbols come in while a text grows
    # (B, S, L), by place: from that on where a slot's symbol is known.
    active: Tensor
    vectors: Tensor | None = None  # the random part of rows, (K, D_random) for all examples or (B, K, D_random)

    @classmethod
    def from_referents(cls, referents: Tensor, vectors: Tensor | None = None) -> "Slots":
        """The slots of `referents (B, K)` with `vectors (…, K, D_random)`: active with a referent, and slot 0."""
        active = referents >= 0
        active[:, 0] = True
        return cls(referents, active, vectors)

    @classmethod
    def in_order(cls, referents: Tensor, canonical: bool = True, width: int | None = None) -> "Slots":
        """Numbers the `referents (B, L)` of each example, -1 at base tokens, in the order of their first appearance.

        `canonical=False` shuffles the numbers, as a test of the theorem. `width` is K, an upper bound of the distinct
        referents of an example; default the most of any, at least 1.
        """
        index = torch.arange(referents.shape[1], device=referents.device)
        is_repeated = (referents.unsqueeze(1) == referents.unsqueeze(2)) & (index < index.unsqueeze(1))  # (B, L, L)
        is_first = (referents >= 0) & ~is_repeated.any(2)
        ordinal = torch.where(is_first, is_first.long().cumsum(1), 0)  # at first appearances 1 + slot, elsewhere 0
        if width is None:
            width = max(int(ordinal.max()), 1)
        table = referents.new_full((referents.shape[0], 1 + width), -1)
        # Place 0 takes what is no first appearance, so that a referent too many is out of range, which is an error.
        table = table.scatter(1, ordinal, torch.where(is_first, referents, -1))[:, 1:]
        if not canonical:
            keys = torch.rand(table.shape, device=table.device).masked_fill(table < 0, 2.0)  # unused slots stay last
            table = table.gather(1, keys.argsort(1))
        return cls.from_referents(table)

    @classmethod
    def coming_in(cls, referents: Tensor, known: Tensor | None, canonical: bool = True) -> "Slots":
        """Slot 0 for the anonymous stream, then those `known (B, S')` from before, then those of `referents (B, T)`.

        Active by place are the anonymous stream and symbols that are known or have occurred. `canonical=False` shuffles
        the numbers of a beginning; streams that have a cache keep their places.
        """
        start = referents.new_full((len(referents), 1), -1)
        known = start if known is None else known
        joined = torch.cat((known, referents), dim=1)
        found = cls.in_order(joined, canonical or known.shape[1] > 1).referents
        # Without symbols there is the anonymous stream alone; a stream that has a cache stays, whoever it is for.
        width = max(int((found >= 0).sum(1).max()) + 1, known.shape[1])
        found = nn.functional.pad(torch.cat((start, found), dim=1), (0, width - 1 - found.shape[1]), value=-1)
        active = occurred_by(found, joined)[:, :, known.shape[1] :]
        active[:, 0] = True
        return cls(found, active)

    @property
    def by_place(self) -> bool:
        """Whether symbols come in while the text grows."""
        return self.active.dim() == 3

    @property
    def new(self) -> Tensor:
        """By place, the slot `(B, L)` that a new symbol is written from: the anonymous or the next free one, else K."""
        anonymous = self.active[:, 0] & (self.referents[:, :1] < 0)
        return torch.where(anonymous, 0, self.active.sum(1))

    @property
    def writable(self) -> Tensor:
        """Whether a symbol can be written from each slot, `(B, K, 1)`, or by place `(B, K, L)`."""
        if not self.by_place:
            return (self.referents >= 0).unsqueeze(2)
        places = torch.arange(self.active.shape[1], device=self.active.device).unsqueeze(1)
        return self.active | (places == self.new.unsqueeze(1))

    def of(self, referents: Tensor) -> Tensor:
        """The slot `(B, L)` of each of `referents (B, L)`; -1 for -1 (a base token) and for one without a slot."""
        match = (referents.unsqueeze(2) == self.referents.unsqueeze(1)) & (referents >= 0).unsqueeze(2)  # (B, L, K)
        return torch.where(match.any(2), match.int().argmax(2), -1)

    def repeat_interleave(self, repeats: int) -> "Slots":
        """Every example `repeats` times in a row, as beams are laid out."""
        if repeats == 1:
            return self
        vectors = self.vectors
        if vectors is not None and vectors.dim() == 3:
            vectors = vectors.repeat_interleave(repeats, 0)
        referents, active = (one.repeat_interleave(repeats, 0) for one in (self.referents, self.active))
        return Slots(referents, active, vectors)


def occurred_by(found: Tensor, referents: Tensor) -> Tensor:
    """By place, `(B, K, L)` bool, whether each of `found (B, K)` has occurred in `referents (B, L)`; never for -1."""
    occurs = (referents.unsqueeze(1) == found.unsqueeze(2)) & (found >= 0).unsqueeze(2)
    return occurs.cumsum(2) > 0


def inferred_mask(input_ids: Tensor, config: Any) -> Tensor | None:
    """1 at tokens of `input_ids (B, L)`, 0 at padding, as BART infers it; None where padding cannot be told."""
    pad = config.pad_token_id
    return None if pad is None or pad == config.eos_token_id else (input_ids != pad).long()


def check_source(input_ids: Tensor | None, attention_mask: Tensor | None) -> None:
    """Refuses any but `input_ids (B, L)` with a token in every row of `attention_mask (B, L)`; None for no padding."""
    if input_ids is None:
        raise ValueError("input_ids is None; pass the tokenizer's output: model(**tokenizer(text, …))")
    if input_ids.dim() != 2 or 0 in input_ids.shape:
        raise ValueError(f"input_ids has shape {tuple(input_ids.shape)}; it must be (batch, length), neither of them 0")
    if attention_mask is None:
        return
    if attention_mask.shape != input_ids.shape:
        shapes = f"attention_mask has shape {tuple(attention_mask.shape)}, input_ids {tuple(input_ids.shape)}"
        raise ValueError(f"{shapes}; they must be equal")
    if not torch.compiler.is_compiling() and not (has_token := attention_mask.bool().any(1)).all():
        row = int((~has_token).nonzero()[0, 0])
        raise ValueError(f"attention_mask row {row} has no token; every input needs at least one")


def refuse_embeddings(**given: Tensor | None) -> None:
    """Refuses embeddings in the place of ids; None, which PEFT passes, is none."""
    for name, value in given.items():
        if value is not None:
            why = "a symbol has another vector in each stream, so this model reads ids only"
            remedy = f"pass {name.replace('inputs_embeds', 'input_ids')}, and adapt it by LoRA, DoRA or IA3"
            raise ValueError(f"{name} of shape {tuple(value.shape)}: {why}; {remedy}, not by prompt tuning")


# What a trainer's smoothing would do to labels that are ids.
COUNTED = (
    "count symbols that an example cannot write: leave it out, and set label_smoothing in the model's configuration. "
    "For a compute_loss_func, which gets logits in id space, put return_id_logits=True into the batches"
)
# What a trainer's smoothing would do to labels of the next token, where it takes them for those of the same token.
NOT_BY_NAME = (
    "compare each token with the label of its own position: leave it out, and set label_smoothing in the model's "
    "configuration, if it has this field. For a compute_loss_func set model.accepts_loss_kwargs = False"
)


def refuse_taken_labels(labels: Tensor | None, num_items_in_batch: Tensor | int | None, said: str) -> None:
    """Refuses a call with `num_items_in_batch ()` whose `labels (B, T)` a trainer took away, to do what is said."""
    if labels is None and num_items_in_batch is not None:
        smoothing = "a trainer took them away, and its label_smoothing_factor would"
        raise ValueError(f"num_items_in_batch without labels: {smoothing} {said}")


def refuse_lost(name: str, ids: Tensor, lost: Tensor, why: str) -> None:
    """Refuses any of `ids (B, T)` where `lost (B, T)` is True: shows the first of them, and says `why`."""
    if not torch.compiler.is_compiling() and lost.any():
        row, place = lost.nonzero()[0].tolist()
        raise ValueError(f"{name}[{row}, {place}]={int(ids[row, place])}: this symbol {why}")


def refuse_counts(name: str, counts: Tensor, limit: int) -> None:
    """Refuses an argument of this name whose rows have `counts (B,)` new symbols, if one has more than the `limit`."""
    if (counts > limit).any():
        row = int((counts > limit).nonzero()[0, 0])
        raise ValueError(
            f"{name} row {row} has {int(counts[row])} symbols that its question does not have. An answer may have "
            f"{limit} (num_fresh_symbols); leave such examples out, or load the model with a larger num_fresh_symbols"
        )


def referents_of(
    input_ids: Tensor, base: int, num_views: int = 1, attention_mask: Tensor | None = None, check: bool = True
) -> Tensor:
    """The referent `(B, L)` of each of `input_ids (B, L)`, -1 below V_n and where `attention_mask (B, L)` is 0.

    Refuses a negative id, unless it is not to `check` or a graph is made.
    """
    if check and not torch.compiler.is_compiling() and input_ids.numel() and int(input_ids.min()) < 0:
        raise ValueError(f"input id {int(input_ids.min())}: ids must not be negative; pad with pad_token_id")
    is_symbol = input_ids >= base
    if attention_mask is not None:
        is_symbol = is_symbol & attention_mask.bool()
    referents = input_ids - base
    return torch.where(is_symbol, referents if num_views == 1 else referents // num_views, -1)


@reads_values
def label_columns(labels: Tensor, slots: Slots, base_vocab_size: int, num_views: int, unknown: str | None) -> Tensor:
    """Ids `labels (B, T)` as columns `(B, T)` of the logits in slot space; -100, for no label, is kept.

    Where symbols come in, one that has not occurred by its place is a new one, whatever it is called. A symbol without
    a slot, or that is new where no row is left, is refused; `unknown` says what is wrong with it. With None none is.
    """
    is_symbol, symbols = labels >= base_vocab_size, labels - base_vocab_size
    slot = slots.of(referents_of(labels, base_vocab_size, num_views, check=False))
    if slots.by_place:
        active, new = slots.active[:, :, : labels.shape[1]], slots.new[:, : labels.shape[1]]
        occurred = (slot >= 0) & active.gather(1, slot.clamp(min=0).unsqueeze(1)).squeeze(1)
        slot = torch.where(occurred, slot, torch.where(new < active.shape[1], new, -1))
        unknown = (
            f"is new, and all {active.shape[1]} rows are taken by then; load the model with a larger num_symbols, or "
            "leave such examples out"
        )
    if unknown is not None:
        refuse_lost("labels", labels, is_symbol & (slot < 0), unknown)
    return torch.where(is_symbol, base_vocab_size + slot * num_views + symbols % num_views, labels)


def slots_to_ids(logits: Tensor, slots: Slots, config: Any) -> Tensor:
    """`logits (B, T, V_n + K · num_views)` in slot space, moved to ids `(B, T, max(vocab_size, largest id + 1))`.

    Where symbols come in, there are columns for one referent more: a new symbol stands at the smallest referent that
    has not occurred by that place, and the other ids that have not are -inf. Ids from `WIDEST` on are refused, since
    there is a column for each smaller one.
    """
    base, views = config.base_vocab_size, config.num_views
    width = _id_width(slots.referents, base, config.vocab_size, views)
    if not slots.by_place:
        return _known_to_ids(logits, slots.referents, base, width, views)
    view = torch.arange(views, device=logits.device)
    free = slots.new < slots.active.shape[1]  # (B, T)
    column = base + slots.new.where(free, 0).unsqueeze(2) * views + view  # (B, T, num_views)
    new = logits.gather(2, column).masked_fill(~free.unsqueeze(2), -math.inf)
    unknown = ~slots.active.transpose(1, 2).repeat_interleave(views, 2)  # (B, T, K · num_views)
    logits = logits.masked_fill(nn.functional.pad(unknown, (base, 0)), -math.inf)
    known = _known_to_ids(logits, slots.referents, base, width + views, views)
    candidates = torch.arange(slots.referents.shape[1] + 1, device=logits.device)
    is_candidate = slots.referents.unsqueeze(2) == candidates  # (B, K, candidates); -1 is none
    occurred = is_candidate.transpose(1, 2).float() @ slots.active.float() > 0  # (B, candidates, T)
    smallest = (~occurred).int().argmax(1)  # (B, T), the referent of a new symbol
    return known.scatter(2, base + smallest.unsqueeze(2) * views + view, new)


def _known_to_ids(logits: Tensor, referents: Tensor, base: int, width: int, num_views: int) -> Tensor:
    """`logits (B, T, V_n + K · num_views)` of slots with these `referents (B, K)` by id, `(B, T, width)`."""
    views = torch.arange(num_views, device=logits.device)
    columns = (1 + referents.unsqueeze(2) * num_views + views).clamp(min=0)  # (B, K, num_views); 0 is for none
    columns = columns.flatten(1).unsqueeze(1).expand(-1, logits.shape[1], -1)
    symbols = logits.new_full((*logits.shape[:2], 1 + width - base), -math.inf)
    symbols = symbols.scatter(2, columns, logits[..., base:])[..., 1:]
    return torch.cat((logits[..., :base], symbols), dim=-1)


@reads_values
def _id_width(referents: Tensor, base: int, vocab_size: int, num_views: int) -> int:
    """The columns of logits in id space of slots with these `referents (B, K)`; while exporting, `vocab_size`."""
    if is_exporting():
        return vocab_size
    width = max(vocab_size, base + (int(referents.max()) + 1) * num_views)
    if width > max(vocab_size, WIDEST):
        why = f"logits in id space have a column for each smaller id, so ids must be below {WIDEST}"
        remedy = f"pass return_id_logits=False for logits in slot space, or number symbols from {base}"
        raise ValueError(f"symbol id {width - 1}: {why}; {remedy}")
    return width


@dataclass(frozen=True)
class Names:
    """What the symbols of a call of `generate` are called inside, by slots, and outside.

    A slot that no symbol has is for a new one, called by the smallest referent that is left.
    """

    known: Tensor  # (B, K) int64, the referent of each slot, -1 where there is none
    base_vocab_size: int
    num_views: int = 1

    def referents(self, count: int) -> Tensor:
        """The referents `(B, count)` of the first slots."""
        known = nn.functional.pad(self.known, (0, max(count - self.known.shape[1], 0)), value=-1)[:, :count]
        candidates = torch.arange(self.known.shape[1] + count, device=known.device)
        taken = (self.known.unsqueeze(2) == candidates).any(1)  # (B, K + count)
        free = (candidates + taken * len(candidates)).sort(1).values
        number = ((known < 0).long().cumsum(1) - 1).clamp(min=0)
        return torch.where(known >= 0, known, free.gather(1, number))

    def numbers(self, referents: Tensor) -> Tensor:
        """The slot `(R, T)` of each of `referents (R, T)`, R a multiple of B; -1 for one that has none."""
        return Slots(self.known, self.known).repeat_interleave(len(referents) // len(self.known)).of(referents)

    def inside(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """`ids (B, T)` with slots for referents; those where `attention_mask (B, T)` is 0 stand for nothing."""
        base, views = self.base_vocab_size, self.num_views
        slot = self.numbers(referents_of(ids, base, views, attention_mask))
        return torch.where(slot >= 0, base + slot * views + (ids - base) % views, ids.clamp(max=base - 1))

    def renamed(self, slots: Tensor) -> Tensor:
        """The referent of each of `slots (R, T)`, R a multiple of B; -1 for -1."""
        count = max(int(slots.max()) + 1, 1) if slots.numel() else 1
        referents = self.referents(count).repeat_interleave(len(slots) // len(self.known), 0)
        return torch.where(slots >= 0, referents.to(slots.device).gather(1, slots.clamp(min=0)), -1)

    def outside(self, ids: Tensor) -> Tensor:
        """Slot `ids (R, T)`, R a multiple of B, as a user has them."""
        base, views = self.base_vocab_size, self.num_views
        referents = self.renamed(referents_of(ids, base, views, check=False))
        return torch.where(referents >= 0, base + referents * views + (ids - base) % views, ids)

    def scores_outside(self, steps: Sequence[Tensor], vocab_size: int) -> tuple[Tensor, ...]:
        """By id, `(R, max(vocab_size, largest id + 1))`, the scores `steps (R, C)` of each step; -inf for no slot."""
        base, views = self.base_vocab_size, self.num_views
        count = (steps[0].shape[1] - base) // views
        referents = self.referents(count).repeat_interleave(len(steps[0]) // len(self.known), 0).to(steps[0].device)
        width = max(vocab_size, base + (int(referents.max()) + 1) * views) if count else vocab_size
        return tuple(_known_to_ids(step.unsqueeze(1), referents, base, width, views).squeeze(1) for step in steps)


@dataclass(frozen=True)
class Streams:
    """Where copies of texts, one for each symbol, belong, which an encoder reads one beside the other."""

    slots: Tensor  # (B, L) int64, the number of the symbol in its text, -1 elsewhere
    active: Tensor  # (B, S) bool, which copies there are
    example: Tensor  # (N,) int64, the text of each copy
    stream: Tensor  # (N,) int64, the symbol of each copy

    @classmethod
    @reads_values
    def of(cls, input_ids: Tensor, attention_mask: Tensor | None, base_vocab_size: int) -> "Streams":
        """The streams of `input_ids (B, L)` under `attention_mask (B, L)`; a text without symbols has one."""
        if is_exporting():
            raise ValueError("torch.export: a text has as many copies as symbols, and a graph has a fixed number")
        check_source(input_ids, attention_mask)
        referents = referents_of(input_ids, base_vocab_size, attention_mask=attention_mask)
        slots = Slots.in_order(referents)
        return cls(slots.of(referents), slots.active, *slots.active.nonzero(as_tuple=True))

    def spread(self, copies: Tensor) -> Tensor:
        """`copies (N, L, D)` by text, `(B, S, L, D)`, with zeros where there is no copy."""
        dense = copies.new_zeros(*self.active.shape, *copies.shape[1:])
        return dense.index_put((self.example, self.stream), copies)

    def spread_all(self, parts: Sequence[Tensor | None] | None) -> tuple[Tensor | None, ...] | None:
        """Each of `parts (N, …)` by text, as `spread`, and None for None."""
        return None if parts is None else tuple(part if part is None else self.spread(part) for part in parts)

    def own_and_rest(self, copies: Tensor) -> tuple[Tensor, Tensor]:
        """At symbols of `copies (B, S, L, D)` what their own copy has, and the mean of the others; 0 elsewhere."""
        at = self.slots.unsqueeze(2)
        own = copies.gather(1, at.clamp(min=0).unsqueeze(1).expand(-1, 1, -1, copies.shape[3])).squeeze(1)  # (B, L, D)
        rest = (copies.sum(1) - own) / (self.active.sum(1)[:, None, None] - 1).clamp(min=1)
        return own.masked_fill(at < 0, 0), rest.masked_fill(at < 0, 0)
