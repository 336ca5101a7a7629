"""How symbols become vectors on the way in, and vectors logits on the way out.

Ids are renamed to **slots** first (`assign`): slot · num_views + view takes the place of referent · num_views + view.
An embedder is two modules that share one parameter, an embedding and a head. With `StreamsEmbedding` the slots of an
example are its symbols in the order of their first appearance, and slot s is seen by stream s; `CanonicalEmbedding` has
the same slots in one stream. With the others, which have one stream too, slot r is referent r, unless rows are
permuted; `ViewsEmbedding` has no slots. `CausalStreamsEmbedding` and `GrowingCanonicalEmbedding` have symbols that come
in while a text grows. Logits have a column per base token and per view of each slot.

Letters: B batch, S streams, K slots (S = K for streams, S = 1 else), L sequence length, D model width, V_n base tokens.
"""

import math
import random
from abc import ABC, abstractmethod
from functools import partial

import torch
from torch import Tensor, nn

from .configuration_symbinv import SymbolInvariantConfig, num_vectors
from .slots_symbinv import Slots, is_exporting, occurred_by, reads_values


def learned_rows(weight: Tensor, config: SymbolInvariantConfig) -> Tensor:
    """The rows of `weight (rows, D)` as they are looked up and projected on, `(rows, D)`."""
    return nn.functional.normalize(weight, dim=1) if config.normalize_embeddings else weight


def random_rows(weight: Tensor, vectors: Tensor, config: SymbolInvariantConfig) -> Tensor:
    """Dual-part rows as they are looked up and projected on, `(V_n + K · num_views, D)`; see `RandomEmbedding`.

    `weight (V_n + num_views, D - D_random)` has the learned part of each base token and, last, of all symbols in each
    view, and `vectors (K, D_random)` the random part of each slot's symbol.
    """
    if config.normalize_parts:
        weight, vectors = (nn.functional.normalize(part, dim=1) for part in (weight, vectors))
    views = config.num_views
    base = nn.functional.pad(weight[:-views], (0, config.random_dim))  # (V_n, D)
    learned = weight[-views:].repeat(len(vectors), 1)  # (K · num_views, D - D_random)
    symbols = torch.cat((learned, vectors.repeat_interleave(views, 0)), dim=1)  # (K · num_views, D)
    rows = torch.cat((base, symbols))
    return nn.functional.normalize(rows, dim=1) if config.normalize_embeddings else rows


def table_of(weight: Tensor, slots: Slots, config: SymbolInvariantConfig) -> Tensor:
    """All rows `(V_n + K · num_views, D)` as they are looked up and projected on, of an embedding's `weight (rows, D)`.

    With random parts they are those of `slots.vectors`.
    """
    return learned_rows(weight, config) if slots.vectors is None else random_rows(weight, slots.vectors, config)


def gaussian_rows(vectors: Tensor, config: SymbolInvariantConfig) -> Tensor:
    """Rows drawn per sequence, `vectors (B, K, D)`, as they are looked up and projected on, `(B, K, D)`."""
    if config.normalize_embeddings:
        return nn.functional.normalize(vectors, dim=2)
    return vectors / math.sqrt(config.d_model)


def embedding_factor(config: SymbolInvariantConfig) -> float:
    """sqrt(D) for looked-up rows (Vaswani et al. 2017, section 3.4), or 1 unscaled or where a LayerNorm follows."""
    return math.sqrt(config.d_model) if config.scale_embedding and not config.embedding_norm else 1.0


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


