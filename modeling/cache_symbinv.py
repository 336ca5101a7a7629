"""What a decoder has read: keys and values per row, and those of the encoder once per question.

Rows are moved in place, and not at all where none moved. Streams lie in the axis of heads.

Letters: R rows (beams of questions), A questions, S streams, H heads, T tokens, L source length, E width of a head.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .versions_symbinv import ModelOutput

# Tokens for which there is room behind the last one, once keys grow; our choice: 100 tokens then grow four times.
ROOM = 32

# During a search, by the first of some projections, weight and bias of all of them side by side; None at other times.
Joined = dict[nn.Linear, tuple[Tensor, Tensor]] | None


class KeyValues:
    """Keys and values of one attention block, side by side, `(R, S·H, room, E_k + E_v)`, of which `length` count."""

    def __init__(self) -> None:
        self.states: Tensor | None = None
        self.length, self.width = 0, 0  # tokens, and E_k

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys `(R, S·H, past + T, E_k)` and values, `keys (R, S·H, T, E_k)` and `values (R, S·H, T, E_v)` last."""
        start, self.length, self.width = self.length, self.length + keys.shape[2], keys.shape[3]
        new = torch.cat((keys, values), dim=3)
        if self.states is None:
            self.states = new
        elif torch.is_grad_enabled() and (new.requires_grad or self.states.requires_grad):
            self.states = torch.cat((self.states[:, :, :start], new), dim=2)  # nothing is written in place
        else:
            if self.states.shape[2] < self.length:
                grown = self.states.new_empty(*self.states.shape[:2], self.length + ROOM, self.states.shape[3])
                grown[:, :, :start] = self.states[:, :, :start]
                self.states = grown
            self.states[:, :, start : self.length] = new
        return self.filled()

    def filled(self) -> tuple[Tensor, Tensor]:
        """Keys and values of all tokens."""
        assert self.states is not None  # asked after the first append only
        filled = self.states[:, :, : self.length]
        return filled[..., : self.width], filled[..., self.width :]

    def move(self, rows: Sequence[int], moved: Sequence[int] | None) -> None:
        """Row i continues row `rows[i]`; `moved` are the rows that change, None where their number does."""
        if self.states is None:
            return
        if moved is None:
            self.states = self.states.index_select(0, torch.tensor(rows, device=self.states.device))
        else:
            places, sources = torch.tensor([moved, [rows[row] for row in moved]], device=self.states.device)
            filled = self.states[:, :, : self.length]
            filled.index_copy_(0, places, filled.index_select(0, sources))


def outside_inference(value: Any) -> Any:
    """Tensors, None and tuples of these as autograd takes them; those made in inference mode are copied."""
    if isinstance(value, tuple):
        return tuple(map(outside_inference, value))
    return value if value is None or not value.is_inference() else value.clone()


class SymbolInvariantCache:
    """Keys and values of all blocks of a decoder."""

    def __init__(self) -> None:
        # Of self-attention, block by block, (R, S·H, T, E) each; aggregated blocks have S = 1.
        self.own: dict[int, KeyValues] = {}
        # Of cross-attention, (A, S·H, L, E) each, made once for a question, whatever its beams.
        self.cross: dict[int, tuple[Tensor, Tensor]] = {}
        # (R, S) int64, where symbols come in whose stream or row each is; -1 for none yet, as the anonymous stream.
        self.referents: Tensor | None = None
        self.mask: Tensor | None = None  # (R, T), 1 at the tokens read, 0 at padding; None if nothing is padding
        self.joined: Joined = None

    def get_seq_length(self) -> int:
        """Tokens that were read."""
        return next(iter(self.own.values())).length if self.own else 0

    @property
    def rows(self) -> int:
        """R; 0 when empty."""
        return next((block.states.shape[0] for block in self.own.values() if block.states is not None), 0)

    def append(self, index: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Adds `keys (R, S·H, T, E_k)` and `values (R, S·H, T, E_v)` to block `index`; all of its keys and values."""
        return self.own.setdefault(index, KeyValues()).append(keys, values)

    def move(self, rows: Sequence[int]) -> None:
        """Row i continues row `rows[i]` of those before; there may be more or fewer of them then."""
        moved = [row for row, source in enumerate(rows) if row != source] if len(rows) == self.rows else None
        if moved == []:
            return
        for block in self.own.values():
            block.move(rows, moved)
        for name in ("referents", "mask"):
            tensor = getattr(self, name)
            if tensor is not None:
                setattr(self, name, tensor[torch.tensor(rows, device=tensor.device)])

    def leave_inference(self) -> None:
        """Makes what was read in inference mode usable outside of it."""
        for block in self.own.values():
            block.states = outside_inference(block.states)
        self.cross = {index: outside_inference(pair) for index, pair in self.cross.items()}
        self.joined = None
        self.referents, self.mask = outside_inference((self.referents, self.mask))

    def reset(self) -> None:
        """Forgets all that was read; a text is read again then."""
        SymbolInvariantCache.__init__(self)

    def keep_questions(self, places: Sequence[int]) -> None:
        """Keeps the encoder's keys and values of the questions at `places` only."""
        for index, (keys, values) in self.cross.items():
            chosen = torch.tensor(places, device=keys.device)
            self.cross[index] = keys[chosen], values[chosen]

    def fork(self, referents: Tensor, per_stream: Iterable[int], heads: int) -> None:
        """Has a stream for each of `referents (R, S)`, which begin with those known.

        A new one begins as a copy of the anonymous stream's keys, slot 0, in the blocks `per_stream`.
        """
        known, self.referents = self.referents, referents
        if known is None or known.shape[1] == referents.shape[1]:
            return
        for index in per_stream:
            block = self.own[index]
            assert block.states is not None
            copies = block.states[:, :heads].repeat(1, referents.shape[1] - known.shape[1], 1, 1)
            block.states = torch.cat((block.states, copies), dim=1)

    def rename(self, names: Callable[[Tensor], Tensor]) -> None:
        """Renames the symbols by `names (R, S)` → `(R, S)`, a function of referents, -1 where there is none."""
        if self.referents is None:
            return
        renamed = names(self.referents)
        if ((renamed < 0) & (self.referents >= 0)).any():
            raise ValueError("past_key_values knows symbols that do not occur in input_ids; pass the whole text")
        self.referents = renamed


class OutputWithCache(ModelOutput):
    """Identical to ModelOutput except: `cache`, so called since transformers 5.24, is also `past_key_values`."""

    cache: SymbolInvariantCache | None

    def __setattr__(self, name: str, value: Any) -> None:
        if value is None:  # transformers would look through all fields for each that is not there
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def past_key_values(self) -> SymbolInvariantCache | None:
        """The cache."""
        return self.cache

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__("cache" if isinstance(key, str) and key == "past_key_values" else key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__("cache" if key == "past_key_values" else key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, also by its old name."""
        return super().get("cache" if key == "past_key_values" else key, default)


def own_cache(past_key_values: object, cache: object = None) -> SymbolInvariantCache | None:
    """The cache that a call was given by either name; newer versions of transformers say `cache`."""
    given = past_key_values if cache is None else cache
    # Compared as text: a checkpoint's own code and the package have two classes of caches.
    if given is None or type(given).__name__ == "SymbolInvariantCache":
        return given  # type: ignore[return-value]
    why = "keys of streams need a SymbolInvariantCache, which also holds the encoder's once per question"
    remedy = "leave it out, or pass the one that an output has"
    raise ValueError(f"past_key_values is a {type(given).__name__}: {why}; {remedy}")
