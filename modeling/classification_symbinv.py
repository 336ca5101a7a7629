"""The encoder alone, which regresses or classifies sequences, classifies each token of them, or fills masks.

Letters: B batch, S streams, L length, D model width, C labels, V_n base tokens.
"""

import torch
from torch import Tensor, nn

from .base_symbinv import (
    EncodingModel,
    SymbolInvariantOutput,
    SymbolInvariantPreTrainedModel,
    TokenHeadModel,
    require_one_per_token,
)
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import OneStreamEmbedding, aggregate_streams, mean_over_streams
from .loss_symbinv import token_loss
from .slots_symbinv import COUNTED, refuse_embeddings, refuse_taken_labels, slots_to_ids
from .versions_symbinv import SequenceClassifierOutput, TokenClassifierOutput


class EncoderOnlyModel(EncodingModel):
    """An encoder with its embedder, without head."""

    kind = "encoder-only"
    _keys_to_ignore_on_load_unexpected = [r"classifier\..*", r"pooler\..*", "adacos.scale"]

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        inputs_embeds: None = None,
    ) -> SymbolInvariantOutput | tuple:
        """Hidden states `(B, S, L, D)` of `input_ids (B, L)` under `attention_mask (B, L)`; see `encode`."""
        refuse_embeddings(inputs_embeds=inputs_embeds)
        output = self.encode(input_ids, attention_mask, None, output_attentions, output_hidden_states)
        return self._as_wanted(output, return_dict)


class _Classifier(SymbolInvariantPreTrainedModel):
    """An encoder, behind which a subclass has a `classifier`."""

    kind = "encoder-only"

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = EncoderOnlyModel(config)


class SymbolInvariantForSequenceClassification(_Classifier):
    """An encoder whose outputs are pooled to one prediction per sequence: a number, or a class.

        y = pool over tokens of (W h + b),   h the mean over streams
        y = W tanh(W_p h + b_p) + b,         of the first token, with `pooling="pooler"`

    With `views` or `streams` a renaming of the input changes no prediction, bit for bit. Where `config.problem_type` is
    None, one label means regression, more mean classification.

    Source: Renamer section 5; `pooling="sum"` is our choice, because costs add up; the pooler Devlin et al. 2019.
    """

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        if config.problem_type is None:  # written there, where transformers' pipelines look
            config.problem_type = "regression" if config.num_labels == 1 else "single_label_classification"
        self.pooler = nn.Linear(config.d_model, config.d_model) if config.pooling == "pooler" else None
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.d_model, config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        inputs_embeds: None = None,
    ) -> SequenceClassifierOutput | tuple:
        """Predictions `logits (B, C)` of `input_ids (B, L)` under `attention_mask (B, L)`, and with labels the `loss`.

        For regression, of floats `labels (B,)` or `(B, C)`, it is the mean squared error, or with "mape" the mean of
        `|y - ŷ| / |y|`, where no label may be 0; for classification, of int64 `labels (B,)`, the cross-entropy.
        """
        outputs = self.model(input_ids, attention_mask, output_attentions, output_hidden_states, True, inputs_embeds)
        logits = self._pool(mean_over_streams(outputs.last_hidden_state, outputs.slots.active), outputs.attention_mask)
        loss = None if labels is None else self._loss(logits, labels)
        output = SequenceClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions)
        return self._as_wanted(output, return_dict)

    def _pool(self, hidden_states: Tensor, attention_mask: Tensor) -> Tensor:
        """The prediction `(B, C)` of `hidden_states (B, L, D)`."""
        if self.config.pooling in ("first", "pooler"):
            first = attention_mask.bool().int().argmax(1)
            hidden_states = hidden_states[torch.arange(hidden_states.shape[0], device=hidden_states.device), first]
            if self.pooler is not None:
                hidden_states = self.dropout(self.pooler(hidden_states).tanh())
            return self.classifier(hidden_states)
        mask = attention_mask.bool().unsqueeze(2)
        total = self.classifier(hidden_states).masked_fill(~mask, 0).sum(1)  # (B, C)
        return total / mask.sum(1) if self.config.pooling == "mean" else total

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if self.config.problem_type == "single_label_classification":
            return nn.functional.cross_entropy(logits, labels.flatten())
        if labels.numel() != logits.numel():
            shapes = f"labels has shape {tuple(labels.shape)}, the predictions {tuple(logits.shape)}"
            raise ValueError(f"{shapes}; give one number per sequence and label")
        labels = labels.reshape(logits.shape).to(logits.dtype)
        if self.config.regression_loss == "mse":
            return nn.functional.mse_loss(logits, labels)
        if (labels == 0).any():
            raise ValueError('labels: 0 has no percentage error; leave such examples out, or use regression_loss="mse"')
        return ((labels - logits).abs() / labels.abs()).mean()


