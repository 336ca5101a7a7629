"""The oracle of the model's tests: Algorithms 1-5 of the Symbol-Invariant Transformer paper, written out as loops, and
for models with one stream the embedding matrix of Interchangeable Token Embeddings.

Everything is numpy in float64, one example at a time, without padding, without a cache and without a batch: slow and
obvious. Only the names of the weights are those of the model under test.

Letters, as in the paper: k streams, L length, d width, V_n base tokens, W the embedding matrix, M or A the token masks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from transformers.models.t5.modeling_t5 import T5Attention

Array = np.ndarray


@dataclass
class Answer:
    """What the oracle computes for one example.

    Attributes:
        referents: the k referents in the order of their first appearance, empty for the anonymous stream; with one
            stream those that have a row, in ascending order.
        features: `(streams, T, d)`, the decoder's last hidden states.
        cosines: `(T, V_n + k · num_views)`, the projection before the AdaCos scale.
        logits: the same, scaled.
        attentions: name of a block, such as `decoder.layers.0.cross_attention.CP` → weights `(streams, heads, T, K)`.
        encoder_states, decoder_states: `(streams, L, d)`, the embeddings and the output of each layer.
    """

    referents: list[int]
    features: Array
    cosines: Array
    logits: Array
    attentions: dict[str, Array] = field(default_factory=dict)
    encoder_states: list[Array] = field(default_factory=list)
    decoder_states: list[Array] = field(default_factory=list)


class Reference:
    """A model of the paper with the weights and the configuration of `model`."""

    def __init__(self, model: torch.nn.Module):
        self.config = model.config
        self.weights = {name: tensor.detach().double().numpy() for name, tensor in model.state_dict().items()}
        self.attentions: dict[str, Array] = {}

    def answer(self, source: list[int], target: list[int]) -> Answer:
        """Runs the model on the ids of one input and of the answer so far, start token included."""
        config, referents = self.config, self.number([*source, *target])
        self.attentions = {}
        encoded, encoder_masks = self.embed(source, referents)
        positions = self.encoder_positions(source)
        encoded = encoded + positions
        encoder_states = [encoded]
        for _ in range(config.encoder_passes):
            for layer in range(config.encoder_layers):
                encoded = self.encoder_layer(f"model.encoder.layers.{layer}", encoded, encoder_masks, positions)
                encoder_states.append(encoded)
        encoded = encoder_states[-1] = self.after("model.encoder", encoded)
        hidden, masks = self.embed(target, referents)
        hidden = hidden + self.decoder_positions(len(target))
        decoder_states = [hidden]
        for layer in range(config.decoder_layers):
            name, view = f"model.decoder.layers.{layer}", partial(aggregate, masks=masks)
            hidden = self.decoder_layer(name, hidden, view, encoded, aggregate(encoded, encoder_masks))
            decoder_states.append(hidden)
        hidden = decoder_states[-1] = self.after("model.decoder", hidden)
        cosines = self.project(hidden, len(referents))
        return Answer(referents, hidden, cosines, cosines * self.scale, self.attentions, encoder_states, decoder_states)

    def split(self, token: int) -> tuple[int | None, int]:
        """Referent and view of a token, whose id is V_n + referent · num_views + view; (None, its id) without one."""
        base, views = self.config.base_vocab_size, self.config.num_views
        return (None, token) if token < base else divmod(token - base, views)

    def number(self, tokens: list[int]) -> list[int]:
        """The referents of `tokens` in the order of their first appearance."""
        return list(dict.fromkeys(self.split(token)[0] for token in tokens if token >= self.config.base_vocab_size))

    def table(self) -> Array:
        """The embedding matrix W, its rows L2-normalised if the configuration says so."""
        rows = self.weights["model.embedding.weight"]
        return unit(rows) if self.config.normalize_embeddings else rows

    @property
    def factor(self) -> float:
        """What looked-up rows are multiplied by: sqrt(d), or nothing."""
        config = self.config
        return math.sqrt(config.d_model) if config.scale_embedding and not config.embedding_norm else 1.0

    @property
    def scale(self) -> float:
        """What cosines are multiplied by."""
        return float(self.weights["adacos.scale"]) if self.config.loss == "adacos" else 1.0

    def features(self, hidden: Array) -> Array:
        """Hidden states `(k, L, d)` as they are projected, L2-normalised if the configuration says so."""
        return unit(hidden) if self.config.normalize_features else hidden

    def decoder_positions(self, length: int) -> Array:
        """What is added to the embeddings of the decoder, `(T, d)`."""
        width = self.config.d_model
        if self.config.decoder_positions == "sinusoidal":
            return np.stack([sinusoid(position, width) for position in range(length)])
        return np.zeros((length, width))

    def embed(self, tokens: list[int], streams: Sequence[int | None]) -> tuple[Array, Array]:
        """Algorithm 1, times `factor`: what the stream of each referent sees, and the token masks.

        Without referents there is one stream that belongs to no token ("Edge case" of Appendix A), as that of None.
        Each view has an actual and a placeholder row, first all the actual ones.
        """
        base, views, table = self.config.base_vocab_size, self.config.num_views, self.table()
        embeddings, masks = [], []
        for own in streams or [None]:
            modified, mask = [], []
            for referent, view in map(self.split, tokens):
                mask.append(float(referent is not None and referent == own))
                modified.append(view if referent is None else base + view if referent == own else base + views + view)
            embeddings.append([table[token] * self.factor for token in modified])
            masks.append(mask)
        return np.array(embeddings), np.array(masks)

    def encoder_positions(self, tokens: list[int]) -> Array:
        """What is added to the embeddings of the encoder, `(L, d)`."""
        width = self.config.d_model
        if self.config.encoder_positions == "learned":
            return self.weights["model.encoder.positions.weight"][: len(tokens)]
        if self.config.encoder_positions == "sinusoidal":
            return np.stack([sinusoid(position, width) for position in range(len(tokens))])
        if self.config.encoder_positions == "tree":
            arity = [self.config.token_arity.get(t) if t < self.config.base_vocab_size else 0 for t in tokens]
            return np.stack([padded(path, width) for path in tree_paths(arity)])
        return np.zeros((len(tokens), width))

    def encoder_layer(
        self, name: str, hidden: Array, masks: Array, positions: Array, visible: Array | None = None
    ) -> Array:
        """Algorithm 3; `visible (L, L)` where tokens may attend if not everywhere."""
        placed = positions if self.config.encoder_positions_in_layers else 0 * positions
        everywhere = np.ones((hidden.shape[1], hidden.shape[1]), dtype=bool) if visible is None else visible
        rotary = self.config.encoder_positions == "rope"
        for mode in [mode for mode in ("EP", "EA") if mode in self.config.components]:
            block = f"{name}.self_attention.{mode}"
            read = self.before(block, hidden)
            keys = list(read) if mode == "EP" else [aggregate(read, masks)] * len(read)
            hidden = self.after(block, hidden + self.attention(block, read, keys, everywhere, rotary, placed))
        return self.feed_forward(f"{name}.feed_forward", hidden)

    def decoder_layer(
        self, name: str, hidden: Array, view: Callable[[Array], Array], encoded: Array, encoded_view: Array
    ) -> Array:
        """Algorithm 4; `view` aggregates streams of the decoder, and `encoded_view` is the encoder's, aggregated."""
        length, rotary = hidden.shape[1], self.config.decoder_positions == "rope"
        look_ahead = np.array([[key <= query for key in range(length)] for query in range(length)])
        everywhere = np.ones((length, encoded.shape[1]), dtype=bool)
        for mode in [mode for mode in ("DP", "DA") if mode in self.config.components]:
            block = f"{name}.self_attention.{mode}"
            read = self.before(block, hidden)
            keys = list(read) if mode == "DP" else [view(read)] * len(read)
            hidden = self.after(block, hidden + self.attention(block, read, keys, look_ahead, rotary))
        for mode in [mode for mode in self.config.components if mode in ("CP", "CA")]:
            block = f"{name}.cross_attention.{mode}"
            read = self.before(block, hidden)
            keys = list(encoded) if mode == "CP" else [encoded_view] * len(hidden)
            hidden = self.after(block, hidden + self.attention(block, read, keys, everywhere, rotary))
        return self.feed_forward(f"{name}.feed_forward", hidden)

    def project(self, hidden: Array, k: int) -> Array:
        """Algorithm 5 with `features`; k = 0 has base tokens only."""
        base, views, table = self.config.base_vocab_size, self.config.num_views, self.table()
        projected = [stream @ table.T for stream in self.features(hidden)]
        logits = np.full((hidden.shape[1], base + k * views), np.nan)
        for token in range(base):
            logits[:, token] = sum(stream[:, token] for stream in projected) / len(projected)
        for i in range(k):
            for view in range(views):
                logits[:, base + i * views + view] = projected[i][:, base + view]
        return logits

    def attention(
        self, block: str, queries: Array, keys: list[Array], mask: Array, rotary: bool, placed: Array | float = 0.0
    ) -> Array:
        """MHA of each stream of `queries (k, T, d)` to its `keys (K, d)`, without residual and norm; Vaswani 2017.

        `placed (T, d)` is added to both before they are projected, as in appendix A.4 of Carion et al. 2020.
        """
        heads, width = self.config.num_attention_heads, self.config.d_model // self.config.num_attention_heads
        streams, length = queries.shape[:2]
        joined, added = np.zeros(queries.shape), np.zeros(queries.shape)
        identity = np.eye(self.config.d_model) * self.config.identity_multiplier
        is_biased = ".decoder." in block and "cross_attention" not in block
        relative = self.weights.get("model.decoder.relative_bias.weight") if is_biased else None
        weights = np.zeros((streams, heads, length, len(keys[0])))
        for i in range(streams):
            q, key, value = (
                self.linear(f"{block}.{name}", x)
                for name, x in (("q_proj", queries[i] + placed), ("k_proj", keys[i] + placed), ("v_proj", keys[i]))
            )
            for head in range(heads):
                part = slice(head * width, (head + 1) * width)
                q_head, k_head = q[:, part], key[:, part]
                if rotary:
                    q_head = np.stack([rotated(x, m, self.config.rope_theta) for m, x in enumerate(q_head)])
                    k_head = np.stack([rotated(x, n, self.config.rope_theta) for n, x in enumerate(k_head)])
                for t in range(length):
                    visible = np.flatnonzero(mask[t])
                    scores = k_head[visible] @ q_head[t] / math.sqrt(width)
                    if self.config.identity_qk:  # a I beside W_K W_Q^T
                        matrix = self.weights[f"{block}.identity_qk"][head] * identity
                        scores = scores + keys[i][visible] @ matrix @ queries[i, t]
                    if relative is not None:
                        scores = scores + [relative[t5_bucket(t - n), head] for n in visible]
                    weights[i, head, t, visible] = np.exp(scores) / np.sum(np.exp(scores))
                    joined[i, t, part] = weights[i, head, t] @ value[:, part]
                    if self.config.identity_vo:  # b I beside W_V W_O
                        matrix = self.weights[f"{block}.identity_vo"][head] * identity
                        added[i, t] += weights[i, head, t] @ keys[i] @ matrix
        self.attentions[block.removeprefix("model.")] = weights
        return np.stack([self.linear(f"{block}.out_proj", x) for x in joined]) + added

    def feed_forward(self, block: str, hidden: Array) -> Array:
        """The position-wise feed-forward block with residual and norm."""
        read = self.before(block, hidden)
        out = [self.linear(f"{block}.fc2", np.maximum(self.linear(f"{block}.fc1", stream), 0)) for stream in read]
        return self.after(block, hidden + np.stack(out))

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def before(self, block: str, hidden: Array) -> Array:
        """What a block reads; Xiong et al. 2020, Figure 1."""
        return self.layer_norm(f"{block}.norm", hidden) if self.config.norm_first else hidden

    def after(self, block: str, hidden: Array) -> Array:
        """What a block, or with `norm_first` a whole stack, makes of its sum."""
        is_block = "layers" in block
        return hidden if self.config.norm_first == is_block else self.layer_norm(f"{block}.norm", hidden)

    def layer_norm(self, name: str, hidden: Array) -> Array:
        """LayerNorm over the last axis; Ba et al. 2016."""
        mean = hidden.mean(-1, keepdims=True)
        variance = ((hidden - mean) ** 2).mean(-1, keepdims=True)
        scaled = (hidden - mean) / np.sqrt(variance + self.config.layer_norm_eps)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


