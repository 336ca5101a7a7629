"""GPT-2's own test file, with GPT-2 whose attention has identities; without that file, the tests of all models."""

import unittest
from typing import Any

import torch
from adapting import ReasonsAreNeeded, leave_out
from fetch import missing
from transformers.testing_utils import torch_device
from transformers_tests.generation.test_utils import GenerationTesterMixin
from transformers_tests.test_configuration_common import ConfigTester
from transformers_tests.test_modeling_common import ModelTesterMixin, ids_tensor

from hf_symbinv import (
    IdentityGPT2Config,
    IdentityGPT2ForSequenceClassification,
    IdentityGPT2LMHeadModel,
    IdentityGPT2Model,
)

if missing():

    class IdentityGPT2Tester:
        batch_size, seq_length, is_training = 5, 7, True
        hidden_size, num_hidden_layers, num_attention_heads, vocab_size = 32, 2, 4, 99

        def __init__(self, parent: unittest.TestCase):
            self.parent = parent

        def get_config(self) -> IdentityGPT2Config:
            return IdentityGPT2Config(
                n_embd=self.hidden_size, n_layer=self.num_hidden_layers, n_head=self.num_attention_heads,
                vocab_size=self.vocab_size, bos_token_id=98, eos_token_id=98, pad_token_id=97,
            )  # fmt: skip

        def prepare_config_and_inputs_for_common(self) -> tuple[IdentityGPT2Config, dict[str, torch.Tensor]]:
            ids = ids_tensor([self.batch_size, self.seq_length], self.vocab_size - 2)
            return self.get_config(), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    class Tests(ModelTesterMixin, GenerationTesterMixin):
        def setUp(self) -> None:
            self.model_tester = IdentityGPT2Tester(self)
            self.config_tester = ConfigTester(self, config_class=IdentityGPT2Config, n_embd=32)

        def test_config(self) -> None:
            self.config_tester.run_common_tests()

        def _prepare_for_class(
            self, inputs_dict: dict[str, Any], model_class: type, return_labels: bool = False
        ) -> dict[str, Any]:
            inputs = super()._prepare_for_class(inputs_dict, model_class, return_labels)
            if return_labels and model_class is IdentityGPT2LMHeadModel:
                inputs["labels"] = torch.zeros_like(inputs["input_ids"])
            elif return_labels and model_class is IdentityGPT2ForSequenceClassification:
                inputs["labels"] = torch.zeros(len(inputs["input_ids"]), dtype=torch.long, device=torch_device)
            return inputs

else:
    from transformers_tests.models.gpt2 import test_modeling_gpt2 as gpt2

    class IdentityGPT2Tester(gpt2.GPT2ModelTester):
        config_class = IdentityGPT2Config
        base_model_class = IdentityGPT2Model
        causal_lm_class = IdentityGPT2LMHeadModel
        sequence_classification_class = IdentityGPT2ForSequenceClassification

    class Tests(gpt2.GPT2ModelTest):
        model_tester_class = IdentityGPT2Tester
        pipeline_model_mapping = {
            "feature-extraction": IdentityGPT2Model,
            "text-classification": IdentityGPT2ForSequenceClassification,
            "text-generation": IdentityGPT2LMHeadModel,
            "zero-shot": IdentityGPT2ForSequenceClassification,
        }


@leave_out({"test_inherits_generation_mixin": "GPT2LMHeadModel, which it is one of, brings GenerationMixin"})
class IdentityGPT2Test(ReasonsAreNeeded, Tests, unittest.TestCase):
    all_model_classes = (IdentityGPT2Model, IdentityGPT2LMHeadModel, IdentityGPT2ForSequenceClassification)

    def _get_attention_shape(self, batch_size: int, seq_length: int | None, config: Any) -> tuple[tuple, tuple]:
        """Beside each key lies the input that it was made of."""
        keys, values = super()._get_attention_shape(batch_size, seq_length, config)
        return (*keys[:-1], 2 * keys[-1]), values


if isinstance(Tests, type(unittest.TestCase)):
    del Tests  # pytest would run it on its own