class SymbolInvariantForTokenClassification(_Classifier):
    """An encoder that gives each token a class; where the answer is a symbol, take `SymbolInvariantForMaskedLM`.

        y_t = W h_t + b,   h_t at a base token the mean over streams, at a symbol the state of its own stream

    With `streams`, `views` or `canonical` a renaming of the input changes no prediction, bit for bit.

    Source: the read-out SIT Algorithm 2, as aggregated attention; the head Devlin et al. 2019, section 5.3.
    """

    accepts_loss_kwargs = True  # micro-batches of one optimizer step add up to its mean

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.classifier = nn.Linear(config.d_model, config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        inputs_embeds: None = None,
    ) -> TokenClassifierOutput | tuple:
        """Logits `(B, L, C)` of `input_ids (B, L)` under `attention_mask (B, L)`, and with labels the cross-entropy.

        `labels (B, L)` int64 are classes 0 … C - 1, or -100 where nothing is to be predicted; the loss is averaged over
        `num_items_in_batch (scalar)` labels, by default those of this batch.
        """
        outputs = self.model(input_ids, attention_mask, output_attentions, output_hidden_states, True, inputs_embeds)
        if isinstance(self.model.embedding, OneStreamEmbedding):
            view = outputs.last_hidden_state.squeeze(1)  # (B, L, D)
        else:
            view = aggregate_streams(outputs.last_hidden_state, outputs.symbol_slots, outputs.slots.active)
        logits = self.classifier(view)
        loss = None
        if labels is not None:
            require_one_per_token(labels, logits, "class")
            loss = token_loss(logits, logits, labels, num_items_in_batch, None, self.config)
        output = TokenClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions)
        return self._as_wanted(output, return_dict)


class SymbolInvariantForMaskedLM(TokenHeadModel):
    """An encoder with tied projection: at each place a distribution over base tokens and the symbols of the input.

        logit of base token i = W_i · mean over streams,   logit of a symbol = W_actual · its own stream

    So it points at symbols: put a mask, a base token, where one is missing; its label is the id of the symbol that
    belongs there. Which place of a text is wrong is for `SymbolInvariantForTokenClassification`.

    With `streams` or `canonical` a renaming of the input renames the logits, bit for bit. A symbol must occur in the
    input to be predicted, or with `learned` and `renamed` rows have a row; with several views, each view of it can be.

    Source: the head SIT Algorithm 5; masks Devlin et al. 2019, section 3.1; pointing at a name Vasic et al. 2019.
    """

    kind = "encoder-only"

    def __init__(self, config: SymbolInvariantConfig):
        if config.symbol_embedding == "views":
            why = "all symbols have one row and one stream, so none can be told from another in the output"
            raise ValueError(f'symbol_embedding="views": {why}; use "streams", "canonical", "learned" or "renamed"')
        super().__init__(config)
        self.model = EncoderOnlyModel(config)
        self._add_head()
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        return_id_logits: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        inputs_embeds: None = None,
    ) -> SymbolInvariantOutput | tuple:
        """Logits of the token at each place, and with `labels` the loss.

        Args:
            input_ids: `(B, L)` int64, base ids below V_n, symbols from V_n on.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None if padding tokens tell.
            labels: `(B, L)` int64 ids, -100 where nothing is to be predicted.
            return_id_logits: logits in id space, else in slot space; default except for a loss in training. A Trainer's
                evaluation needs one width; for ids beyond `vocab_size`, load the model with a larger `num_symbols`.
            num_items_in_batch: scalar, the labels that the loss is averaged over; default those of this batch.

        Raises:
            ValueError: for an input that cannot be encoded, a label without stream or row, labels that a trainer took
                away or not one for each token, and logits that would be too wide in id space.
        """
        if return_id_logits is None:
            refuse_taken_labels(labels, num_items_in_batch, COUNTED)
            return_id_logits = labels is None or not self.training
        outputs = self.model(input_ids, attention_mask, output_attentions, output_hidden_states, True, inputs_embeds)
        slots = outputs.slots
        scores = self._scores(outputs.last_hidden_state, slots)
        if labels is not None:
            require_one_per_token(labels, scores[0], "id")
        output = SymbolInvariantOutput(
            loss=None if labels is None else self._loss(scores, self._columns(labels, slots), num_items_in_batch),
            logits=slots_to_ids(scores[0], slots, self.config) if return_id_logits else scores[0],
            **{name: outputs.get(name) for name in ("slot_referents", "hidden_states", "attentions")},
        )
        return self._as_wanted(output, return_dict)


SymbolInvariantForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")
SymbolInvariantForTokenClassification.register_for_auto_class("AutoModelForTokenClassification")
SymbolInvariantForMaskedLM.register_for_auto_class("AutoModelForMaskedLM")