class StreamsEmbedding(nn.Module):
    """One stream per symbol: its own symbol as the *actual* row, every other symbol as the *placeholder* row.

    `weight` has V_n + 2 rows: base tokens, actual (V_n), placeholder (V_n + 1). With several views it has an actual row
    of each and then a placeholder row of each; the paper has one view.

    Source: SIT Algorithms 1 and 5; normalisations SIT section 3.3; the factor sqrt(D) Vaswani et al. 2017, section 3.4.
    """

    # What is wrong with a label that has no slot.
    unknown = "does not occur in the input, so no stream can predict it"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.base_vocab_size + 2 * config.num_views, config.d_model))

    def assign(self, referents: Tensor, width: int | None = None) -> Slots:
        """Slots for the symbols of `referents (B, L)`, -1 at base tokens, and with `extra_streams` a last one for none.

        There are `width` of them; default as many as the batch needs, or while exporting `num_symbols`.
        """
        if width is None and is_exporting():
            width = max(self.config.num_symbols, 1)
        slots = Slots.in_order(referents, self.config.canonical_slots, width)
        if not self.config.extra_streams:
            return slots
        return Slots.from_referents(nn.functional.pad(slots.referents, (0, 1), value=-1))

    def forward(self, input_ids: Tensor, symbol_slots: Tensor, slots: Slots) -> Tensor:
        """Embeds `input_ids (B, L)` as each stream sees them: `(B, S, L, D)`, times `embedding_factor`, no positions.

        `symbol_slots (B, L)` has the slot of each symbol, -1 at base tokens.
        """
        actual, views = self.config.base_vocab_size, self.config.num_views
        view = 0 if views == 1 else ((input_ids - actual) % views).unsqueeze(1)
        streams = torch.arange(slots.active.shape[1], device=input_ids.device).view(1, -1, 1)  # (1, S, 1)
        is_own = symbol_slots.unsqueeze(1) == streams  # (B, S, L)
        rows = torch.where(input_ids.unsqueeze(1) < actual, input_ids.unsqueeze(1), actual + views + view)
        rows = torch.where(is_own, actual + view, rows)
        return nn.functional.embedding(rows, learned_rows(self.weight, self.config)) * embedding_factor(self.config)


class OneStreamEmbedding(nn.Module, ABC):
    """What the embeddings below share: one stream, and a `weight` for all parts. Source: ITE sections 4.1 and 4.3."""

    unknown = "has no row in this model"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.config, self.num_rows = config, config.num_symbols  # of how many symbols there are rows

    @property
    def shuffles(self) -> bool:
        """Whether two calls of `assign` with the same referents may give other slots."""
        return self.training and self.config.symbol_embedding == "renamed"

    @abstractmethod
    def assign(self, referents: Tensor) -> Slots:
        """Slots for the symbols of `referents (B, L)`, -1 at base tokens."""

    def refuse_unknown(self, referents: Tensor) -> None:
        """Raises a ValueError for any of `referents (B, L)` that has no row."""
        if torch.compiler.is_compiling():
            return
        count, base, kind = self.num_rows, self.config.base_vocab_size, self.config.symbol_embedding
        largest, views = int(referents.max()), self.config.num_views
        if largest >= count:
            more = 'use a model with "streams" or "random"'
            if kind == "random":
                more = "use a model with a larger random_dim"
            elif kind == "gaussian" and self.config.random_share == 1:
                more = "raise num_symbols, on which no weight depends"
            raise ValueError(
                f"symbol id {base + largest * views}: this model has rows for {count} symbols only, ids {base} … "
                f'{base + count * views - 1} (symbol_embedding="{kind}"); rename the symbols if there are few enough, '
                f"else {more}"
            )

    def forward(self, input_ids: Tensor, symbol_slots: Tensor, slots: Slots) -> Tensor:
        """Embeds `input_ids (B, L)` of slots `symbol_slots (B, L)`, -1 at base tokens: `(B, 1, L, D)`, no positions.

        The rows are those of `table_of`, times `embedding_factor`.
        """
        base, views = self.config.base_vocab_size, self.config.num_views
        own = base + symbol_slots if views == 1 else base + symbol_slots * views + (input_ids - base) % views
        # A symbol without a slot is under the mask, where nothing sees it; others were refused.
        rows = torch.where(symbol_slots >= 0, own, input_ids.clamp(max=base - 1))
        table = table_of(self.weight, slots, self.config)
        return nn.functional.embedding(rows, table).unsqueeze(1) * embedding_factor(self.config)


