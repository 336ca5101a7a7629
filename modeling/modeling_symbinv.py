"""The encoder-decoder: question in, answer out.

Read `base_symbinv.py` first, and `generation_symbinv.py` for what `generate` makes of it.

Letters: B batch, N answers per example, S streams, K slots, L source length, T target length, D model width, V_n base
tokens, C columns of logits.
"""

from collections.abc import Sequence as Listed
from typing import Any

import torch
from torch import Tensor

from .base_symbinv import Decoder, EncodingModel, SymbolInvariantOutput, TokenHeadModel
from .cache_symbinv import SymbolInvariantCache
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import GrowingEmbedding, OneStreamEmbedding
from .generation_symbinv import SymbolInvariantGenerationMixin
from .layers_symbinv import Sequence
from .slots_symbinv import (
    COUNTED,
    Slots,
    referents_of,
    refuse_counts,
    refuse_embeddings,
    refuse_lost,
    refuse_taken_labels,
    slots_to_ids,
)


class SymbolInvariantModel(EncodingModel):
    """Encoder and decoder with one shared embedding, without projection."""

    kind = "encoder-decoder"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.decoder = Decoder(config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: SymbolInvariantOutput | None = None,
        past_key_values: SymbolInvariantCache | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        inputs_embeds: None = None,
        decoder_inputs_embeds: None = None,
        cache: SymbolInvariantCache | None = None,
        num_streams: int | None = None,
    ) -> SymbolInvariantOutput | tuple:
        """Encodes and decodes a batch.

        Args:
            input_ids: `(B, L)` int64, base ids below V_n, symbols from V_n on; may be left out with `encoder_outputs`.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None if padding tokens tell.
            decoder_input_ids: `(B·N, T)` int64, N answers per input; default the start token. Symbols that occur only
                here get streams too if N = 1, unless `encoder_outputs` is given, and with `num_fresh_symbols` always.
            decoder_attention_mask: `(B·N, past + T)`; None for no padding.
            encoder_outputs: of `encode` or `get_encoder()`, to decode without encoding again.
            past_key_values: of an earlier step's output, also as `cache`; the encoder's keys are in it once per input.
            use_cache: return the cache; default `config.use_cache`, and in training not.
            num_streams: streams of each example, at least its number of symbols. No value is read or checked then, so
                that nothing waits for a GPU and a step can be captured; default as many as the batch needs.

        Raises:
            ValueError: for embeddings, for inputs, `encoder_outputs` or a cache that do not fit each other or the
                model, or if a model with one stream meets a symbol without a row.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds, decoder_inputs_embeds=decoder_inputs_embeds)
        known = self._cache(past_key_values, cache, use_cache)
        asked = output_attentions, output_hidden_states
        encoded = self.encoded(encoder_outputs, decoder_input_ids, input_ids, attention_mask, *asked, num_streams)
        states, slots = encoded.last_hidden_state, encoded.slots
        if decoder_input_ids is None:
            start = self.config.decoder_start_token_id
            decoder_input_ids = torch.full((states.shape[0], 1), start, device=states.device)
        answers = answers_per_input("decoder_input_ids", decoder_input_ids.shape[0], states.shape[0])
        mask = encoded.attention_mask if attention_mask is None else attention_mask
        rotary = self.config.decoder_positions == "rope" and (known is None or not known.cross)
        source = self._source(slots, encoded.symbol_slots, mask, rotary)
        slots = slots.repeat_interleave(answers)
        base, views = self.config.base_vocab_size, self.config.num_views
        referents = referents_of(decoder_input_ids, base, views, check=num_streams is None)
        if isinstance(self.embedding, GrowingEmbedding):
            slots = self.grown(referents, slots.referents, decoder_attention_mask, known)
        symbol_slots = self._symbol_slots(referents, slots)
        if isinstance(self.embedding, OneStreamEmbedding):  # to streams, a symbol without one is a placeholder
            lost = (referents >= 0) & (symbol_slots < 0)
            refuse_lost("decoder_input_ids", decoder_input_ids, lost, f"{self.embedding.unknown}; it cannot be read")
        own, cross = self._traces(output_attentions, 2)
        text = decoder_input_ids, symbol_slots, slots, decoder_attention_mask
        every_state = self._decode(*text, known, (own, cross), states, source)
        hidden, own_attentions, cross_attentions = self._recorded(every_state, output_hidden_states, own, cross)
        output = SymbolInvariantOutput(
            last_hidden_state=every_state[-1],
            cache=known,
            decoder_hidden_states=hidden,
            decoder_attentions=own_attentions,
            cross_attentions=cross_attentions,
            encoder_last_hidden_state=states,
            encoder_hidden_states=encoded.hidden_states,
            encoder_attentions=encoded.attentions,
            slot_referents=slots.referents if slots.by_place else encoded.slot_referents,
            slot_vectors=slots.vectors,
            slot_active=slots.active if slots.by_place else None,
        )
        return self._as_wanted(output, return_dict)

    def encoded(
        self, given: Any, prompt: Tensor | None, input_ids: Tensor | None, mask: Tensor | None, *args: Any
    ) -> SymbolInvariantOutput:
        """What the encoder made of a batch: as it was given, else `encode` of `input_ids (B, L)` under `mask (B, L)`.

        The symbols of the decoder's `prompt (B·N, T)` get streams too if there is one answer per input.
        """
        if given is not None:
            if getattr(given, "symbol_slots", None) is None:
                why = "without slot_referents and symbol_slots, which tell whose streams it holds"
                raise ValueError(f"encoder_outputs is a {type(given).__name__} {why}; pass what get_encoder() returned")
            return given
        if input_ids is None:
            raise ValueError("input_ids and encoder_outputs are both None; pass one of them")
        one_each = prompt is not None and prompt.shape[0] == input_ids.shape[0]
        return self.encode(input_ids, mask, prompt if one_each else None, *args)


class SymbolInvariantForConditionalGeneration(TokenHeadModel, SymbolInvariantGenerationMixin):
    """The encoder-decoder with tied projection, loss and `generate`: question in, answer out."""

    kind = "encoder-decoder"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        # By the class's name, some versions of Trainer take the loss for a decoder's and do not count the first labels.
        self.loss_type = None
        self.model = SymbolInvariantModel(config)
        self._base_and_views = config.base_vocab_size, config.num_views
        self._add_head()
        self.generation_config.grammar = config.grammar
        self.generation_config._from_model_config = False  # or the grammar would be dropped on loading
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: SymbolInvariantOutput | None = None,
        past_key_values: SymbolInvariantCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        return_id_logits: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        inputs_embeds: None = None,
        decoder_inputs_embeds: None = None,
        cache: SymbolInvariantCache | None = None,
        num_streams: int | None = None,
    ) -> SymbolInvariantOutput | tuple:
        """Logits, and with `labels` the loss; what is not listed is as for `SymbolInvariantModel.forward`.

        So are `input_ids (B, L)`, `attention_mask (B, L)`, `decoder_input_ids (B·N, T)` and
        `decoder_attention_mask (B·N, past + T)`.

        Args:
            labels: `(B·N, T)` int64 ids, -100 where nothing is to be predicted. Their symbols must occur in the input,
                or for a model with one stream have a row; in which view they occur there does not matter. With
                `num_fresh_symbols` each answer may have so many others, and one that has occurred neither in the input
                nor in the decoder's is new. Without `decoder_input_ids` they are shifted right behind the start token.
            return_id_logits: logits in id space, else in slot space; default in id space, but for a loss in training.
            num_items_in_batch: scalar, the labels that the loss is averaged over; default those of this batch.

        Raises:
            ValueError: if a label has no stream or row, or an answer too many new symbols, if a trainer took the labels
                away to smooth them, if the logits would be too wide in id space, and as `SymbolInvariantModel.forward`.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds, decoder_inputs_embeds=decoder_inputs_embeds)
        if return_id_logits is None:
            refuse_taken_labels(labels, num_items_in_batch, COUNTED)
            return_id_logits = labels is None or not self.training
        asked = output_attentions, output_hidden_states
        encoded = self.model.encoded(encoder_outputs, decoder_input_ids, input_ids, attention_mask, *asked, num_streams)
        config, grows = self.config, isinstance(self.model.embedding, GrowingEmbedding)
        if labels is not None:
            answers = answers_per_input("labels", len(labels), len(encoded.slot_referents))
            slots = encoded.slots.repeat_interleave(answers)
            if grows:  # more new symbols than the model may write
                new = referents_of(labels, *self._base_and_views, check=False)
                found = self.model.embedding.assign(new, slots.referents).referents
                counts = (found >= 0).sum(1) - (slots.referents >= 0).sum(1)
                refuse_counts("labels", counts, config.num_fresh_symbols)
            else:
                columns = self._columns(labels, slots, check=num_streams is None)
            if decoder_input_ids is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        keeps_cache = use_cache if labels is None else False
        inputs = input_ids, attention_mask, decoder_input_ids, decoder_attention_mask, encoded, past_key_values
        outputs = self.model(*inputs, keeps_cache, *asked, return_dict=True, cache=cache, num_streams=num_streams)
        slots = outputs.slots.repeat_interleave(outputs.last_hidden_state.shape[0] // outputs.slot_referents.shape[0])
        if grows and labels is not None:
            columns = self._columns(labels, slots)
        scores = self._scores(outputs.last_hidden_state, slots)
        output = SymbolInvariantOutput(
            **{name: value for name, value in outputs.items() if name not in ("last_hidden_state", "slot_active")},
            loss=None if labels is None else self._loss(scores, columns, num_items_in_batch),
            logits=slots_to_ids(scores[0], slots, config) if return_id_logits else scores[0],
        )
        return self._as_wanted(output, return_dict)

    def _steps(self, encoded: SymbolInvariantOutput, questions: Listed[int], each: int) -> dict[str, Any]:
        """What `_step` needs of some questions, with so many answers each."""
        if len(questions) < len(encoded.slot_referents):
            encoded = encoded.of_questions(questions)
        slots, rotary = encoded.slots, self.config.decoder_positions == "rope"
        source = self.model._source(slots, encoded.symbol_slots, encoded.attention_mask, rotary)
        return {"encoded": encoded.last_hidden_state, "source": source, "slots": slots.repeat_interleave(each)}

    def _step(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        cache: SymbolInvariantCache | None,
        kinds: Listed[str],
        encoded: Tensor,
        source: Sequence,
        slots: Slots,
    ) -> dict[str, Any]:
        """Logits `(B·N, T, C)` behind slot ids `(B·N, T)`; the shortest way, which checks no value and waits for none.

        Where symbols come in, `C` counts ids and a new symbol has the smallest that has not occurred.
        """
        symbol_slots = referents_of(input_ids, *self._base_and_views, check=False)
        if self.config.answers_have_new_symbols:  # whose referents are slots inside
            slots = self.model.grown(symbol_slots, slots.referents, attention_mask, cache)
            symbol_slots = slots.of(symbol_slots)
        own, cross = traces = self._traces("attentions" in kinds, 2)
        states = self.model._decode(input_ids, symbol_slots, slots, attention_mask, cache, traces, encoded, source)
        logits, _ = self._scores(states[-1], slots)
        if slots.by_place:
            logits = slots_to_ids(logits, slots, self.config)
        return {"logits": logits, "decoder_attentions": own, "cross_attentions": cross, "decoder_hidden_states": states}

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """`labels (B, T)` shifted right behind the start token, with padding for -100."""
        shifted = labels.roll(1, dims=1)
        shifted[:, 0] = self.config.decoder_start_token_id
        return shifted.masked_fill(shifted == -100, self.config.pad_token_id)


def answers_per_input(name: str, answers: int, inputs: int) -> int:
    """How many answers each input has; refuses the argument of this name if not all have as many."""
    each, rest = answers // inputs, answers % inputs  # numbers of an export know no divmod
    if rest or not each:
        raise ValueError(f"{name} has batch {answers}, the encoder's output {inputs}; the first must be its multiple")
    return each


SymbolInvariantModel.register_for_auto_class("AutoModel")
SymbolInvariantForConditionalGeneration.register_for_auto_class("AutoModelForSeq2SeqLM")
