"""transformers' own tests of models, with encoders of transformers that were given streams."""

import unittest

import torch
from adapting import Labelled, leave_out
from transformers_tests.test_configuration_common import ConfigTester
from transformers_tests.test_modeling_common import ModelTesterMixin, ids_tensor

from hf_symbinv import (
    SymbolInvariantEncoder,
    SymbolInvariantEncoderConfig,
    SymbolInvariantEncoderForSequenceClassification,
    SymbolInvariantEncoderForTokenClassification,
)


class EncoderTester:
    """Sizes, configuration and inputs, with some symbols in every row."""

    batch_size, seq_length, is_training = 5, 7, True
    hidden_size, num_hidden_layers, num_attention_heads = 24, 2, 4
    base_vocab_size, num_symbols = 9, 4

    def __init__(self, parent: unittest.TestCase):
        self.parent = parent

    def get_config(self) -> SymbolInvariantEncoderConfig:
        encoder = {
            "model_type": "bert", "vocab_size": self.base_vocab_size, "hidden_size": self.hidden_size,
            "num_hidden_layers": self.num_hidden_layers, "num_attention_heads": self.num_attention_heads,
            "intermediate_size": 37, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        }  # fmt: skip
        return SymbolInvariantEncoderConfig(encoder=encoder, mixing_layers=1)

    def prepare_config_and_inputs_for_common(self) -> tuple[SymbolInvariantEncoderConfig, dict[str, torch.Tensor]]:
        ids = ids_tensor([self.batch_size, self.seq_length], self.base_vocab_size + self.num_symbols)
        return self.get_config(), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


NO_EMBEDS = "an embedding needs the symbols besides ids: each copy sees a symbol in its own way"
FIXED_ROWS = "ids from the number of rows on are symbols, and would be others"


@leave_out(
    {
        "test_inputs_embeds*": NO_EMBEDS,
        "test_load_with_mismatched_shapes": "sizes are in the encoder's own configuration, and one is set beside it",
        "test_resize_tokens_embeddings": FIXED_ROWS,
        "test_retain_grad_hidden_states_attentions": "states are put by text and symbol once all copies are read, and "
        "nothing is made of them",
    }
)
class SymbolInvariantEncoderTest(Labelled, ModelTesterMixin, unittest.TestCase):
    _is_composite = True
    unlabelled, classifier = SymbolInvariantEncoder, SymbolInvariantEncoderForSequenceClassification
    test_torch_exportable = False  # a text has as many copies as symbols, and a graph a fixed number
    all_model_classes = (
        SymbolInvariantEncoder,
        SymbolInvariantEncoderForSequenceClassification,
        SymbolInvariantEncoderForTokenClassification,
    )

    def setUp(self) -> None:
        self.model_tester = EncoderTester(self)
        self.config_tester = ConfigTester(self, config_class=SymbolInvariantEncoderConfig, has_text_modality=False)