class VocabularyEmbedding(OneStreamEmbedding):
    """One learned row per symbol, or per view of it: a fixed vocabulary of `num_symbols`.

    With `symbol_embedding="renamed"` every forward pass in training permutes the symbols, so all rows are learned. An
    encoder-decoder has one permutation for the batch. Other models, and all with a `random_share` below 1, have one per
    sequence; it moves each symbol of the sequence with that probability, among those that move.

    Source: ITE section 5, baselines of the first and the third type; the share LI appendix G, which leaves open whether
    it is one of symbols or of positions: symbols, so that the result is a renaming.
    """

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.d_model))

    def assign(self, referents: Tensor) -> Slots:
        """Slots for `referents (B, L)`: slot s is referent s, or in training of `renamed` the s-th of a permutation."""
        config, count = self.config, self.config.num_symbols
        self.refuse_unknown(referents)
        if self.shuffles and (config.random_share < 1 or not config.is_encoder_decoder):
            moved = torch.rand(referents.shape[0], count, device=referents.device) < config.random_share
            return Slots.from_referents(permute_some(moved))
        order = torch.randperm(count) if self.shuffles else torch.arange(count)
        return Slots.from_referents(order.to(referents.device).expand(referents.shape[0], -1))


class CanonicalEmbedding(VocabularyEmbedding):
    """Learned rows for the first, the second, ... symbol of each example: canonical names, and one stream.

    Alpha-equivalent inputs are the same tensors, so the renaming law is exact. But what the model learns of the first
    symbol it does not know of the second, and of a row that no example reached in training it knows nothing.

    Source: the canonicalised baseline of the Renamer, section 5.1.
    """

    unknown = "does not occur in the input, and rows belong to symbols of the input"

    def assign(self, referents: Tensor) -> Slots:
        width = self.config.num_symbols if is_exporting() else None
        found = Slots.in_order(referents, self.config.canonical_slots, width).referents
        return Slots.from_referents(self.with_rows(found))

    def with_rows(self, found: Tensor) -> Tensor:
        """The symbols `found (B, K')` in order, and -1 up to the number of rows, `(B, num_symbols)`."""
        missing = self.config.num_symbols - found.shape[1]
        if missing < 0:
            rows = f'{self.config.num_symbols} symbols in one example (symbol_embedding="canonical")'
            said = f"an example has {found.shape[1]} symbols: this model has rows for {rows}"
            raise ValueError(f'{said}; use one with a larger num_symbols, or with "streams"')
        return nn.functional.pad(found, (0, missing), value=-1)


