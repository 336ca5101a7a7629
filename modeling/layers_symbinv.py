"""Positions, attention over streams, feed-forward, and the encoder and decoder layers made of them.

Hidden states are `(B, S, L, D)`: every layer shares its weights among the streams. Aggregated blocks let each stream
attend to one view of all streams, whose keys and values exist once per example.

Letters: B batch, N beams per example, S streams, L source length, T target length, K keys, H heads, D model width.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .cache_symbinv import Joined, SymbolInvariantCache
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import aggregate_streams
from .slots_symbinv import is_exporting
from .versions_symbinv import ACT2FN, GradientCheckpointingLayer

# Keys up to which attention on a CPU is written out in training, our choice: with 128 a step on answers of 100 tokens
# took a quarter more memory.
SHORT = 64


def position_ids(attention_mask: Tensor) -> Tensor:
    """Positions `(B, L)` that count the tokens of `attention_mask (B, L)` from 0; padding before them gets 0."""
    return (attention_mask.long().cumsum(1) - 1).clamp(min=0)


def rotary_angles(positions: Tensor, config: SymbolInvariantConfig, dtype: torch.dtype) -> Tensor:
    """Cosines and sines of the rotary embedding at `positions (B, L)`, `(2, B, 1, L, 1, E)`, for `rotate`.

    The first half of the sines is negated, so that rotating only has to swap halves. Source: Su et al. 2024, equation
    34, in the layout of `rotate_half`.
    """
    head_dim = config.d_model // config.num_attention_heads
    wide = torch.promote_types(dtype, torch.float32)
    # Made on the device, so that nothing waits for it; MPS has no float64.
    exact = wide if positions.device.type == "mps" else torch.float64
    exponents = torch.arange(0, head_dim, 2, dtype=exact, device=positions.device) / head_dim
    angles = positions.unsqueeze(-1) * (float(config.rope_theta) ** -exponents).to(wide)  # (B, L, E / 2)
    sin = angles.sin()
    both = torch.stack((angles.cos().repeat(1, 1, 2), torch.cat((-sin, sin), dim=-1)))
    return both.to(dtype)[:, :, None, :, None]


def rotate(states: Tensor, angles: Tensor) -> Tensor:
    """Rotates `states (B, S, L, H, E)` by `angles (2, B or 1, 1, L, 1, E)`."""
    cos, sin = angles
    return torch.addcmul(states * cos, states.roll(states.shape[-1] // 2, -1), sin)


def sinusoidal_positions(positions: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """Sines and cosines, interleaved, `(B, L, width)`, at `positions (B, L)`: Vaswani et al. 2017, section 3.5."""
    wide = torch.promote_types(dtype, torch.float32)
    exponents = torch.arange(0, width, 2, device=positions.device, dtype=wide) / width
    angles = positions.unsqueeze(-1).to(wide) * 10000.0**-exponents
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(dtype)


def tree_positions(arity: Tensor, width: int) -> Tensor:
    """The path of each token of a prefix formula in its syntax tree, as zeros and ones.

    A step to a left or only child is (1, 0), to a right child (0, 1); the step nearest the token comes first and the
    root's last: `&UabXc` gives & [], U [1,0], a [1,0,1,0], b [0,1,1,0], X [0,1], c [1,0,0,1].

    `arity (B, L)` int64 has the number of children of each token, -1 for tokens outside the formula. The paths are
    `(B, L, width)` bool, padded with zeros, or cut; zeros for a row that is not exactly one formula.
    Source: Shiv & Quirk 2019, as used by SIT section 5.2.
    """
    index = torch.arange(arity.shape[1], device=arity.device)
    in_tree = arity >= 0
    after = 1 + torch.where(in_tree, arity - 1, 0).cumsum(1)  # operands still awaited after each token
    before = after - torch.where(in_tree, arity - 1, 0)
    is_formula = in_tree.any(1) & (after[:, -1] == 0) & ((before > 0) | ~in_tree).all(1)

    is_earlier = index < index.unsqueeze(1)  # (L, L)
    previous = torch.where(in_tree.unsqueeze(1) & is_earlier, index, -1).amax(2)
    is_right = (previous >= 0) & (arity.gather(1, previous.clamp(min=0)) == 0)
    # A right child's parent is the last binary token before it that leaves one operand more than the child finds.
    may_be_parent = (arity == 2).unsqueeze(1) & (after.unsqueeze(1) == before.unsqueeze(2) + 1) & is_earlier
    parent = torch.where(is_right, torch.where(may_be_parent, index, -1).amax(2), previous)

    # From here on index 0 stands for "above the root": its path is empty. Each round doubles the length of the paths.
    is_child = in_tree & (parent >= 0) & is_formula.unsqueeze(1)
    parent = nn.functional.pad(torch.where(is_child, 1 + parent, 0), (1, 0))
    paths = nn.functional.pad(torch.stack((is_child & ~is_right, is_child & is_right), dim=-1), (0, 0, 1, 0))
    while paths.shape[-1] < width:
        paths = torch.cat((paths, paths.gather(1, parent.unsqueeze(-1).expand_as(paths))), dim=-1)
        parent = parent.gather(1, parent)
    return nn.functional.pad(paths[:, 1:, :width], (0, max(0, width - paths.shape[-1])))


class RelativeBias(nn.Module):
    """T5's relative positions: a learned bias per head and bucket of distances, added to the scores of attention.

    Distances below 16 have a bucket each; from there to 128 their logarithm decides between 16 more, and everything
    farther is in the last one. Source: Raffel et al. 2020, section 2.1; sizes as in T5.
    """

    buckets, max_distance = 32, 128

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(self.buckets, config.num_attention_heads))

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each `distance (...)`, int64 and not negative, from a query back to a key; same shape."""
        exact = self.buckets // 2
        steps = (distance.clamp(min=1).float() / exact).log() / math.log(self.max_distance / exact)
        far = exact + (steps * (self.buckets - exact)).long()
        return torch.where(distance < exact, distance, far.clamp(max=self.buckets - 1))

    def forward(self, length: int, past: int, mask: Tensor | None) -> Tensor:
        """What is added to the scores of T = `length` queries after `past` tokens, `(B or 1, H, T, past + T)`.

        It is -inf where `mask (B or 1, 1, T, past + T)` bool is False; None for nowhere.
        """
        steps = torch.arange(past + length, device=self.weight.device)
        distance = (steps[past:, None] - steps).clamp(min=0)
        bias = self.weight[self.bucket(distance)].permute(2, 0, 1).unsqueeze(0)  # (1, H, T, past + T)
        return bias if mask is None else torch.where(mask, bias, -math.inf)