class OneStreamReference(Reference):
    """A model with one stream: `learned` and `renamed` have a row per symbol, `random` the matrix of equation 1.

    Args:
        model: gives weights and configuration.
        vectors: the β of every referent, for `random`.
    """

    def __init__(self, model: torch.nn.Module, vectors: dict[int, Array] | None = None):
        super().__init__(model)
        self.vectors, self.referents = vectors, []

    def number(self, tokens: list[int]) -> list[int]:
        """The referents that have a row, by row: the first `num_symbols`, for `random` also those of `tokens`."""
        self.referents = list(range(self.config.num_symbols))
        if self.vectors is not None:
            self.referents = sorted({*self.referents, *super().number(tokens)})
        return self.referents

    def table(self) -> Array:
        """The matrix U of equation 1, for base tokens and `self.referents`."""
        if self.vectors is None:
            return super().table()

        f_bn = unit if self.config.normalize_parts else np.array
        f_fn = unit if self.config.normalize_embeddings else np.array
        learned, alphas = np.split(self.weights["model.embedding.weight"], [self.config.base_vocab_size])
        zeros = np.zeros(self.config.random_dim)
        rows = [[*f_bn(row), *zeros] for row in learned]
        for referent in self.referents:
            rows += [[*f_bn(alpha), *f_bn(self.vectors[referent])] for alpha in alphas]
        return np.stack([f_fn(np.array(row)) for row in rows])

    def place(self, token: int) -> int:
        """The row of a token."""
        referent, view = self.split(token)
        base, views = self.config.base_vocab_size, self.config.num_views
        return token if referent is None else base + self.referents.index(referent) * views + view

    def embed(self, tokens: list[int], streams: Sequence[int | None]) -> tuple[Array, Array]:
        """The row of each token, times `factor`; the one stream belongs to no token."""
        table = self.table()
        rows = np.stack([table[self.place(token)] * self.factor for token in tokens])
        return rows[None], np.zeros((1, len(tokens)))

    def project(self, hidden: Array, k: int) -> Array:
        """U f_fn(v), the feature vectors v being `features`."""
        return np.stack([[row @ v for row in self.table()] for v in self.features(hidden)[0]])