class ViewsEmbedding(OneStreamEmbedding):
    """One learned row per view of a symbol, without its identity. Source: Renamer section 4.1, anonymisation."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.weight = nn.Parameter(torch.empty(config.base_vocab_size + config.num_views, config.d_model))

    def assign(self, referents: Tensor) -> Slots:
        return Slots.from_referents(referents.new_full((referents.shape[0], 1), -1))

    def forward(self, input_ids: Tensor, symbol_slots: Tensor, slots: Slots) -> Tensor:
        """Embeds `input_ids (B, L)` by the rows of their views; `symbol_slots (B, L)` tell nothing."""
        # One set of rows serves all symbols, as if each had slot 0.
        return super().forward(input_ids, torch.where(input_ids < self.config.base_vocab_size, -1, 0), slots)


def coreferent(input_ids: Tensor, attention_mask: Tensor, config: SymbolInvariantConfig) -> Tensor:
    """Where two tokens of `input_ids (B, L)` are coreferential, `(B, L, L)` bool.

    Symbols are if they have the same referent, whatever their views, and base tokens if they are equal. Padding, where
    `attention_mask (B, L)` is 0, is coreferential with itself only.

    Source: Renamer sections 3 and 5.1.
    """
    base = config.base_vocab_size
    named = torch.where(input_ids < base, input_ids, base + (input_ids - base) // config.num_views)
    # Each padding has a name of its own, so that no row of the softmax is empty.
    named = torch.where(attention_mask.bool(), named, -1 - torch.arange(named.shape[1], device=named.device))
    return named.unsqueeze(1) == named.unsqueeze(2)


class RandomEmbedding(OneStreamEmbedding):
    """Dual-part rows: a learned part that all symbols share, and a random part of each symbol's own.

        base token i:  f_fn([f_bn(L_i), 0]),   symbol r:  f_fn([f_bn(α), f_bn(β_r)])

    f_bn is `normalize_parts`, f_fn `normalize_embeddings`. β is drawn again in every forward pass of training, and in
    evaluation once, at the start of a session. `weight` holds L and, last, α; our choice is an α for each view.

    Source: ITE equation 1 and section 4.2.
    """

    unknown = "neither occurs in the input nor is one of the first num_symbols, so it has no row"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        rows = config.base_vocab_size + config.num_views
        self.weight = nn.Parameter(torch.empty(rows, config.d_model - config.random_dim))
        # Logits have a column per symbol up to the largest of the batch, so a huge one is an oversight.
        self.num_rows = int(min(max(2**12, config.num_symbols), num_vectors(config.random_method, config.random_dim)))
        self._draw = partial(random_vectors, config.random_method, config.random_dim)
        self.start_session(0)

    def start_session(self, seed: int) -> None:
        """Draws the random part of every symbol for the evaluation to come; a new model starts with seed 0."""
        self.session_vectors = self._draw(self.num_rows, torch.Generator("cpu").manual_seed(seed))

    def assign(self, referents: Tensor) -> Slots:
        """Slots for `referents (B, L)`: slot r is referent r; an example has those of training and its own."""
        self.refuse_unknown(referents)
        known = self.config.num_symbols
        width = known if is_exporting() else max(known, int(referents.max()) + 1)
        # Symbols of other examples do not count: an answer does not depend on what shares the batch.
        table = referents.new_full((referents.shape[0], 1 + width), -1)
        table[:, 1 : 1 + known] = torch.arange(known)
        table = table.scatter(1, 1 + referents, referents)[:, 1:]  # place 0 takes base tokens
        vectors = self._draw(width) if self.training else self.session_vectors[:width]
        return Slots.from_referents(table, vectors.to(self.weight))


def permute_some(moved: Tensor) -> Tensor:
    """A random permutation per row, `(B, K)` int64, that leaves a place alone unless `moved (B, K)` bool."""
    places = torch.arange(moved.shape[1], device=moved.device).expand(moved.shape)
    # Those that move come first, in the order of their places and in a random order; the others follow in order.
    by_place = (places + ~moved * moved.shape[1]).argsort(1)
    shuffled = torch.where(moved, torch.rand(moved.shape, device=moved.device), 1.0 + places).argsort(1)
    return torch.empty_like(places).scatter_(1, by_place, shuffled)


class GaussianEmbedding(OneStreamEmbedding):
    """A standard normal row per symbol and sequence; base tokens have learned rows.

        h_0 = s E x + c,   logits = h Eᵀ / sqrt(D),   E ~ N(0, I)

    s and c, of width D each (the paper does not say), are learned. E is drawn in every call of `assign`, in evaluation
    too. With a `random_share` below 1 every symbol also has a learned row, which evaluation always takes. `weight`
    holds these rows divided by sqrt(D), so their first logits are as large as those of random ones.

    Source: LI section 2 and appendices B and G; the factor 1 / sqrt(D) is our choice, so that logits start near 1.
    """

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        learned = config.num_symbols if config.random_share < 1 else 0
        self.weight = nn.Parameter(torch.empty(config.base_vocab_size + learned, config.d_model))
        self.scale = nn.Parameter(torch.empty(config.d_model))
        self.bias = nn.Parameter(torch.empty(config.d_model))

    def draw(self, batch: int, generator: torch.Generator | None = None) -> Tensor:
        """Rows `(batch, num_symbols, D)` of the symbols of so many sequences; on the generator's device if given."""
        config, device = self.config, self.weight.device
        shape = (batch, config.num_symbols, config.d_model)
        learned = self.weight[config.base_vocab_size :] * math.sqrt(config.d_model)
        if len(learned) and not self.training:
            return learned.expand(shape)
        # A compiled graph of any batch size takes no `generator=None`.
        options = {"device": device} if generator is None else {"device": generator.device, "generator": generator}
        rows = torch.randn(shape, dtype=self.weight.dtype, **options).to(device)
        if not len(learned):
            return rows
        is_random = torch.rand(shape[:2], **options).to(device) < config.random_share
        return torch.where(is_random.unsqueeze(2), rows, learned)

    def assign(self, referents: Tensor) -> Slots:
        """Slots for `referents (B, L)`: slot s is referent s, with a new draw."""
        self.refuse_unknown(referents)
        order = torch.arange(self.config.num_symbols, device=referents.device)
        return Slots.from_referents(order.expand(referents.shape[0], -1), self.draw(referents.shape[0]))

    def forward(self, input_ids: Tensor, symbol_slots: Tensor, slots: Slots) -> Tensor:
        """Embeds `input_ids (B, L)` of slots `symbol_slots (B, L)` by base rows and by those that were drawn."""
        # Neither here nor in `GaussianHead` is the table of base tokens copied per sequence.
        base_rows = learned_rows(self.weight[: self.config.base_vocab_size], self.config)
        base = nn.functional.embedding(input_ids.clamp(max=self.config.base_vocab_size - 1), base_rows)  # (B, L, D)
        index = symbol_slots.clamp(min=0).unsqueeze(2).expand(-1, -1, base.shape[2])
        own = gaussian_rows(slots.vectors, self.config).gather(1, index)  # (B, L, D)
        rows = torch.where((symbol_slots >= 0).unsqueeze(2), own, base)
        return (rows * (math.sqrt(self.config.d_model) * self.scale) + self.bias).unsqueeze(1)


