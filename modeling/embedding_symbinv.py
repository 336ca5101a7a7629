"""How symbols become vectors on the way in and how vectors become logits on the way out.

Ids are renamed to **slots** first (`assign_slots`): the referents of one example are numbered 0 … k-1 in the order of
their first appearance, so alpha-equivalent inputs become the same tensors. Slot s of an example is seen by stream s.

Letters: B batch, S streams, L sequence length, D model width, V_n base tokens.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn

from .configuration_symbinv import SymbolInvariantConfig


@dataclass(frozen=True)
class Slots:
    """Which symbol each stream of each example stands for.

    Attributes:
        referents: `(B, S)` int64, the referent of each slot, -1 where the example has fewer symbols.
        active: `(B, S)` bool, the streams that take part in means. An example without symbols has one anonymous
            stream: active, with referent -1.
    """

    referents: torch.Tensor
    active: torch.Tensor

    @classmethod
    def from_referents(cls, referents: torch.Tensor) -> "Slots":
        """The slots of `referents (B, S)`, with stream 0 anonymous and active where a row has no referent."""
        active = referents >= 0
        active[:, 0] |= ~active.any(dim=1)
        return cls(referents, active)

    def of(self, referents: torch.Tensor) -> torch.Tensor:
        """The slot `(B, L)` of each of `referents (B, L)`; -1 for -1 (a base token) and for one without a slot."""
        match = (referents.unsqueeze(2) == self.referents.unsqueeze(1)) & (referents >= 0).unsqueeze(2)  # (B, L, S)
        return torch.where(match.any(2), match.int().argmax(2), -1)

    def repeat_interleave(self, repeats: int) -> "Slots":
        """Every example `repeats` times in a row, as beams are laid out."""
        if repeats == 1:
            return self
        return Slots(self.referents.repeat_interleave(repeats, 0), self.active.repeat_interleave(repeats, 0))


def assign_slots(referents: torch.Tensor, canonical: bool = True) -> Slots:
    """Numbers the referents of each example in the order of their first appearance.

    Args:
        referents: `(B, L)` int64, -1 at base tokens and padding.
        canonical: False shuffles the numbers, as a test of the theorem.

    Returns:
        Slots with S = the most distinct referents of an example, at least 1.
    """
    # A stable sort brings equal referents together, the earliest position first.
    ordered, order = referents.sort(dim=1, stable=True)  # (B, L)
    is_first = torch.zeros_like(referents, dtype=torch.bool)
    starts = torch.ones_like(is_first)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_first.scatter_(1, order, starts & (ordered >= 0))
    slot = is_first.cumsum(1) - 1  # at first appearances
    width = max(int(is_first.sum(1).max()), 1)
    table = referents.new_full((len(referents), width + 1), -1)
    table.scatter_(1, torch.where(is_first, slot, width), torch.where(is_first, referents, -1))
    table = table[:, :width]
    if not canonical:
        keys = torch.rand(table.shape, device=table.device).masked_fill(table < 0, 2.0)  # unused slots stay last
        table = table.gather(1, keys.argsort(1))
    return Slots.from_referents(table)


class StreamsEmbedding(nn.Module):
    """One stream per symbol: its own symbol as the *actual* row, every other symbol as the *placeholder* row.

    The table has V_n + 2 rows: base tokens, actual (V_n), placeholder (V_n + 1). It is also the projection.

    Source: SIT Algorithms 1 and 5; normalisations SIT section 3.3; the factor sqrt(D) Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.base_vocab_size + 2, config.d_model))

    def table(self) -> torch.Tensor:
        """The `(V_n + 2, D)` rows as they are looked up and projected on."""
        return nn.functional.normalize(self.weight, dim=1) if self.config.normalize_embeddings else self.weight

    def forward(self, input_ids: torch.Tensor, symbol_slots: torch.Tensor, num_streams: int) -> torch.Tensor:
        """Embeds every token as each stream sees it.

        Args:
            input_ids: `(B, L)` int64, base ids and symbol ids.
            symbol_slots: `(B, L)` int64, the slot of each symbol, -1 at base tokens.
            num_streams: S.

        Returns:
            `(B, S, L, D)`, scaled by sqrt(D), without positions.
        """
        actual = self.config.base_vocab_size
        streams = torch.arange(num_streams, device=input_ids.device).view(1, -1, 1)
        is_own = symbol_slots.unsqueeze(1) == streams  # (B, S, L)
        rows = torch.where(input_ids.unsqueeze(1) < actual, input_ids.unsqueeze(1), actual + 1)
        rows = torch.where(is_own, actual, rows)
        return nn.functional.embedding(rows, self.table()) * math.sqrt(self.config.d_model)

    def project(self, hidden_states: torch.Tensor, slots: Slots) -> torch.Tensor:
        """Logits in slot space: base tokens from the mean over streams, each symbol from its own stream.

        Args:
            hidden_states: `(B, S, L, D)`.
            slots: of the same B and S.

        Returns:
            `(B, L, V_n + S)`; column V_n + s is the symbol of slot s, -inf where no symbol has that slot.
        """
        table, base = self.table(), self.config.base_vocab_size
        if self.config.normalize_features:
            hidden_states = nn.functional.normalize(hidden_states, dim=-1)
        base_logits = mean_over_streams(hidden_states, slots.active) @ table[:base].T  # (B, L, V_n)
        symbol_logits = (hidden_states @ table[base]).transpose(1, 2)  # (B, L, S)
        return torch.cat(
            (base_logits, symbol_logits.masked_fill((slots.referents < 0).unsqueeze(1), -math.inf)), dim=-1
        )