class CausalReference(Reference):
    """A decoder without encoder; `vectors (num_symbols, d)` are the rows drawn for `gaussian`."""

    def __init__(self, model: torch.nn.Module, vectors: Array | None = None):
        super().__init__(model)
        self.vectors = vectors

    def table(self) -> Array:
        """E / sqrt(d) for `gaussian`, so that the projection is h E^T / sqrt(d)."""
        if self.vectors is None:
            return super().table()
        rows = [*self.weights["model.embedding.weight"][: self.config.base_vocab_size]]
        rows += list(self.vectors / math.sqrt(self.config.d_model))
        return unit(np.stack(rows)) if self.config.normalize_embeddings else np.stack(rows)

    def read(self, tokens: list[int]) -> Array:
        """The logits `(T, V)` after every token."""
        config, table = self.config, self.table()
        hidden = np.stack([table[token] * self.factor for token in tokens])
        if self.vectors is not None:
            hidden = hidden * self.weights["model.embedding.scale"] + self.weights["model.embedding.bias"]
        hidden = (hidden + self.decoder_positions(len(tokens)))[None]
        for layer in range(config.decoder_layers):
            hidden = self.decoder_layer(f"model.decoder.layers.{layer}", hidden, aggregate, hidden, hidden)
        return self.features(self.after("model.decoder", hidden))[0] @ table.T * self.scale