class CausalStreamsEmbedding(StreamsEmbedding):
    """Identical to StreamsEmbedding except: slot 0 is the anonymous stream, and streams are active from a place on.

    Source: SIT Algorithm 5; the anonymous stream is our own.
    """

    @reads_values
    def assign(self, referents: Tensor, known: Tensor | None = None) -> Slots:
        """As `Slots.coming_in`, for `referents (B, T)` behind those that are `known (B, S')`; not for export."""
        _refuse_export()
        return Slots.coming_in(referents, known, self.config.canonical_slots)


class GrowingCanonicalEmbedding(CanonicalEmbedding):
    """Identical to CanonicalEmbedding except: a symbol of an answer takes the next free row from its place on.

    Source: our choice, so that canonical names stay a baseline where answers have symbols of their own.
    """

    @reads_values
    def assign(self, referents: Tensor, known: Tensor | None = None) -> Slots:
        """Slots for the symbols of `referents (B, T)` behind those that are `known (B, K)`, with `active (B, K, T)`."""
        _refuse_export()
        if known is None:
            found, joined = super().assign(referents).referents, referents
        else:
            joined = torch.cat((known, referents), dim=1)
            found = self.with_rows(Slots.in_order(joined).referents)
        return Slots(found, occurred_by(found, joined)[:, :, -referents.shape[1] :])


def _refuse_export() -> None:
    if is_exporting():
        why = "torch.export: symbols come in while a text grows, so a graph has no fixed number of streams"
        raise ValueError(f"{why}; export an encoder-decoder without num_fresh_symbols, or a decoder without streams")


