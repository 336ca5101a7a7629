"""The decoder-only language model: symbols with streams, or whose vectors are drawn per sequence, learned, or permuted.

Read `embedding_symbinv.py` (`GaussianEmbedding`, `VocabularyEmbedding`) and `layers_symbinv.py` first, and for streams
`causal_streams_symbinv.py`.

Letters: B batch, S streams, K slots (= num_symbols, with streams S), T length, D model width, V_n base tokens.
"""

from .versions_symbinv import check_transformers as check_transformers  # isort: split

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache
from transformers.generation import GenerationMixin
from transformers.generation.logits_process import LogitsProcessor, LogitsProcessorList
from transformers.utils import ModelOutput

from .beams_symbinv import searched_over
from .causal_streams_symbinv import (
    CausalStreamsEmbedding,
    FreshSymbolsLogitsProcessor,
    Names,
    StreamsCache,
    WideLogitsProcessor,
    label_columns,
    padded_left,
    refuse_rows,
    slots_to_ids,
    streams_cache,
)
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import (
    GaussianEmbedding,
    Slots,
    assign_slots,
    check_source,
    make_embedding,
    make_head,
    referents_of,
    refuse_embeddings,
)
from .generation_arguments_symbinv import (
    REFUSED,
    REFUSED_BY_DRAWS,
    REFUSED_BY_STREAMS,
    OneBatchAtATime,
    Settings,
    refuse_arguments,
    refuse_symbols,
)
from .generation_symbinv import IdStreamer, SymbolInvariantGenerationMixin
from .kernels_symbinv import Dropout
from .loss_symbinv import AdaCos, token_loss
from .modeling_symbinv import (
    TIED_WEIGHTS,
    Decoder,
    SymbolInvariantPreTrainedModel,
    accept_missing_head,
    require_kind,
)


@dataclass
class SymbolInvariantDecoderOutput(ModelOutput):
    """What the decoder made of a batch.

    Attributes:
        last_hidden_state: `(B, S, T, D)`; S is 1 but for streams.
        past_key_values: on request, keys and values of all tokens; with streams a `StreamsCache`.
        slot_referents: `(B, K)` int64, the referent of each slot; with streams -1 for the anonymous one, slot 0, and
            where there is none.
        slot_vectors: `(B, K, D)`, the row of each symbol, if the embedder draws one.
        slot_active: with streams `(B, S, T)` bool, the symbols that have occurred by each place, and slot 0.
        hidden_states: on request, the embeddings and the output of each layer.
        attentions: on request, `(B, S, H, T, past + T)` per attention block, layer by layer, DP before DA.
    """

    last_hidden_state: torch.Tensor = None
    past_key_values: Cache | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    slot_referents: torch.Tensor = None
    slot_vectors: torch.Tensor | None = None
    slot_active: torch.Tensor | None = None