class EncoderReference(OneStreamReference):
    """An encoder without decoder."""

    def number(self, tokens: list[int]) -> list[int]:
        """The referents that have a stream, or a row, in its order."""
        has_all = self.config.symbol_embedding in ("learned", "renamed")
        self.referents = list(range(self.config.num_symbols)) if has_all else Reference.number(self, tokens)
        return self.referents

    def place(self, token: int) -> int:
        """With `views` all symbols share the rows of the first."""
        referent, view = self.split(token)
        is_shared = referent is not None and self.config.symbol_embedding == "views"
        return self.config.base_vocab_size + view if is_shared else super().place(token)

    def read(self, tokens: list[int]) -> tuple[Array, Array]:
        """The last hidden states and the token masks."""
        config = self.config
        kind = Reference if config.symbol_embedding == "streams" else OneStreamReference
        hidden, masks = kind.embed(self, tokens, self.number(tokens))
        positions = self.encoder_positions(tokens)
        hidden = hidden + positions
        if config.embedding_norm:
            hidden = self.layer_norm("model.embedding_norm", hidden)
        named = [(referent, view if referent is None else None) for referent, view in map(self.split, tokens)]
        coreferent = np.array([[one == other for other in named] for one in named])
        for number in range(config.encoder_passes * config.encoder_layers):
            visible = coreferent if number == 0 and config.symbol_embedding == "views" else None
            name = f"model.encoder.layers.{number % config.encoder_layers}"
            hidden = self.encoder_layer(name, hidden, masks, positions, visible)
        return self.after("model.encoder", hidden), masks

    def predict(self, tokens: list[int]) -> Array:
        """The pooled prediction `(labels,)`."""
        hidden, _ = self.read(tokens)
        mean = sum(hidden) / len(hidden)
        if self.config.pooling == "pooler":
            return self.linear("classifier", np.tanh(self.linear("pooler", mean[:1])))[0]
        outputs = self.linear("classifier", mean)
        return {"sum": sum(outputs), "mean": sum(outputs) / len(outputs), "first": outputs[0]}[self.config.pooling]

    def classify(self, tokens: list[int]) -> Array:
        """The logits `(L, labels)` of each token's classes."""
        hidden, masks = self.read(tokens)
        return self.linear("classifier", aggregate(hidden, masks))

    def fill(self, tokens: list[int]) -> list[dict[int, float]]:
        """For each place the logit of every id that it can have."""
        table, base, views = self.table(), self.config.base_vocab_size, self.config.num_views
        hidden, _ = self.read(tokens)
        hidden = self.features(hidden) * self.scale
        mean, filled = sum(hidden) / len(hidden), []
        for place in range(len(tokens)):
            logits = {token: mean[place] @ table[token] for token in range(base)}
            for index, referent in enumerate(self.referents):
                for view in range(views):
                    token = base + referent * views + view
                    if self.config.symbol_embedding == "streams":
                        logits[token] = hidden[index, place] @ table[base + view]
                    else:
                        logits[token] = mean[place] @ table[base + index * views + view]
            filled.append(logits)
        return filled


