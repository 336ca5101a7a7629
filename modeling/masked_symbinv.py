"""The masked language model: an encoder that says which token stands at a place, and points at symbols of the input.

Letters: B batch, L length, V_n base tokens; read `embedding_symbinv.py` first.
"""

from torch import Tensor

from .base_symbinv import SymbolInvariantOutput, TokenHeadModel, require_one_per_token
from .classification_symbinv import EncoderOnlyModel
from .configuration_symbinv import SymbolInvariantConfig
from .slots_symbinv import COUNTED, Slots, refuse_taken_labels, slots_to_ids


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
        slots = Slots.from_referents(outputs.slot_referents)
        scores = self._scores(outputs.last_hidden_state, slots)
        if labels is not None:
            require_one_per_token(labels, scores[0], "id")
        output = SymbolInvariantOutput(
            loss=None if labels is None else self._loss(scores, self._columns(labels, slots), num_items_in_batch),
            logits=slots_to_ids(scores[0], slots, self.config) if return_id_logits else scores[0],
            **{name: outputs.get(name) for name in ("slot_referents", "hidden_states", "attentions")},
        )
        return self._as_wanted(output, return_dict)


SymbolInvariantForMaskedLM.register_for_auto_class("AutoModelForMaskedLM")
