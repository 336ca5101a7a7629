"""The decoder-only language model: symbols with streams, or whose vectors are drawn per sequence, learned, or permuted.

Read `base_symbinv.py` first, `embedding_symbinv.py` for embedders, and for streams `slots_symbinv.py`.

Letters: B batch, S streams, K slots (= num_symbols, with streams S), T length, D model width, V_n base tokens.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .arguments_symbinv import Settings
from .base_symbinv import (
    Decoder,
    SymbolInvariantOutput,
    SymbolInvariantPreTrainedModel,
    TokenHeadModel,
    require_one_per_token,
)
from .cache_symbinv import SymbolInvariantCache
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import CausalStreamsEmbedding, GaussianEmbedding, make_embedding
from .generation_symbinv import Beginning, SlotGenerationMixin, new_symbols
from .slots_symbinv import (
    NOT_BY_NAME,
    Names,
    Slots,
    check_source,
    inferred_mask,
    referents_of,
    refuse_embeddings,
    refuse_taken_labels,
    slots_to_ids,
)


class SymbolInvariantDecoder(SymbolInvariantPreTrainedModel):
    """A causal decoder with its embedder, without projection."""

    kind = "decoder-only"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.embedding = make_embedding(config)
        self.dropout = nn.Dropout(config.dropout)
        self.decoder = Decoder(config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: SymbolInvariantCache | None = None,
        slot_vectors: Tensor | None = None,
        slot_referents: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        inputs_embeds: None = None,
        cache: SymbolInvariantCache | None = None,
    ) -> SymbolInvariantOutput | tuple:
        """Reads a batch: `input_ids (B, T)`, `attention_mask (B, past + T)`, `slot_vectors (B, K, D)`,
        `slot_referents (B, K)` and the others are as for `SymbolInvariantForCausalLM.forward`.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds)
        check_source(input_ids, None)
        known = self._cache(past_key_values, cache, use_cache)
        past = 0 if known is None else known.get_seq_length()
        referents = referents_of(input_ids, self.config.base_vocab_size)
        attention_mask = self._mask(input_ids, attention_mask, past, known)
        if isinstance(self.embedding, CausalStreamsEmbedding):
            refuse_rows(slot_vectors=slot_vectors, slot_referents=slot_referents)
            slots = self.grown(referents, None, attention_mask, known)
            symbol_slots = slots.of(referents)
        else:
            slots, symbol_slots = self._slots(referents, slot_vectors, slot_referents, past > 0)
        (trace,) = self._traces(output_attentions, 1)
        states = self._decode(input_ids, symbol_slots, slots, attention_mask, known, (trace, None))
        hidden, attentions = self._recorded(states, output_hidden_states, trace)
        output = SymbolInvariantOutput(
            last_hidden_state=states[-1],
            cache=known,
            hidden_states=hidden,
            attentions=attentions,
            slot_referents=slots.referents,
            slot_vectors=slots.vectors,
            slot_active=slots.active if slots.by_place else None,
        )
        return self._as_wanted(output, return_dict)

    def _mask(
        self, input_ids: Tensor, attention_mask: Tensor | None, past: int, cache: SymbolInvariantCache | None
    ) -> Tensor | None:
        """The mask `(B, past + T)` as it was given, or as padding tokens and the cache tell; None if neither does."""
        batch, length = input_ids.shape
        if attention_mask is None:
            own = inferred_mask(input_ids, self.config)
            before = None if cache is None else cache.mask
            if own is not None or before is not None:
                own = input_ids.new_ones(batch, length) if own is None else own
                before = own.new_ones(batch, past) if before is None else before
                attention_mask = torch.cat((before, own), dim=1)
        elif attention_mask.shape != (batch, past + length):
            shapes = f"attention_mask has shape {tuple(attention_mask.shape)}, input_ids {(batch, length)}"
            raise ValueError(f"{shapes} after {past} cached tokens; it must be {(batch, past + length)}")
        if cache is not None:
            cache.mask = attention_mask
        return attention_mask

    def _slots(
        self, referents: Tensor, vectors: Tensor | None, order: Tensor | None, is_late: bool
    ) -> tuple[Slots, Tensor]:
        """The slots, drawn or as given, and the slot `(B, T)` of each of `referents (B, T)`, -1 for -1."""
        batch, count, draws = referents.shape[0], self.config.num_symbols, isinstance(self.embedding, GaussianEmbedding)
        if vectors is None and draws and is_late:
            why = "past_key_values without slot_vectors: the cached tokens were read with other rows than a new draw's"
            raise ValueError(f"{why}; pass the slot_vectors of the output that the cache came from")
        shape, kind = (batch, count, self.config.d_model), self.config.symbol_embedding
        if vectors is not None and not draws:
            raise ValueError(f'slot_vectors: symbol_embedding="{kind}" draws none; leave them out')
        if vectors is not None and vectors.shape != shape:
            raise ValueError(f"slot_vectors has shape {tuple(vectors.shape)}; it must be {shape}")
        if vectors is None and order is None:
            slots = self.embedding.assign(referents)
        else:
            self.embedding.refuse_unknown(referents)
            if vectors is None and draws:
                vectors = self.embedding.draw(batch)
            natural = torch.arange(count, device=referents.device).expand(batch, -1)
            if order is not None and (order.shape != natural.shape or not torch.equal(order.sort(1).values, natural)):
                shapes = f"slot_referents of shape {tuple(order.shape)}: must be {tuple(natural.shape)}"
                raise ValueError(f"{shapes}, and every row must have each referent 0 … {count - 1} once")
            slots = Slots.from_referents(natural if order is None else order, vectors)
        return slots, referents if order is None and not self.embedding.shuffles else slots.of(referents)


