"""How vectors become logits: heads, and what makes one view of all streams.

Logits have a column per base token and per view of each slot. A head has the embedding's parameter as its `weight`.

Letters: B batch, S streams, K slots (S = K for streams, S = 1 else), L sequence length, D model width, V_n base tokens.
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import gaussian_rows, learned_rows, random_rows
from .slots_symbinv import Slots


def mean_over_streams(hidden_states: Tensor, active: Tensor) -> Tensor:
    """The mean `(B, L, D)` of `hidden_states (B, S, L, D)` over each example's own streams; zeros if it has none.

    They are those of `active (B, S)`, or at each place those of `active (B, S, L)`; integers count a stream often.
    """
    weights = active.to(hidden_states.dtype) / active.sum(1, keepdim=True).clamp(min=1)
    return torch.einsum("bsld,bs->bld" if active.dim() == 2 else "bsld,bsl->bld", hidden_states, weights)


def aggregate_streams(hidden_states: Tensor, symbol_slots: Tensor, active: Tensor) -> Tensor:
    """One view `(B, L, D)` of all streams, `hidden_states (B, S, L, D)`: their mean, and at each symbol its own stream.

    `symbol_slots (B, L)` is -1 at base tokens; `active (B, S)` or `(B, S, L)` is as above. Source: SIT Algorithm 2.
    """
    index = symbol_slots.clamp(min=0)[:, None, :, None].expand(-1, 1, -1, hidden_states.shape[-1])
    own = hidden_states.gather(1, index).squeeze(1)
    return torch.where((symbol_slots >= 0).unsqueeze(-1), own, mean_over_streams(hidden_states, active))


class Head(nn.Module, ABC):
    """Turns hidden states into logits in slot space, with the parameter of the embedding as `weight`."""

    def __init__(self, config: SymbolInvariantConfig, weight: nn.Parameter):
        super().__init__()
        self.config, self.weight = config, weight

    @abstractmethod
    def forward(self, hidden_states: Tensor, slots: Slots) -> Tensor:
        """Logits `(B, L, V_n + K · num_views)` of `hidden_states (B, S, L, D)`, with the embedding's slots.

        Column V_n + s · num_views + v is view v of the symbol of slot s, or of a new one where `slots.new` is s; it is
        -inf where no symbol can be written from that slot.
        """

    def features(self, hidden_states: Tensor) -> Tensor:
        """`hidden_states (B, S, L, D)` as they are projected."""
        return nn.functional.normalize(hidden_states, dim=-1) if self.config.normalize_features else hidden_states


class StreamsHead(Head):
    """Base tokens from the mean over streams, each symbol from its own: SIT Algorithm 5 and section 3.3."""

    def forward(self, hidden_states: Tensor, slots: Slots) -> Tensor:
        """Logits `(B, L, V_n + S · num_views)` of `hidden_states (B, S, L, D)`, -inf where a slot writes no symbol."""
        table, base = learned_rows(self.weight, self.config), self.config.base_vocab_size
        hidden_states = self.features(hidden_states)
        base_logits = mean_over_streams(hidden_states, self.counts(slots)) @ table[:base].T  # (B, L, V_n)
        actual = table[base : base + self.config.num_views]
        symbol_logits = torch.stack([hidden_states @ row for row in actual], dim=-1)  # (B, S, L, num_views)
        writable = slots.writable[:, : hidden_states.shape[1]].unsqueeze(3)  # (B, S, 1 or L, 1)
        symbol_logits = symbol_logits.masked_fill(~writable, -math.inf).transpose(1, 2)  # (B, L, S, num_views)
        return torch.cat((base_logits, symbol_logits.flatten(2)), dim=-1)

    def counts(self, slots: Slots) -> Tensor:
        """How often each stream counts in the mean, as `slots.active`; the last stands for all `extra_streams`."""
        if not self.config.extra_streams:
            return slots.active
        counts = (slots.referents >= 0).long()  # (B, S)
        extra = (self.config.extra_streams - counts.sum(1, keepdim=True)).clamp(min=0)
        return torch.cat((counts[:, :-1], extra), dim=1)


class VocabularyHead(Head):
    """Projects on the learned rows of base tokens and symbols."""

    def forward(self, hidden_states: Tensor, slots: Slots) -> Tensor:
        """Logits `(B, L, V_n + K · num_views)` of `hidden_states (B, 1, L, D)`, -inf where a slot writes no symbol."""
        logits = self.features(hidden_states).squeeze(1) @ self.table(slots).T
        missing = ~slots.writable.transpose(1, 2).repeat_interleave(self.config.num_views, 2)
        missing = nn.functional.pad(missing, (self.config.base_vocab_size, 0))  # (B, 1 or L, V_n + K · num_views)
        return logits.masked_fill(missing, -math.inf)

    def table(self, slots: Slots) -> Tensor:
        """The `(V_n + K · num_views, D)` rows that are projected on."""
        return learned_rows(self.weight, self.config)


class RandomHead(VocabularyHead):
    """Identical to VocabularyHead except: a part of each symbol's row is that of its slot in `slots.vectors`."""

    def table(self, slots: Slots) -> Tensor:
        return random_rows(self.weight, slots.vectors, self.config)


class GaussianHead(Head):
    """Projects on the learned rows of base tokens and on the rows of this sequence's symbols. Source: LI section 2."""

    def forward(self, hidden_states: Tensor, slots: Slots) -> Tensor:
        """Logits `(B, L, V_n + num_symbols)` of `hidden_states (B, 1, L, D)`."""
        hidden_states = self.features(hidden_states).squeeze(1)  # (B, L, D)
        base = hidden_states @ learned_rows(self.weight[: self.config.base_vocab_size], self.config).T  # (B, L, V_n)
        symbols = hidden_states @ gaussian_rows(slots.vectors, self.config).transpose(1, 2)  # (B, L, num_symbols)
        return torch.cat((base, symbols), dim=-1)


def make_head(config: SymbolInvariantConfig, weight: nn.Parameter) -> Head:
    """The head that `config.symbol_embedding` names, for an embedding of `weight (rows, D)`.

    Its own weight is empty until `post_init` ties the two: else a checkpoint without either would load without a word.
    """
    own: dict[str, type[Head]] = {"streams": StreamsHead, "random": RandomHead, "gaussian": GaussianHead}
    return own.get(config.symbol_embedding, VocabularyHead)(config, nn.Parameter(torch.empty_like(weight)))