@dataclass
class SymbolInvariantCausalLMOutput(ModelOutput):
    """Like `SymbolInvariantDecoderOutput`, with

    Attributes:
        loss: scalar, if labels were given.
        logits: `(B, T, V_n + num_symbols)` in id space; with streams `(B, T, max(vocab_size, largest id + 1) + 1)`,
            where a new symbol stands at the smallest id that has not occurred by then, and other ids that have not are
            -inf. In slot space `(B, T, V_n + K)`; with streams, column V_n is a new symbol.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor = None
    past_key_values: Cache | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    slot_referents: torch.Tensor = None
    slot_vectors: torch.Tensor | None = None


class SymbolInvariantDecoder(SymbolInvariantPreTrainedModel):
    """A causal decoder with its embedder, without projection."""

    _keys_to_ignore_on_load_unexpected = ["adacos.scale"]

    def __init__(self, config: SymbolInvariantConfig):
        require_kind(config, type(self).__name__, "decoder-only")
        super().__init__(config)
        streams = config.symbol_embedding == "streams"
        self.embedding = CausalStreamsEmbedding(config) if streams else make_embedding(config)
        self.dropout = Dropout(config.dropout)
        self.decoder = Decoder(config)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        past_key_values: Cache | None = None,
        slot_vectors: torch.Tensor | None = None,
        slot_referents: torch.Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        inputs_embeds: None = None,
    ) -> SymbolInvariantDecoderOutput | tuple:
        """Reads a batch; as `SymbolInvariantForCausalLM.forward`, without labels and draws.

        Args:
            input_ids: `(B, T)` int64, base ids below V_n, symbols from V_n on.
            attention_mask: `(B, past + T)`, 1 at tokens, 0 at padding; None for no padding.
            past_key_values: cache of the tokens before.
            slot_vectors: `(B, K, D)`, the row of each slot; default a new draw.
            slot_referents: `(B, K)` int64, the referent of each slot; default that of the embedding.
            use_cache: return the cache; default `config.use_cache`, and in training not.
            inputs_embeds: None; ids are needed.

        Raises:
            ValueError: for a symbol, a mask, rows or an order that `SymbolInvariantForCausalLM.forward` refuses.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds)
        check_source(input_ids, None)
        output_attentions, output_hidden_states = self._output_flags(output_attentions, output_hidden_states)
        referents = referents_of(input_ids, self.config.base_vocab_size, None)
        batch, length = referents.shape
        past = 0 if past_key_values is None else int(past_key_values.get_seq_length())
        if attention_mask is not None and attention_mask.shape != (batch, past + length):
            raise ValueError(
                f"attention_mask has shape {tuple(attention_mask.shape)}, input_ids {(batch, length)} after "
                f"{past} cached tokens; it must be {(batch, past + length)}"
            )
        if past_key_values is None and self._keeps_cache(use_cache):
            streams = isinstance(self.embedding, CausalStreamsEmbedding)
            past_key_values = StreamsCache() if streams else DynamicCache()
        if isinstance(self.embedding, CausalStreamsEmbedding):
            if attention_mask is not None:
                referents = referents.masked_fill(attention_mask[:, past:] == 0, -1)
            refuse_rows(slot_vectors=slot_vectors, slot_referents=slot_referents)
            slots, symbol_slots = self._streams(self.embedding, referents, streams_cache(past_key_values))
        else:
            slots, symbol_slots = self._slots(referents, slot_vectors, slot_referents, past_key_values)
        hidden_states = self.embedding(input_ids, symbol_slots, slots)
        hidden_states, target = self._place(hidden_states, symbol_slots, slots.active, past, attention_mask)
        states, attentions, _ = self.decoder(hidden_states, None, target, None, past_key_values, output_attentions)
        output = SymbolInvariantDecoderOutput(
            last_hidden_state=states[-1],
            past_key_values=past_key_values,
            slot_referents=slots.referents,
            slot_vectors=slots.vectors,
            slot_active=slots.active if slots.active.dim() == 3 else None,
            hidden_states=states if output_hidden_states else None,
            attentions=attentions if output_attentions else None,
        )
        return self._as_wanted(output, return_dict)

    def _streams(
        self, embedding: CausalStreamsEmbedding, referents: torch.Tensor, cache: StreamsCache | None
    ) -> tuple[Slots, torch.Tensor]:
        """The slots, those of the cache first, and the slot `(B, T)` of each of `referents (B, T)`, -1 for -1."""
        slots = embedding.assign(referents, None if cache is None else cache.referents)
        if cache is not None:
            cache.fork(slots.referents, self.decoder.per_stream)
        return slots, slots.of(referents)

    def _slots(
        self,
        referents: torch.Tensor,
        vectors: torch.Tensor | None,
        order: torch.Tensor | None,
        past_key_values: Cache | None,
    ) -> tuple[Slots, torch.Tensor]:
        """The slots, drawn or as given, and the slot `(B, T)` of each of `referents (B, T)`, -1 for -1."""
        batch, count, draws = referents.shape[0], self.config.num_symbols, isinstance(self.embedding, GaussianEmbedding)
        if vectors is None and draws and past_key_values is not None and past_key_values.get_seq_length():
            raise ValueError(
                "past_key_values without slot_vectors: the cached tokens were read with other rows than would be "
                "drawn now; pass the slot_vectors of the output that the cache came from"
            )
        shape = (batch, count, self.config.d_model)
        if vectors is not None and (not draws or vectors.shape != shape):
            raise ValueError(
                f"slot_vectors has shape {tuple(vectors.shape)}; it must be {shape}"
                if draws
                else f'slot_vectors: symbol_embedding="{self.config.symbol_embedding}" draws none; leave them out'
            )
        if vectors is None and order is None:
            slots = self.embedding.assign(referents)
        else:
            self.embedding.refuse_unknown(referents)
            if vectors is None and draws:
                vectors = self.embedding.draw(batch)
            slots = Slots.from_referents(_checked_order(order, referents, count), vectors)
        if order is None and not self.embedding.shuffles:
            return slots, referents
        slot_of = slots.referents.argsort(1)
        return slots, torch.where(referents >= 0, slot_of.gather(1, referents.clamp(min=0)), -1)