class LearnedPositions(nn.Module):
    """A learned vector for each of the first `max_positions`. Source: Devlin et al. 2019, Figure 2."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.max_positions, config.d_model))

    def forward(self, positions: Tensor) -> Tensor:
        """`(B, L, D)` at `positions (B, L)`; refuses one that has no vector."""
        limit = len(self.weight)
        if not is_exporting() and positions.shape[1] > limit and int(positions.max()) >= limit:
            learned = f"this model has learned {limit} positions (max_positions)"
            raise ValueError(f"an input of {int(positions.max()) + 1} tokens: {learned}; shorten the input")
        return nn.functional.embedding(positions, self.weight)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, eager: bool, output_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """softmax(Q Kᵀ / sqrt(E) + mask) V, `(B, G, Q, E)`, and with `output_weights` the softmax `(B, G, Q, K)`.

    Of `queries (B, G, Q, E)`, `keys (B, G, K, E)` and `values (B, G, K, E)`. `mask (B or 1, G or 1, Q or 1, K)` is
    bool, True where a query may attend, or floats that are added to the scores; None for attention everywhere. With
    `eager` (`attn_implementation="eager"`) it is written out, whatever the device.
    """
    if not (eager or output_weights):
        # Written out, the backward pass over short sequences takes a CPU a third to two thirds of the fused one's time.
        trains = queries.requires_grad and queries.device.type == "cpu" and not is_exporting()
        if not (trains and keys.shape[-2] <= SHORT):
            return nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None
    weights = attention_weights(queries, keys, mask)
    return weights @ values, weights if output_weights else None


def attention_weights(queries: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
    """The softmax of `attend`, in float32 at least, of `queries (B, G, Q, E)` and `keys (B, G, K, E)`.

    `mask (B or 1, G or 1, Q or 1, K)` is as there.
    """
    scores = (queries / math.sqrt(queries.shape[-1])) @ keys.transpose(-1, -2)  # (B, G, Q, K)
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, -math.inf)
        scores = scores + mask
    return scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(scores.dtype)


def is_plain(linear: nn.Linear) -> bool:
    """Whether nothing but plain weights decides what a layer does: no adapter, quantisation, hook or other forward."""
    own = linear.__dict__  # read directly, since this is asked at every layer of every step
    hooks = own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"]
    if type(linear) is not nn.Linear or hooks or "forward" in own:
        return False
    return all(type(parameter) is nn.Parameter for parameter in own["_parameters"].values())


@dataclass(frozen=True)
class Sequence:
    """What attention needs to know of a sequence besides its hidden states."""

    symbol_slots: Tensor  # (B, L) int64, the slot of each symbol, -1 at base tokens
    active: Tensor  # (B, S) bool, the streams that take part in means, or (B, S, L), at each place
    # (B or 1, 1, queries or 1, K) bool, True where a query may attend, or (B or 1, H, queries, K) floats that are added
    # to the scores; None for attention everywhere.
    mask: Tensor | None
    angles: Tensor | None  # (2, B or 1, 1, L, 1, E), rotary; None if positions were added to the embeddings
    positions: Tensor | None = None  # (B or 1, 1, L, D), added to what queries and keys are made of
    eager: bool = False  # whether attention is written out, whatever the device
    joined: Joined = None  # of the cache


class ResidualBlock(nn.Module):
    """What attention and feed-forward blocks share: LayerNorm, dropout and residual around what they compute.

        norm(h + dropout(f(h))),  with `norm_first` h + dropout(f(norm(h)))

    Source: Vaswani et al. 2017, section 3.1; `norm_first` Xiong et al. 2020, Figure 1(b).
    """

    norm: nn.LayerNorm
    dropout: nn.Dropout

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.config, self.norm_first = config, config.norm_first

    def read(self, hidden_states: Tensor) -> Tensor:
        """What the block computes from, of `hidden_states (B, S, L, D)`; same shape."""
        return self.norm(hidden_states) if self.norm_first else hidden_states

    def add(self, hidden_states: Tensor, computed: Tensor) -> Tensor:
        """The new hidden states, of the old `hidden_states (B, S, L, D)` and what was `computed (B, S, L, D)`."""
        hidden_states = hidden_states + (self.dropout(computed) if self.training else computed)
        return hidden_states if self.norm_first else self.norm(hidden_states)


class Attention(ResidualBlock):
    """Multi-head attention of every stream, `f(h) = MHA(h, g, g)`; g is the same stream, or the view of all streams.

    Per-stream keys lie in the head axis, `(B, S·H, K, E)`; aggregated ones are `(B, H, K, E)` and all streams' queries
    lie side by side in the query axis. Beams of one source lie in the query axis too.

    With identities, head h has the scores `Q Kᵀ / sqrt(E) + a_h h gᵀ`, and `Σ_h b_h A_h g` is added to the output, A_h
    being its weights. One Gram matrix serves all heads. g lies beside the keys, cut into heads, so a cache holds it.

    Source: SIT Algorithms 3 and 4; identities "When can transformers reason with abstract symbols?", section 1, not
    divided by sqrt(E) as in its authors' release.
    """

    def __init__(self, config: SymbolInvariantConfig, aggregated: bool, cache_index: int = 0):
        super().__init__(config)
        self.aggregated, self.cache_index, self.heads = aggregated, cache_index, config.num_attention_heads
        self.q_proj = nn.Linear(config.d_model, config.d_model)
        self.k_proj = nn.Linear(config.d_model, config.d_model)
        self.v_proj = nn.Linear(config.d_model, config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.identity_qk = nn.Parameter(torch.empty(self.heads)) if config.identity_qk else None
        self.identity_vo = nn.Parameter(torch.empty(self.heads)) if config.identity_vo else None
        self.has_identity = config.identity_qk or config.identity_vo  # keys come with their inputs beside them

    def to_itself(
        self, hidden_states: Tensor, own: Sequence, cache: SymbolInvariantCache | None, trace: list | None
    ) -> Tensor:
        """The new `hidden_states (B, S, T, D)`, which attend to themselves and to what the cache holds."""
        read = self.read(hidden_states)
        if self.aggregated:
            queries, (keys, values) = self.queries(read, own), self.key_values(read, own)
        else:
            query_keys, values = self._projected(read, own, self.q_proj, self.k_proj, self.v_proj)
            queries, keys = query_keys.split(self.heads, dim=3)
            keys, values = self._with_inputs(_by_head(keys), read), _by_head(values)
        if cache is not None:
            keys, values = cache.append(self.cache_index, keys, values)
        return self.add(hidden_states, self(read, queries, keys, values, own, trace))

    def to_source(
        self,
        hidden_states: Tensor,
        encoded: Tensor,
        own: Sequence,
        source: Sequence,
        cache: SymbolInvariantCache | None,
        trace: list | None,
    ) -> Tensor:
        """The new `hidden_states (B·N, S, T, D)`, which attend to what was `encoded (B, S', L, D)`."""
        read = self.read(hidden_states)
        states = None if cache is None else cache.cross.get(self.cache_index)
        if states is None:
            states = self.key_values(encoded, source)
        more = 0 if self.aggregated else read.shape[1] - states[0].shape[1] // self.heads
        if more:  # streams that only the decoder has see what its first sees, the anonymous one where symbols come in
            first, last = (torch.cat((one, one[:, : self.heads].repeat(1, more, 1, 1)), dim=1) for one in states)
            states = first, last
        if cache is not None:
            cache.cross[self.cache_index] = states
        return self.add(hidden_states, self(read, self.queries(read, own), *states, source, trace))

    def forward(
        self, read: Tensor, queries: Tensor, keys: Tensor, values: Tensor, source: Sequence, trace: list | None
    ) -> Tensor:
        """What the queries of each beam find among the keys of its source, `(B·N, S, T, D)`, for `add`.

        `queries (B·N, S, T, H, E)` were made of `read (B·N, S, T, D)`. `keys (B, S·H, K, E)`, with identities twice as
        wide, and `values (B, S·H, K, E)` are `(B, H, K, E)` if aggregated. `trace` gets the weights.
        """
        batch, streams, length, width = read.shape
        heads, examples, mask = self.heads, keys.shape[0], source.mask
        queries = queries.reshape(examples, batch // examples, streams, length, heads, -1)  # (B, N, S, T, H, E)
        # To (B, S, H, N, T, E), or to (B, H, N, S, T, E) if aggregated; `back` undoes either.
        order, back = (0, 2, 4, 1, 3, 5), (0, 3, 1, 4, 2, 5)
        if self.aggregated:
            order, back = (0, 4, 1, 2, 3, 5), (0, 2, 3, 4, 1, 5)
        queries = queries.permute(order)
        folded = queries.shape
        queries = queries.reshape(examples, keys.shape[1], -1, width // heads)  # (B, H, N·S·T, E) or (B, S·H, N·T, E)
        if mask is not None and (mask.shape[1] > 1 or mask.shape[2] > 1):
            per_head = keys.shape[1] // heads if mask.shape[1] > 1 else 1
            mask = mask.repeat(1, per_head, queries.shape[2] // length if mask.shape[2] > 1 else 1, 1)
        inputs = None
        if self.has_identity:
            keys, beside = keys.chunk(2, dim=-1)
            inputs = beside.unflatten(1, (-1, heads)).transpose(2, 3).flatten(3)  # (B, 1 or S, K, D)
            mask = self._with_gram(read.unflatten(0, (examples, -1)), inputs, mask)
        if trace is not None:  # attention goes on from the returned tensor, so that gradients reach it
            weights = attention_weights(queries, keys, mask)
            grouped = weights.shape
            returned = weights.reshape(*folded[:5], -1).permute(back).reshape(batch, streams, length, heads, -1)
            trace.append(returned.transpose(2, 3))  # (B·N, S, H, T, K)
            weights = trace[-1].transpose(2, 3).reshape(examples, -1, streams, length, heads, grouped[-1])
            weights = weights.permute(order).reshape(grouped)
            attended = weights @ values
        else:
            attended, weights = attend(queries, keys, values, mask, source.eager, self.identity_vo is not None)
        attended = attended.reshape(folded).permute(back).reshape(batch, streams, length, width)
        attended = self.out_proj(attended)  # (B·N, S, T, D)
        if inputs is not None and weights is not None and self.identity_vo is not None:
            factors = (self.config.identity_multiplier * self.identity_vo).to(weights.dtype)
            summed = torch.einsum("bghqk,h->bgqk", weights.unflatten(1, (-1, heads)), factors)
            mixed = summed @ inputs  # (B, 1 or S, queries, D)
            if not self.aggregated:
                mixed = mixed.unflatten(2, (-1, length)).transpose(1, 2)  # (B, N, S, T, D)
            attended = attended + mixed.reshape(attended.shape)
        return attended

    def _with_gram(self, own: Tensor, inputs: Tensor, mask: Tensor | None) -> Tensor | None:
        """`mask` with `a_h x xᵀ` of the queries' inputs `own (B, N, S, T, D)` and the keys' `(B, 1 or S, K, D)`."""
        if self.identity_qk is None:
            return mask
        # (B, 1, N·S·T, D) or (B, S, N·T, D)
        rows = own.flatten(1, 3).unsqueeze(1) if self.aggregated else own.transpose(1, 2).flatten(2, 3)
        gram = (rows @ inputs.transpose(2, 3)).unsqueeze(2)  # (B, 1 or S, 1, queries, K)
        factors = (self.config.identity_multiplier * self.identity_qk).view(-1, 1, 1)
        scores = (gram * factors).flatten(1, 2)  # (B, H or S·H, queries, K)
        if mask is None:
            return scores
        return torch.where(mask, scores, -math.inf) if mask.dtype == torch.bool else scores + mask

    def queries(self, read: Tensor, own: Sequence) -> Tensor:
        """Queries `(B, S, L, H, E)` of what was `read (B, S, L, D)`."""
        placed = read if own.positions is None else read + own.positions
        queries = self.q_proj(placed).unflatten(-1, (self.heads, -1))
        return queries if own.angles is None else rotate(queries, own.angles)

    def key_values(self, hidden_states: Tensor, source: Sequence) -> tuple[Tensor, Tensor]:
        """Keys and values of `hidden_states (B, S, K, D)`, in the shapes that `forward` takes."""
        if self.aggregated:
            hidden_states = aggregate_streams(hidden_states, source.symbol_slots, source.active).unsqueeze(1)
        keys, values = self._projected(hidden_states, source, self.k_proj, self.v_proj)
        return self._with_inputs(_by_head(keys), hidden_states), _by_head(values)

    def _with_inputs(self, keys: Tensor, inputs: Tensor) -> Tensor:
        """`keys` by head, and beside them with identities the `inputs (B, S, K, D)` that they were made of."""
        if not self.has_identity:
            return keys
        return torch.cat((keys, _by_head(inputs.unflatten(-1, (self.heads, -1)))), dim=-1)

    def _projected(self, hidden_states: Tensor, own: Sequence, *projections: nn.Linear) -> tuple[Tensor, Tensor]:
        """Heads `(B, S, L, heads, E)` side by side: of all projections but the last, with positions; of the last."""
        if own.positions is None:
            joined = self._joined(hidden_states, own.joined, *projections)
            first, last = joined.split(((len(projections) - 1) * self.heads, self.heads), dim=3)
        else:
            first = self._joined(hidden_states + own.positions, own.joined, *projections[:-1])
            last = self._joined(hidden_states, own.joined, projections[-1])
        return first if own.angles is None else rotate(first, own.angles), last

    def _joined(self, hidden_states: Tensor, kept: Joined, *projections: nn.Linear) -> Tensor:
        """Heads of all projections side by side, `(B, S, L, projections·H, E)`; one product if they are plain."""
        kept, first = {} if kept is None else kept, projections[0]
        if first not in kept and all(map(is_plain, projections)):
            weight, bias = (torch.cat([getattr(one, name) for one in projections]) for name in ("weight", "bias"))
            kept[first] = weight, bias
        if first in kept:
            joined = nn.functional.linear(hidden_states, *kept[first])
        else:
            joined = torch.cat([projection(hidden_states) for projection in projections], dim=-1)
        return joined.unflatten(-1, (len(projections) * self.heads, -1))


def _by_head(states: Tensor) -> Tensor:
    """`(B, S, L, H, E)` → `(B, S·H, L, E)`."""
    return states.transpose(2, 3).flatten(1, 2)


class FeedForward(ResidualBlock):
    """`W_2 f(W_1 h)`, at every position of every stream."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.fc1 = nn.Linear(config.d_model, config.d_ff)
        self.fc2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACT2FN[config.activation_function]
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Maps `hidden_states (B, S, L, D)` to the same shape."""
        return self.add(hidden_states, self.fc2(self.activation(self.fc1(self.read(hidden_states)))))


class Layer(GradientCheckpointingLayer):
    """Self-attention, in a decoder cross-attention, and feed-forward.

    An encoder's layer has the blocks EP and EA, as far as the configuration lists them; a decoder's the causal DP and
    DA, and behind them CP and CA in the order listed. Source: SIT Algorithms 3 and 4.
    """

    def __init__(self, config: SymbolInvariantConfig, is_decoder: bool, index: int = 0):
        super().__init__()
        listed = config.components or []
        own, cross = (("DP", "DA"), ("CP", "CA")) if is_decoder else (("EP", "EA"), ())

        def blocks(names: Listed[str]) -> nn.ModuleDict:
            places = enumerate(names, index * len(names))
            return nn.ModuleDict({name: Attention(config, name.endswith("A"), place) for place, name in places})

        self.self_attention = blocks([name for name in own if name in listed])
        self.cross_attention = blocks([name for name in listed if name in cross])
        self.feed_forward = FeedForward(config)

    def forward(
        self,
        hidden_states: Tensor,
        own: Sequence,
        encoded: Tensor | None = None,
        source: Sequence | None = None,
        cache: SymbolInvariantCache | None = None,
        traces: Listed[list | None] = (None, None),
    ) -> Tensor:
        """Maps `hidden_states (B·N, S, T, D)` to the same shape; they attend to what was `encoded (B, S, L, D)`.

        `traces` get the weights of each self-attention and of each cross-attention block.
        """
        for block in self.self_attention.values():
            hidden_states = block.to_itself(hidden_states, own, cache, traces[0])
        if encoded is not None and source is not None:
            for block in self.cross_attention.values():
                hidden_states = block.to_source(hidden_states, encoded, own, source, cache, traces[1])
        return self.feed_forward(hidden_states)