def mean_over_streams(hidden_states: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
    """The mean `(B, L, D)` of `hidden_states (B, S, L, D)` over each example's own streams, `active (B, S)`."""
    weights = active.to(hidden_states.dtype) / active.sum(1, keepdim=True)
    return torch.einsum("bsld,bs->bld", hidden_states, weights)


def aggregate_streams(hidden_states: torch.Tensor, symbol_slots: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
    """One view of all streams: their mean, and at each symbol the hidden state of that symbol's own stream.

    Args:
        hidden_states: `(B, S, L, D)`.
        symbol_slots: `(B, L)`, the slot of each symbol, -1 at base tokens.
        active: `(B, S)`, the streams that take part in the mean.

    Returns:
        `(B, L, D)`.

    Source: SIT Algorithm 2.
    """
    index = symbol_slots.clamp(min=0)[:, None, :, None].expand(-1, 1, -1, hidden_states.shape[-1])
    own = hidden_states.gather(1, index).squeeze(1)
    return torch.where((symbol_slots >= 0).unsqueeze(-1), own, mean_over_streams(hidden_states, active))


def check_source(input_ids: torch.Tensor, attention_mask: torch.Tensor | None) -> None:
    """Refuses an input that cannot be encoded.

    Raises:
        ValueError: unless `input_ids` is `(B, L)`, the mask has the same shape, and every row has a token.
    """
    if input_ids.dim() != 2 or 0 in input_ids.shape:
        raise ValueError(f"input_ids has shape {tuple(input_ids.shape)}; it must be (batch, length), neither of them 0")
    if attention_mask is None:
        return
    if attention_mask.shape != input_ids.shape:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}, input_ids {tuple(input_ids.shape)}; "
            "they must be equal"
        )
    has_token = attention_mask.bool().any(1)
    if not has_token.all():
        row = int((~has_token).nonzero()[0, 0])
        raise ValueError(f"attention_mask row {row} has no token; every input needs at least one")


def referents_of(input_ids: torch.Tensor, base_vocab_size: int, attention_mask: torch.Tensor | None) -> torch.Tensor:
    """The referent of each token `(B, L)`; -1 at base tokens and where `attention_mask` is 0.

    Raises:
        ValueError: for a negative id.
    """
    if input_ids.numel() and int(input_ids.min()) < 0:
        raise ValueError(f"input id {int(input_ids.min())}: ids must not be negative; pad with pad_token_id")
    is_symbol = input_ids >= base_vocab_size
    if attention_mask is not None:
        is_symbol = is_symbol & attention_mask.bool()
    return torch.where(is_symbol, input_ids - base_vocab_size, -1)


def slots_to_ids(logits: torch.Tensor, slots: Slots, base_vocab_size: int, vocab_size: int) -> torch.Tensor:
    """Logits `(B, L, V_n + S)` in slot space, moved to id space `(B, L, max(vocab_size, largest id + 1))`."""
    width = max(vocab_size, base_vocab_size + int(slots.referents.max()) + 1)
    columns = torch.where(slots.referents >= 0, base_vocab_size + slots.referents, width)  # (B, S)
    out = logits.new_full((*logits.shape[:2], width + 1), -math.inf)
    out[..., :base_vocab_size] = logits[..., :base_vocab_size]
    out.scatter_(2, columns.unsqueeze(1).expand(-1, logits.shape[1], -1), logits[..., base_vocab_size:])
    return out[..., :width]