class SymbolInvariantForCausalLM(TokenHeadModel, SlotGenerationMixin):
    """A language model over symbols: decoder, tied projection, loss and `generate`.

    With `symbol_embedding="gaussian"` it is lexinvariant: a renaming of the input, with the same draw, renames the
    predictions, so all that it can know of a symbol it learns from the sequence.

    With `symbol_embedding="streams"` nothing is drawn, and a renaming renames the predictions bit for bit. Symbols that
    have not occurred yet share an anonymous stream, whose prediction is that *a new symbol* comes. Its logit stands at
    the smallest id that has not occurred.

    >>> model = SymbolInvariantForCausalLM(SymbolInvariantConfig(encoder_layers=0, decoder_layers=2)).eval()
    >>> a, b, c = 13, 14, 15  # ids from base_vocab_size on are symbols
    >>> one, other = (model(torch.tensor([ids])).logits[0, -1] for ids in ([0, a, c, a], [0, c, b, c]))
    >>> torch.equal(one[[a, c, b]], other[[c, b, a]])
    True

    Source: Huang et al. 2023, section 2; streams SIT, which has none for a decoder alone.
    """

    kind = "decoder-only"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.model = SymbolInvariantDecoder(config)
        self._add_head()
        self.post_init()

    def draw(self, batch: int, generator: torch.Generator | None = None) -> Tensor | None:
        """Rows `(batch, num_symbols, D)` for so many sequences, for `slot_vectors`; None if the embedder draws none."""
        embedding = self.model.embedding
        return embedding.draw(batch, generator) if isinstance(embedding, GaussianEmbedding) else None

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: SymbolInvariantCache | None = None,
        labels: Tensor | None = None,
        slot_vectors: Tensor | None = None,
        slot_referents: Tensor | None = None,
        num_draws: int = 1,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        logits_to_keep: int = 0,
        return_id_logits: bool = True,
        num_items_in_batch: Tensor | int | None = None,
        inputs_embeds: None = None,
        cache: SymbolInvariantCache | None = None,
        **kwargs: Any,
    ) -> SymbolInvariantOutput | tuple:
        """Logits of the next token, and with `labels` the loss.

        Args:
            input_ids: `(B, T)` int64, base ids below V_n, symbols from V_n on.
            attention_mask: `(B, past + T)`, 1 at tokens, 0 at padding; None if padding tokens tell.
            past_key_values: of an earlier step's output, also as `cache`; needs the same `slot_vectors` as that step.
            labels: `(B, T)` int64 ids, -100 for no prediction; place t predicts that of t + 1, so `input_ids` do.
            slot_vectors: `(B · num_draws, K, D)`, the row of each slot, as `draw` gives them; default a new draw.
            slot_referents: `(B, K)` int64, the referent of each slot: a permutation of 0 … K - 1, by default that of
                the embedder. A renamed input and this renamed alongside are the same tensors.
            num_draws: draws to average probabilities over; in all other outputs, those of a sequence are together.
            use_cache: return the cache; default `config.use_cache`, and in training not.
            logits_to_keep, return_id_logits: logits of this many last positions, 0 for all; in id space, or by slots.
            num_items_in_batch: scalar, the labels that the loss is averaged over; default those of this batch.
            kwargs: only `shift_labels`, `(B, T)` in the place of `labels`, those of position t for position t. Trainers
                that cut a sequence into parts give them. As a parameter, `Trainer` would expect them in every batch.

        Raises:
            ValueError: for embeddings, labels that a trainer took away to smooth them, a symbol from num_symbols on, a
                mask, rows or an order of a wrong shape, a cache without its rows, or a cache with several draws.
        """
        shift_labels = kwargs.pop("shift_labels", None)
        if kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument {next(iter(kwargs))!r}")
        given = labels if shift_labels is None else shift_labels
        refuse_taken_labels(given, num_items_in_batch, NOT_BY_NAME)
        if num_draws < 1 or (num_draws > 1 and (use_cache or past_key_values is not None or cache is not None)):
            raise ValueError(f"num_draws={num_draws}: at least 1, with a cache 1; leave past_key_values, use_cache out")
        streams = isinstance(self.model.embedding, CausalStreamsEmbedding)
        if streams:
            refuse_rows(num_draws=None if num_draws == 1 else num_draws)
        if num_draws > 1:
            input_ids, attention_mask, slot_referents = (
                None if tensor is None else tensor.repeat_interleave(num_draws, 0)
                for tensor in (input_ids, attention_mask, slot_referents)
            )
        keeps_cache = use_cache if given is None and num_draws == 1 else False
        inputs = input_ids, attention_mask, past_key_values, slot_vectors, slot_referents
        asked = keeps_cache, output_attentions, output_hidden_states
        outputs = self.model(*inputs, *asked, return_dict=True, inputs_embeds=inputs_embeds, cache=cache)
        kept, slots = slice(-logits_to_keep, None), outputs.slots
        if streams:
            slots = replace(slots, active=slots.active[:, :, kept])
        logits, cosines = self._scores(outputs.last_hidden_state[:, :, kept], slots)
        shuffled = streams or slot_referents is not None or self.model.embedding.shuffles
        if num_draws > 1:
            if shuffled:
                logits = slots_to_ids(logits, slots, self.config)
            # Logarithms of the mean probabilities.
            logits = logits.log_softmax(-1).unflatten(0, (-1, num_draws)).logsumexp(1) - math.log(num_draws)
            shuffled = False
        loss, scored = None, (logits, cosines)
        if given is not None:
            require_one_per_token(given, logits, "id")
            if not streams:  # to streams, a symbol without a row is a new one
                self.model.embedding.refuse_unknown(referents_of(given, self.config.base_vocab_size, check=False))
            if shift_labels is None:
                given, scored = given[:, 1:], (logits[:, :-1], cosines[:, :-1])
            columns = self._columns(given, slots) if shuffled else given
            loss = self._loss(scored, columns, num_items_in_batch)
        if shuffled and return_id_logits:
            logits = slots_to_ids(logits, slots, self.config)
        shared = {key: outputs.get(key) for key in outputs if key not in ("last_hidden_state", "slot_active")}
        return self._as_wanted(SymbolInvariantOutput(loss=loss, logits=logits, **shared), return_dict)

    def _begin(self, input_ids: Tensor | None, settings: Settings, call: dict[str, Any]) -> Beginning:
        """With streams, symbols are numbered by their first occurrence inside, so a renamed text is the same.

        Its continuation is then renamed bit for bit, ties and samples too. A sequence keeps its rows throughout.
        """
        if input_ids is None:
            raise ValueError("generate() got no input_ids; pass the beginning of a text, if only the start token")
        if (draws := call.pop("num_draws", 1)) != 1:
            raise ValueError(f"num_draws={draws}: generate continues a sequence with one draw; leave it out")
        mask = call.pop("attention_mask", None)
        mask = inferred_mask(input_ids, self.config) if mask is None else mask
        if mask is not None and mask.all():
            mask = None
        given = {name: call.pop(name, None) for name in ("slot_vectors", "slot_referents")}
        streams = isinstance(self.model.embedding, CausalStreamsEmbedding)
        if not streams and given["slot_vectors"] is None:
            given["slot_vectors"] = self.draw(len(input_ids))
        rows = {name: tensor for name, tensor in given.items() if tensor is not None}
        start = Beginning(
            input_ids, self._step, lambda places, _: {name: rows[name][list(places)] for name in rows}, None, mask=mask
        )
        if not streams:
            return start
        base, length = self.config.base_vocab_size, input_ids.shape[1]
        settings.refuse_symbols(base)
        check_source(input_ids, mask)
        referents = referents_of(input_ids, base, attention_mask=mask)
        start.names, start.shown = Names(Slots.in_order(referents).referents, base), input_ids
        start.prompts = start.names.inside(input_ids, mask)
        if mask is not None:
            order = mask.bool().int().sort(dim=1, stable=True).indices  # padding comes first
            start.prompts, start.mask = start.prompts.gather(1, order), mask.gather(1, order)
        start.columns = base + settings.max_length(length) + 1  # if every token is a symbol of its own
        limit = new_symbols(self.config, settings, "no limit")
        if limit is not None:
            start.limit = base + (start.names.known >= 0).sum(1) + limit
        return start

    def _step(
        self, ids: Tensor, mask: Tensor | None, cache: SymbolInvariantCache | None, kinds: Listed[str], **rows: Tensor
    ) -> dict[str, Any]:
        """Logits of the last tokens by id, behind `ids (R, T)`, and what is to be recorded."""
        asked = {f"output_{kind}": True for kind in kinds} | {"use_cache": cache is not None, "return_dict": True}
        return self(ids, mask, cache, logits_to_keep=1, **asked, **rows)


def refuse_rows(**given: Any) -> None:
    """Refuses what is only for embedders that draw rows, or have one for every symbol."""
    for name, value in given.items():
        if value is not None:
            why = 'symbol_embedding="streams" draws no rows and numbers symbols by their first occurrence'
            raise ValueError(f"{name}: {why}; leave it out")


SymbolInvariantForCausalLM.register_for_auto_class("AutoModelForCausalLM")