def _checked_order(order: torch.Tensor | None, referents: torch.Tensor, count: int) -> torch.Tensor:
    """`order (B, K)`, or the natural one if None."""
    natural = torch.arange(count, device=referents.device).expand(referents.shape[0], -1)
    if order is None:
        return natural
    if order.shape != natural.shape or not torch.equal(order.sort(1).values, natural):
        raise ValueError(
            f"slot_referents of shape {tuple(order.shape)}: must be {tuple(natural.shape)}, and every row must have "
            f"each referent 0 … {count - 1} once"
        )
    return order


class SymbolInvariantForCausalLM(SymbolInvariantPreTrainedModel, OneBatchAtATime, GenerationMixin):
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

    _tied_weights_keys = TIED_WEIGHTS
    # The loss divides by `num_items_in_batch`, so micro-batches of one optimizer step add up to its mean.
    accepts_loss_kwargs = True

    def __init__(self, config: SymbolInvariantConfig):
        require_kind(config, type(self).__name__, "decoder-only")
        super().__init__(config)
        self.model = SymbolInvariantDecoder(config)
        self.lm_head = make_head(config, self.model.embedding.weight)
        self.adacos = AdaCos(config.vocab_size) if config.loss == "adacos" else None
        self.register_load_state_dict_post_hook(accept_missing_head)
        self.post_init()

    def draw(self, batch: int, generator: torch.Generator | None = None) -> torch.Tensor | None:
        """Rows `(batch, num_symbols, D)` for so many sequences, for `slot_vectors`; None if the embedder draws none."""
        embedding = self.model.embedding
        return embedding.draw(batch, generator) if isinstance(embedding, GaussianEmbedding) else None

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        past_key_values: Cache | None = None,
        labels: torch.Tensor | None = None,
        slot_vectors: torch.Tensor | None = None,
        slot_referents: torch.Tensor | None = None,
        num_draws: int = 1,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        logits_to_keep: int = 0,
        return_id_logits: bool = True,
        num_items_in_batch: torch.Tensor | int | None = None,
        inputs_embeds: None = None,
        **kwargs: torch.Tensor | None,
    ) -> SymbolInvariantCausalLMOutput | tuple:
        """Logits of the next token, and with `labels` the loss.

        Args:
            input_ids: `(B, T)` int64, base ids below V_n, symbols from V_n on.
            attention_mask: `(B, past + T)`, 1 at tokens, 0 at padding; None for no padding.
            past_key_values: cache of the tokens before, dynamic or static; needs the `slot_vectors` that these were
                read with.
            labels: `(B, T)` int64 ids, -100 where nothing is to be predicted; those of position t + 1 are predicted at
                position t, so `input_ids` do.
            slot_vectors: `(B · num_draws, K, D)`, the row of each slot, as `draw` gives them; default a new draw.
            slot_referents: `(B, K)` int64, the referent of each slot: a permutation of 0 … K - 1, by default that of
                the embedder. With the same `slot_vectors`, a renamed input and this renamed alongside are the same
                tensors.
            num_draws: how many draws to predict with; the probabilities are averaged. The draws of one sequence follow
                each other in everything else that is returned.
            use_cache: return the cache; default `config.use_cache`, and in training not.
            logits_to_keep: logits of this many last positions; 0 for all.
            return_id_logits: logits in id space, else in slot space.
            num_items_in_batch: scalar, the labels that the loss is averaged over; default those of this batch.
            inputs_embeds: None; ids are needed.
            kwargs: only `shift_labels`, `(B, T)` in the place of `labels`, those of position t for position t. Trainers
                that cut a sequence into parts give them. As a parameter, `Trainer` would expect them in every batch.

        Raises:
            TypeError: for an argument of another name.
            ValueError: for embeddings, labels that a trainer took away to smooth them, a symbol from num_symbols on, a
                mask, rows or an order of a wrong shape, a cache without its rows, or a cache with several draws.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds)
        shift_labels = kwargs.pop("shift_labels", None)
        if kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument {next(iter(kwargs))!r}")
        if labels is None and num_items_in_batch is not None:
            raise ValueError(
                "num_items_in_batch without labels: a trainer took them away. label_smoothing_factor would compare "
                "each token with the label of its own position where a trainer does not know the model by name: leave "
                "it out, and set label_smoothing in the model's configuration. For a compute_loss_func, set "
                "model.accepts_loss_kwargs = False"
            )
        if num_draws < 1 or (num_draws > 1 and (use_cache or past_key_values is not None)):
            raise ValueError(
                f"num_draws={num_draws}: must be at least 1, and with a cache 1; leave past_key_values, use_cache out"
            )
        streams = isinstance(self.model.embedding, CausalStreamsEmbedding)
        if streams:
            refuse_rows(num_draws=None if num_draws == 1 else num_draws)
        if num_draws > 1:
            input_ids, attention_mask, slot_referents = (
                None if tensor is None else tensor.repeat_interleave(num_draws, 0)
                for tensor in (input_ids, attention_mask, slot_referents)
            )
        outputs = self.model(
            input_ids,
            attention_mask,
            past_key_values=past_key_values,
            slot_vectors=slot_vectors,
            slot_referents=slot_referents,
            use_cache=use_cache if labels is None and shift_labels is None and num_draws == 1 else False,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        kept = slice(-logits_to_keep, None)
        slots = Slots.from_referents(outputs.slot_referents, outputs.slot_vectors)
        if streams:
            slots = Slots(outputs.slot_referents, outputs.slot_active[:, :, kept])
        cosines = self.lm_head(outputs.last_hidden_state[:, :, kept], slots)
        logits = cosines if self.adacos is None else self.adacos(cosines)
        shuffled = streams or slot_referents is not None or self.model.embedding.shuffles
        if num_draws > 1:
            if shuffled:
                logits = slots_to_ids(logits, slots, self.config)
            logits, shuffled = _mean_of_draws(logits, num_draws), False
        loss = None
        scored = logits, cosines
        if shift_labels is None and labels is not None:
            shift_labels, scored = labels[:, 1:], (logits[:, :-1], cosines[:, :-1])
        if shift_labels is not None:
            if shift_labels.shape != scored[0].shape[:2]:
                raise ValueError(
                    f"shift_labels has shape {tuple(shift_labels.shape)}, logits are of {tuple(scored[0].shape[:2])} "
                    "tokens; give each token the label of the next one"
                )
            self._refuse_unknown(shift_labels if labels is None else labels)
            columns = self._label_columns(shift_labels, slots, shuffled)
            loss = token_loss(*scored, columns, num_items_in_batch, self.adacos, self.config)
        if shuffled and return_id_logits:
            logits = slots_to_ids(logits, slots, self.config)
        shared = {key: outputs.get(key) for key in outputs if key not in ("last_hidden_state", "slot_active")}
        output = SymbolInvariantCausalLMOutput(loss=loss, logits=logits, **shared)
        return self._as_wanted(output, return_dict)

    def _refuse_unknown(self, labels: torch.Tensor) -> None:
        """Refuses any of `labels (B, T)` that has no row; to streams, it is a new symbol."""
        if not isinstance(self.model.embedding, CausalStreamsEmbedding):
            base = self.config.base_vocab_size
            self.model.embedding.refuse_unknown(torch.where(labels >= base, labels - base, -1))

    def _label_columns(self, labels: torch.Tensor, slots: Slots, shuffled: bool) -> torch.Tensor:
        """The column of each of `labels (B, T)`, those of position t for position t, in slot space if `shuffled`."""
        base = self.config.base_vocab_size
        if isinstance(self.model.embedding, CausalStreamsEmbedding):
            return label_columns(labels, slots, base)
        if not shuffled:
            return labels
        referents = torch.where(labels >= base, labels - base, -1)
        own = slots.referents.argsort(1).gather(1, referents.clamp(min=0))
        return torch.where(referents >= 0, base + own, labels)

    def generate(self, inputs: torch.Tensor | None = None, generation_config: Any = None, **kwargs: Any) -> Any:
        """Continues a batch, as `transformers.GenerationMixin.generate`; a sequence keeps its rows throughout.

        With streams, symbols are numbered by their first occurrence inside, so a renamed text has the renamed
        continuation bit for bit, ties and samples too. New symbols that it writes are called by the smallest ids that
        the text does not have. Rows may be padded on either side. Logits processors and stopping criteria see slot ids;
        `slot_referents` gives the map.

        Args:
            inputs: `(B, T)` int64 ids, also as `input_ids`.
            generation_config: decides where no argument does; default that of the model.
            slot_vectors: `(B, K, D)`, as in `forward`; default a new draw, the same for all beams of a sequence.
            num_fresh_symbols: with streams, how many symbols that its text does not have each row may write; default
                that of the configuration.
            kwargs: every other argument of `generate`.

        Raises:
            ValueError: if there is no input, for several draws, or an argument that `REFUSED_BY_DRAWS` (`REFUSED`
                without draws, `REFUSED_BY_STREAMS` with streams) refuses; with streams also for a cache of fixed size,
                or an argument that names the id of a symbol.
        """
        if generation_config is not None:
            kwargs["generation_config"] = generation_config
        refuse_embeddings(inputs_embeds=kwargs.pop("inputs_embeds", None))
        refused = {GaussianEmbedding: REFUSED_BY_DRAWS, CausalStreamsEmbedding: REFUSED_BY_STREAMS}
        settings = Settings(dict(kwargs), self.generation_config)
        refuse_arguments(settings, refused.get(type(self.model.embedding), REFUSED))
        input_ids = kwargs.pop("input_ids", None) if inputs is None else inputs
        if input_ids is None:
            raise ValueError("generate() got no input_ids; pass the beginning of a text, if only the start token")
        if kwargs.get("num_draws", 1) != 1:
            raise ValueError(
                f"num_draws={kwargs['num_draws']}: generate continues a sequence with one draw; leave it out"
            )
        if isinstance(self.model.embedding, CausalStreamsEmbedding):
            return self._generate_in_slots(input_ids, settings, **kwargs)
        if kwargs.get("slot_vectors") is None:
            kwargs["slot_vectors"] = self.draw(len(input_ids))
        # transformers would compile steps with a static cache, but masks grow and ids are checked.
        if kwargs.get("generation_config") is None:
            kwargs["disable_compile"] = True
        else:
            kwargs["generation_config"] = copy(kwargs["generation_config"])
            kwargs["generation_config"].disable_compile = True
        return super().generate(input_ids, **kwargs)

    def _generate_in_slots(
        self,
        input_ids: torch.Tensor,
        settings: Settings,
        attention_mask: torch.Tensor | None = None,
        past_key_values: Cache | None = None,
        logits_processor: list | None = None,
        num_fresh_symbols: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """`generate` with streams: ids are numbered by first occurrence inside, so renamed texts are the same."""
        base, length = self.config.base_vocab_size, input_ids.shape[1]
        refuse_symbols(settings, base)
        implementation = settings.get("cache_implementation")
        if implementation not in (None, "dynamic"):
            raise ValueError(
                f"cache_implementation={implementation!r}: streams come in while a text grows, so their cache has no "
                "fixed size; leave it out"
            )
        names = self._names(input_ids, attention_mask)
        prompt = names.inside(input_ids, attention_mask)
        cache = streams_cache(past_key_values)
        if cache is not None and cache.get_seq_length():
            cache.rename(names.slots.of)
        elif attention_mask is not None:
            order = padded_left(attention_mask)
            prompt, attention_mask = prompt.gather(1, order), attention_mask.gather(1, order)
        if cache is None and settings.get("use_cache") is not False:
            cache = StreamsCache()
        if cache is not None:
            kwargs["past_key_values"] = cache
            if implementation is not None:
                kwargs["cache_implementation"] = None  # the default; transformers takes no cache beside its name
        limit = self.config.num_fresh_symbols if num_fresh_symbols is None else num_fresh_symbols
        known = (names.slots.referents >= 0).sum(1)
        own: list[LogitsProcessor] = [] if limit is None else [FreshSymbolsLogitsProcessor(limit, known, base)]
        most = base + settings.max_length(length) + 1  # columns, if every token is a symbol of its own
        searched = searched_over(self, most)
        if searched is not self:
            own.append(WideLogitsProcessor(most))
        if kwargs.get("streamer") is not None:
            kwargs["streamer"] = IdStreamer(kwargs["streamer"], names.outside)
        output = GenerationMixin.generate(
            searched,
            prompt,
            attention_mask=attention_mask,
            logits_processor=LogitsProcessorList([*own, *(logits_processor or [])]),
            **kwargs,
        )
        if cache is not None:
            cache.rename(names.renamed)
        if isinstance(output, torch.Tensor):
            return self._behind(input_ids, names.outside(output))
        output.sequences = self._behind(input_ids, names.outside(output.sequences))
        for name in ("scores", "logits"):
            if getattr(output, name, None) is not None:
                output[name] = names.scores_outside(output[name])
        return output

    @staticmethod
    def _behind(prompts: torch.Tensor, sequences: torch.Tensor) -> torch.Tensor:
        """`sequences (R, T')` with their beginnings as in `prompts (B, T)`, whose padding was moved."""
        rows = prompts.repeat_interleave(len(sequences) // len(prompts), 0).to(sequences.device)
        return torch.cat((rows, sequences[:, prompts.shape[1] :]), dim=1)

    def slot_referents(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        """With streams, the referent of each slot in a call of `generate` with these arguments.

        Inside, the id of a symbol is V_n + its slot, counted from 0. Symbols that are written and do not occur in a
        prompt follow those of the prompt: the smallest referents that it has not, in ascending order.

        Args:
            input_ids: `(B, T)` int64.
            attention_mask: `(B, T)`, 1 at tokens, 0 at padding; None for no padding.

        Returns:
            `(B, K)` int64, -1 where a slot has none.
        """
        return self._names(input_ids, attention_mask).slots.referents

    def compute_transition_scores(
        self,
        sequences: torch.Tensor,
        scores: tuple[torch.Tensor, ...],
        beam_indices: torch.Tensor | None = None,
        normalize_logits: bool = False,
    ) -> torch.Tensor:
        """As `transformers.GenerationMixin.compute_transition_scores`, with streams for scores of any width.

        Args:
            sequences: `(R, T)` ids, as `generate` returned them.
            scores: of each step `(B·N, ids)`, `scores` or `logits` of the same output.
            beam_indices: `(R, steps)`, those of the same output; None without beams.
            normalize_logits: take the logarithms of the probabilities.
        """
        streams = isinstance(self.model.embedding, CausalStreamsEmbedding)
        mixin: Any = SymbolInvariantGenerationMixin if streams else GenerationMixin
        return mixin.compute_transition_scores(self, sequences, scores, beam_indices, normalize_logits)

    def _names(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None) -> Names:
        check_source(input_ids, attention_mask)
        base = self.config.base_vocab_size
        return Names(assign_slots(referents_of(input_ids, base, attention_mask)), base)

    @staticmethod
    def create_masks_for_generate(attention_mask: torch.Tensor | None, **kwargs: Any) -> torch.Tensor | None:
        """`attention_mask (B, past + T)` as it is; for a static cache transformers would give it four dimensions."""
        return attention_mask


def _mean_of_draws(logits: torch.Tensor, draws: int) -> torch.Tensor:
    """Logarithms of the mean probabilities, `(B, T, C)`, of `logits (B · draws, T, C)`."""
    return logits.log_softmax(-1).unflatten(0, (-1, draws)).logsumexp(1) - math.log(draws)


SymbolInvariantForCausalLM.register_for_auto_class("AutoModelForCausalLM")

__all__ = [
    "SymbolInvariantCausalLMOutput",
    "SymbolInvariantDecoder",
    "SymbolInvariantForCausalLM",
]
