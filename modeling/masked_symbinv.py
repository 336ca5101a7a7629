"""The masked language model: an encoder that says which token stands at a place, and points at symbols of the input.

Read `embedding_symbinv.py` first.

Letters: B batch, S streams, K slots (S = K for streams, S = 1 else), L length, D model width, V_n base tokens.
"""

from .versions_symbinv import check_transformers as check_transformers  # isort: split

from dataclasses import dataclass

import torch
from transformers.utils import ModelOutput

from .classification_symbinv import SymbolInvariantEncoder
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import Slots, make_head, refuse_embeddings, slots_to_ids
from .layers_symbinv import position_ids, rotary_angles
from .loss_symbinv import AdaCos, token_loss
from .modeling_symbinv import (
    TIED_WEIGHTS,
    SymbolInvariantEncoderOutput,
    SymbolInvariantPreTrainedModel,
    accept_missing_head,
    label_columns,
    refuse_taken_labels,
    require_kind,
    require_one_per_token,
)
from .shared_stream_symbinv import deal_out, log_shares


@dataclass
class SymbolInvariantMaskedLMOutput(ModelOutput):
    """What the model says of each place.

    Attributes:
        loss: scalar, if labels were given.
        logits: `(B, L, max(vocab_size, largest id + 1))` in id space, -inf for symbols that an example cannot have; in
            slot space `(B, L, V_n + K · num_views)`, column V_n + s · num_views + v for view v of the symbol with
            referent `slot_referents[b, s]`.
        slot_referents: `(B, K)` int64, the referent of each slot, -1 where there is none.
        hidden_states: on request, the embeddings and the output of each layer, `(B, S, L, D)`.
        attentions: on request, `(B, S, H, L, L)` per attention block, layer by layer.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor = None
    slot_referents: torch.Tensor = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class SymbolInvariantForMaskedLM(SymbolInvariantPreTrainedModel):
    """An encoder with tied projection: at each place a distribution over base tokens and the symbols of the input.

        logit of base token i = W_i · mean over streams,   logit of a symbol = W_actual · its own stream

    So it points at symbols: put a mask, a base token, where one is missing, and the label is the id of the symbol that
    belongs there. There is a score per place and not one for the sequence, because one forward pass then fills every
    mask of a text, and a single question such as "which variable is unused" is a mask at one place, as the first token.
    Which place is wrong, in a text without masks, is a class of each token: `SymbolInvariantForTokenClassification`.

    With `streams` or `canonical` a renaming of the input renames the logits, bit for bit. A symbol must occur in the
    input to be predicted, or with `learned` and `renamed` rows have a row; with several views, each view of it can be.

    Source: the head SIT Algorithm 5; masks Devlin et al. 2019, section 3.1; variable misuse as pointing at a name that
    occurs Vasic et al. 2019.
    """

    _tied_weights_keys = TIED_WEIGHTS
    # The loss divides by `num_items_in_batch`, so micro-batches of one optimizer step add up to its mean.
    accepts_loss_kwargs = True

    def __init__(self, config: SymbolInvariantConfig):
        require_kind(config, type(self).__name__, "encoder-only")
        if config.symbol_embedding == "views":
            raise ValueError(
                'symbol_embedding="views": all symbols have one row and one stream, so none can be told from another '
                'in the output; use "streams", "canonical", "learned" or "renamed"'
            )
        super().__init__(config)
        self.model = SymbolInvariantEncoder(config)
        self.lm_head = make_head(config, self.model.embedding.weight)
        self.adacos = AdaCos(config.vocab_size) if config.loss == "adacos" else None
        self.register_load_state_dict_post_hook(accept_missing_head)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        return_id_logits: bool | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
        inputs_embeds: None = None,
    ) -> SymbolInvariantMaskedLMOutput | tuple:
        """Logits of the token at each place, and with `labels` the loss.

        Args:
            input_ids: `(B, L)` int64, base ids below V_n, symbols from V_n on.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            labels: `(B, L)` int64 ids, -100 where nothing is to be predicted. Their symbols must occur in the input, so
                that a stream can predict them, or with `learned` and `renamed` have a row.
            return_id_logits: logits in id space, else in slot space. Default: in id space, except for a loss in
                training, where nobody reads them. Batches of a Trainer's evaluation need one width; where ids go
                beyond `vocab_size`, load the model with a larger `num_symbols`.
            num_items_in_batch: scalar, the labels that the loss is averaged over; default those of this batch.
            inputs_embeds: None; ids are needed.

        Raises:
            ValueError: for an input that cannot be encoded, a label that is a symbol without stream or row, labels that
                are not one for each token or that a trainer took away to smooth them, and logits that would be too
                wide in id space.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds)
        refuse_taken_labels(labels, num_items_in_batch, return_id_logits)
        if return_id_logits is None:
            return_id_logits = labels is None or not self.training
        outputs = self.model(input_ids, attention_mask, output_attentions, output_hidden_states, return_dict=True)
        config = self.config
        slots = Slots.from_referents(outputs.slot_referents, max_streams=config.max_streams)
        cosines = self.lm_head(outputs.last_hidden_state, slots)
        shares = None if config.max_streams is None else self._shares(outputs, attention_mask, slots)
        if shares is not None:
            scale = 1.0 if self.adacos is None else self.adacos.scale.clone()
            cosines = deal_out(cosines, shares, slots, config.num_views, scale)
        logits = cosines if self.adacos is None else self.adacos(cosines)
        loss = None
        if labels is not None:
            require_one_per_token(labels, logits, "id")
            columns = label_columns(labels, slots, self.model.embedding)
            loss = token_loss(logits, cosines, columns, num_items_in_batch, self.adacos, config)
        if return_id_logits:
            logits = slots_to_ids(logits, slots, config.base_vocab_size, config.vocab_size, config.num_views)
        output = SymbolInvariantMaskedLMOutput(
            loss=loss,
            logits=logits,
            slot_referents=outputs.slot_referents,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
        return self._as_wanted(output, return_dict)

    def _shares(
        self, outputs: SymbolInvariantEncoderOutput, attention_mask: torch.Tensor | None, slots: Slots
    ) -> torch.Tensor | None:
        """What `log_shares` says of the encoder's states, as places to fill and as those that are pointed at."""
        angles = None
        if self.config.encoder_positions == "rope":
            mask = torch.ones_like(outputs.symbol_slots) if attention_mask is None else attention_mask
            angles = rotary_angles(position_ids(mask), self.config, self.dtype)
        states = outputs.last_hidden_state
        return log_shares(states, states, (angles, angles), outputs.symbol_slots, slots)


SymbolInvariantForMaskedLM.register_for_auto_class("AutoModelForMaskedLM")

__all__ = ["SymbolInvariantForMaskedLM", "SymbolInvariantMaskedLMOutput"]