def unit(rows: Array) -> Array:
    """Vectors of length 1 along the last axis."""
    return rows / np.sqrt(np.sum(rows**2, axis=-1, keepdims=True))


def t5_bucket(distance: int) -> int:
    """The bucket of a distance back from the query, by the code of T5 itself."""
    relative = torch.tensor([-distance])
    return int(T5Attention._relative_position_bucket(relative, bidirectional=False, num_buckets=32, max_distance=128))


def aggregate(hidden: Array, masks: Array) -> Array:
    """Algorithm 2: `(k, L, d)` and `(k, L)` → `(L, d)`."""
    aggregated = sum(hidden[i] for i in range(len(hidden))) / len(hidden)
    for i in range(len(hidden)):
        own = masks[i][:, None]
        aggregated = aggregated * (1 - own) + hidden[i] * own
    return aggregated


def rotated(x: Array, position: int, theta: float) -> Array:
    """Rotates the pairs (x_j, x_{j + d/2}) by position · theta^(-2j/d); Su et al. 2024, with halves for neighbours."""
    half = len(x) // 2
    out = np.zeros(len(x))
    for j in range(half):
        angle = position * theta ** (-2 * j / len(x))
        z = complex(x[j], x[j + half]) * complex(math.cos(angle), math.sin(angle))
        out[j], out[j + half] = z.real, z.imag
    return out