def random_vectors(method: str, width: int, count: int, generator: torch.Generator | None = None) -> Tensor:
    """Draws `(count, width)` random parts, float32; on the CPU, as is the `generator`. Refuses more than there are.

    They are standard normal (`normal`), or uniformly of the points {-1, 0, 1}^width but 0 (`neighbors`) or of the
    corners {-1, 1}^width (`hypercube`), of which no two are the same while they have at most 32 dimensions. Points are
    integers whose digits are the coordinates, so no set is materialised.

    Source: ITE section 4.2.
    """
    if method == "normal":
        return torch.randn(count, width, generator=generator, device="cpu")
    values, limit = (2 if method == "hypercube" else 3), num_vectors(method, width)
    if count > limit:
        said = f"{count} vectors: random_method={method!r} with random_dim={width} has {limit} different ones"
        raise ValueError(f"{said}; use fewer symbols or a larger random_dim")
    if limit == math.inf:
        digits = torch.randint(values, (count, width), generator=generator, device="cpu")
    else:
        seed = int(torch.randint(2**62, (), generator=generator, device="cpu"))
        numbers = torch.tensor(random.Random(seed).sample(range(int(limit)), count), dtype=torch.long, device="cpu")
        if values == 3:  # skip the zero vector, all of whose digits are 1
            numbers = numbers + (numbers >= (3**width - 1) // 2)
        digits = numbers.unsqueeze(1) // values ** torch.arange(width, device="cpu") % values
    return (2 * digits - 1 if values == 2 else digits - 1).float()


Embedding = StreamsEmbedding | VocabularyEmbedding | RandomEmbedding | GaussianEmbedding | ViewsEmbedding
GrowingEmbedding = CausalStreamsEmbedding | GrowingCanonicalEmbedding


def make_embedding(config: SymbolInvariantConfig) -> Embedding:
    """The embedding that `config.symbol_embedding` names, where symbols come in while a text grows one that grows."""
    grows = config.answers_have_new_symbols or config.kind == "decoder-only"
    own: dict[str, type[Embedding]] = {
        "streams": CausalStreamsEmbedding if grows else StreamsEmbedding,
        "canonical": GrowingCanonicalEmbedding if grows else CanonicalEmbedding,
        "random": RandomEmbedding,
        "gaussian": GaussianEmbedding,
        "views": ViewsEmbedding,
    }
    return own.get(config.symbol_embedding, VocabularyEmbedding)(config)


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
    """Projects on the rows of base tokens and symbols, see `table_of`."""

    def forward(self, hidden_states: Tensor, slots: Slots) -> Tensor:
        logits = self.features(hidden_states).squeeze(1) @ table_of(self.weight, slots, self.config).T
        missing = ~slots.writable.transpose(1, 2).repeat_interleave(self.config.num_views, 2)
        missing = nn.functional.pad(missing, (self.config.base_vocab_size, 0))  # (B, 1 or L, V_n + K · num_views)
        return logits.masked_fill(missing, -math.inf)


class GaussianHead(Head):
    """Projects on the learned rows of base tokens and on the rows of this sequence's symbols. Source: LI section 2."""

    def forward(self, hidden_states: Tensor, slots: Slots) -> Tensor:
        hidden_states = self.features(hidden_states).squeeze(1)  # (B, L, D)
        base = hidden_states @ learned_rows(self.weight[: self.config.base_vocab_size], self.config).T  # (B, L, V_n)
        symbols = hidden_states @ gaussian_rows(slots.vectors, self.config).transpose(1, 2)  # (B, L, num_symbols)
        return torch.cat((base, symbols), dim=-1)


def make_head(config: SymbolInvariantConfig, weight: nn.Parameter) -> Head:
    """The head that `config.symbol_embedding` names, for an embedding of `weight (rows, D)`.

    Its own weight is empty until `post_init` ties the two: else a checkpoint without either would load without a word.
    """
    own: dict[str, type[Head]] = {"streams": StreamsHead, "gaussian": GaussianHead}
    return own.get(config.symbol_embedding, VocabularyHead)(config, nn.Parameter(torch.empty_like(weight)))