def sinusoid(position: int, width: int) -> Array:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same; Vaswani et al. 2017, section 3.5."""
    out = np.zeros(width)
    for i in range(width // 2):
        angle = position / 10000 ** (2 * i / width)
        out[2 * i], out[2 * i + 1] = math.sin(angle), math.cos(angle)
    return out


def tree_paths(arity: list[int | None]) -> list[list[int]]:
    """The path of each token of a prefix formula: (1, 0) to a left or only child, (0, 1) to a right one, nearest first.

    Tokens without arity get [], and all tokens if the text is not exactly one formula.
    """
    paths: list[list[int]] = [[] for _ in arity]
    tokens = [j for j, children in enumerate(arity) if children is not None]

    def read(at: int, path: list[int]) -> int:
        """Reads the formula that starts at `tokens[at]`; returns where it ends."""
        paths[tokens[at]] = path
        end = at + 1
        for child in range(arity[tokens[at]]):
            end = read(end, ([1, 0] if child == 0 else [0, 1]) + path)
        return end

    try:
        if tokens and read(0, []) == len(tokens):
            return paths
    except IndexError:  # a formula that ends too early
        pass
    return [[] for _ in arity]


def padded(path: list[int], width: int) -> Array:
    """A path followed by zeros, or cut, to `width`."""
    return np.array([*path, *[0] * width][:width], dtype=float)


def adacos_scale(scale: float, cosines: list[list[float]], targets: list[int]) -> float:
    """One update of the dynamically adaptive scale: Zhang et al. 2019, equations 9 and 10, clipped at 100.

    B = 1/N · sum over i, k ≠ y_i of exp(s_{t-1} · cos θ_{i,k});  s_t = log B / cos(min(π/4, median of θ_{i,y_i}))

    Args:
        scale: s_{t-1}.
        cosines: a row per label, -inf for classes that do not exist.
        targets: the class of each row; an odd number of them, so that there is one median.
    """
    rows = list(zip(cosines, targets, strict=True))
    total = sum(math.exp(scale * cosine) for row, own in rows for k, cosine in enumerate(row) if k != own)
    median = sorted(math.acos(min(1.0, max(-1.0, row[own]))) for row, own in rows)[len(rows) // 2]
    return min(100.0, math.log(total / len(targets)) / math.cos(min(math.pi / 4, median)))


def cross_entropy(logits: list[list[float]], targets: list[int]) -> float:
    """Mean of -log softmax(logits)[target]."""
    rows = zip(logits, targets, strict=True)
    return sum(math.log(sum(map(math.exp, row))) - row[target] for row, target in rows) / len(targets)
