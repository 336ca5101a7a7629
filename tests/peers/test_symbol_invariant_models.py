"""transformers' own tests of models, with every symbol-invariant model.

What a stream adds is checked here and taken away: hidden states `(B, S, L, D)` and attentions `(B, S, H, L, L)` are as
transformers wants them once one stream is taken out.
"""

import copy
import unittest
from dataclasses import fields
from typing import Any
from unittest.mock import patch

import torch
from adapting import Labelled, leave_out
from torch import nn
from transformers import generation
from transformers.testing_utils import torch_device
from transformers_tests.generation import test_utils
from transformers_tests.generation.test_utils import GenerationTesterMixin
from transformers_tests.test_configuration_common import ConfigTester
from transformers_tests.test_modeling_common import ModelTesterMixin, ids_tensor

from hf_symbinv import (
    SymbolInvariantConfig,
    SymbolInvariantForCausalLM,
    SymbolInvariantForConditionalGeneration,
    SymbolInvariantForMaskedLM,
    SymbolInvariantForSequenceClassification,
    SymbolInvariantForTokenClassification,
    SymbolInvariantModel,
)
from hf_symbinv.modeling.cache_symbinv import SymbolInvariantCache
from hf_symbinv.modeling.generation_symbinv import SymbolInvariantGenerateOutput


class ModelTester:
    """Sizes, configuration and inputs. Every row has every symbol, so no logit is -inf: that is for symbols that a row
    does not have."""

    batch_size, seq_length, is_training = 5, 7, True
    hidden_size, num_hidden_layers, num_attention_heads = 24, 2, 4
    base_vocab_size, num_symbols = 9, 4
    vocab_size = base_vocab_size + num_symbols
    streams = num_symbols
    blocks = 2  # of attention per encoder layer
    fields: dict[str, Any] = {}

    def __init__(self, parent: unittest.TestCase):
        self.parent = parent

    def get_config(self) -> SymbolInvariantConfig:
        return SymbolInvariantConfig(
            base_vocab_size=self.base_vocab_size, num_symbols=self.num_symbols, d_model=self.hidden_size,
            num_attention_heads=self.num_attention_heads, d_ff=37, dropout=0.0, **self.fields,
        )  # fmt: skip

    def ids(self) -> torch.Tensor:
        ids = 3 + ids_tensor([self.batch_size, self.seq_length], self.base_vocab_size - 3)
        places = torch.stack([torch.randperm(self.seq_length)[: self.num_symbols] for _ in ids])
        symbols = self.base_vocab_size + torch.arange(self.num_symbols).expand(self.batch_size, -1)
        return ids.scatter(1, places.to(torch_device), symbols.to(torch_device))

    def prepare_config_and_inputs_for_common(self) -> tuple[SymbolInvariantConfig, dict[str, torch.Tensor]]:
        ids = self.ids()
        return self.get_config(), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


class EncoderDecoderTester(ModelTester):
    fields = {"encoder_layers": 2, "decoder_layers": 2}

    def prepare_config_and_inputs_for_common(self) -> tuple[SymbolInvariantConfig, dict[str, torch.Tensor]]:
        config, inputs = super().prepare_config_and_inputs_for_common()
        ids = self.ids()
        return config, {**inputs, "decoder_input_ids": ids, "decoder_attention_mask": torch.ones_like(ids)}


class DecoderTester(ModelTester):
    # Learned rows: those of "gaussian" are drawn anew in every forward pass, and no two passes could be compared.
    fields = {"encoder_layers": 0, "decoder_layers": 2, "symbol_embedding": "learned"}
    streams = blocks = 1


class EncoderTester(ModelTester):
    fields = {"encoder_layers": 2, "decoder_layers": 0}


class Adaptations(Labelled):
    """What all models share: labels by class, and streams in attentions."""

    unlabelled, classifier = SymbolInvariantModel, SymbolInvariantForSequenceClassification

    def setUp(self) -> None:
        self.model_tester = self._tester_class(self)
        self.config_tester = ConfigTester(self, config_class=SymbolInvariantConfig, **self.model_tester.fields)

    def test_attention_outputs(self) -> None:
        """transformers counts one attention block per layer; there may be two, which are listed layer by layer."""
        one_block = [name for name in self.model_tester.get_config().components if not name.endswith("A")]
        with patch.dict(self._tester_class.fields, components=one_block):
            super().test_attention_outputs()
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        for model_class in self.all_model_classes:
            self._check_attentions(model_class, config, inputs, "attentions", self.model_tester.blocks)

    def _check_attentions(self, model_class: type, config: Any, inputs: Any, name: str, blocks: int) -> None:
        model = model_class._from_config(config, attn_implementation="eager").to(torch_device).eval()
        with torch.no_grad():
            attentions = model(**inputs, output_attentions=True)[name]
        tester, length = self.model_tester, self.model_tester.seq_length
        shape = (tester.batch_size, tester.streams, tester.num_attention_heads, length, length)
        self.assertEqual([weights.shape for weights in attentions], [shape] * tester.num_hidden_layers * blocks)
        for weights in attentions:
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))

    def test_model_get_set_embeddings(self) -> None:
        """As in transformers, for an embedding and a head of our own classes, which share one weight."""
        for model_class in self.all_model_classes:
            model = model_class(self.model_tester.get_config())
            base, embedding, head = model.base_model, model.get_input_embeddings(), model.get_output_embeddings()
            self.assertIs(embedding, base.embedding)
            self.assertTrue(head is None or head.weight is embedding.weight)
            other = copy.deepcopy(embedding)
            model.set_input_embeddings(other)
            self.assertIs(model.get_input_embeddings(), other)


# Outputs of transformers' `generate`, for all of which there is one class here.
OUTPUTS = [f"Generate{beams}{kind}Output" for beams in ("", "Beam") for kind in ("DecoderOnly", "EncoderDecoder")]


class GenerationAdaptations(Adaptations):
    """What all models share that write: outputs and a cache of their own, and streams in what is recorded."""

    def setUp(self) -> None:
        super().setUp()
        own = dict.fromkeys(OUTPUTS, SymbolInvariantGenerateOutput)
        self.enterContext(patch.multiple(test_utils, create=True, **own))

    def test_outputs_have_all_fields(self) -> None:
        """The tests take our class of outputs for transformers' own, as what they are read by is there."""
        names = {field.name for field in fields(SymbolInvariantGenerateOutput)} | {"past_key_values"}
        for output in OUTPUTS:
            self.assertLessEqual({field.name for field in fields(getattr(generation, output))}, names)

    def _one_stream(self, outputs: Any) -> Any:
        """`outputs`, nested as they are, of one stream, after a look at how many streams there are."""
        if isinstance(outputs, tuple):
            return tuple(self._one_stream(output) for output in outputs)
        self.assertEqual(outputs.shape[1], self.model_tester.streams)
        return outputs[:, -1]

    def _check_attentions_for_generate(self, batch_size: int, attentions: Any, *args: Any, **kwargs: Any) -> None:
        super()._check_attentions_for_generate(batch_size, self._one_stream(attentions), *args, **kwargs)

    def _check_encoder_attention_for_generate(self, attentions: Any, *args: Any, **kwargs: Any) -> None:
        super()._check_encoder_attention_for_generate(self._one_stream(attentions), *args, **kwargs)

    def _check_hidden_states_for_generate(self, batch_size: int, hidden_states: Any, *args: Any, **kwargs: Any) -> None:
        super()._check_hidden_states_for_generate(batch_size, self._one_stream(hidden_states), *args, **kwargs)

    def _check_encoder_hidden_states_for_generate(self, hidden_states: Any, *args: Any, **kwargs: Any) -> None:
        super()._check_encoder_hidden_states_for_generate(self._one_stream(hidden_states), *args, **kwargs)

    def _check_generate_outputs(
        self, output: Any, config: Any, use_cache: bool = False, num_return_sequences: int = 1, num_beams: int = 1
    ) -> None:
        """As in transformers; the encoder's keys exist once per question, whatever its beams."""
        super()._check_generate_outputs(output, config, use_cache, num_return_sequences, num_beams)
        if use_cache:
            questions = len(output.sequences) // num_return_sequences
            for keys, values in output.past_key_values.cross.values():
                self.assertEqual((len(keys), len(values)), (questions, questions))

    def _check_past_key_values_for_generate(
        self, batch_size: int, past_key_values: Any, seq_length: int, config: SymbolInvariantConfig
    ) -> None:
        """Streams stand in the axis of heads."""
        self.assertIsInstance(past_key_values, SymbolInvariantCache)
        self.assertEqual(past_key_values.get_seq_length(), seq_length)
        tester, width = self.model_tester, config.d_model // config.num_attention_heads
        heads, blocks = tester.streams * config.num_attention_heads, tester.num_hidden_layers
        own = [states.shape for block in past_key_values.own.values() for states in block.filled()]
        self.assertEqual(own, [(batch_size, heads, seq_length, width)] * (2 * blocks))
        cross = [states.shape[1:] for block in past_key_values.cross.values() for states in block]
        self.assertEqual(cross, [(heads, tester.seq_length, width)] * (2 * blocks * config.is_encoder_decoder))

    def _check_caches_are_equal(self, cache1: SymbolInvariantCache, cache2: SymbolInvariantCache) -> None:
        torch.testing.assert_close(*({**vars(cache), "own": _filled(cache)} for cache in (cache1, cache2)))


def _filled(cache: SymbolInvariantCache) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    return {index: block.filled() for index, block in cache.own.items()}


NO_EMBEDS = "an embedding needs the slots of the symbols besides ids: each stream sees a symbol in its own way"
FIXED_ROWS = "rows are fixed when a model is made; new symbols need none"
OF_ALL = {
    "test_inputs_embeds": NO_EMBEDS,
    "test_load_save_without_tied_weights": "embedding and head share one table, and cannot be untied",
    "test_resize_tokens_embeddings": FIXED_ROWS,
}
OF_GENERATORS = {
    **OF_ALL,
    "test_resize_embeddings_untied": FIXED_ROWS,
    "test_assisted_decoding_*": "a symbol that a helper guessed and that is taken back would keep its stream",
    "test_generate_without_input_ids": "without a question there are no symbols to answer with",
}


@leave_out({**OF_GENERATORS, "test_inputs_embeds_matches_input_ids": NO_EMBEDS})
class SymbolInvariantForConditionalGenerationTest(
    GenerationAdaptations, ModelTesterMixin, GenerationTesterMixin, unittest.TestCase
):
    _tester_class = EncoderDecoderTester
    is_encoder_decoder = True
    all_model_classes = (SymbolInvariantModel, SymbolInvariantForConditionalGeneration)

    def test_attention_outputs(self) -> None:
        """As in transformers, but for the number of outputs: `slot_referents` is one more."""
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        for model_class in self.all_model_classes:
            for name, blocks in (("encoder_attentions", 2), ("decoder_attentions", 1), ("cross_attentions", 1)):
                self._check_attentions(model_class, config, inputs, name, blocks)

    def test_encoder_decoder_loss_no_double_shift(self) -> None:
        """As in transformers, in slot space, where the loss is: logits in id space are made from the same."""
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        config.loss = "cross_entropy"
        model = SymbolInvariantForConditionalGeneration(config).to(torch_device)
        labels = self.model_tester.ids()
        del inputs["decoder_input_ids"], inputs["decoder_attention_mask"]
        output = model(**inputs, labels=labels, return_id_logits=False)
        is_slot = output.slot_referents.unsqueeze(1) == (labels - config.base_vocab_size).unsqueeze(2)  # (B, T, K)
        columns = torch.where(is_slot.any(2), config.base_vocab_size + is_slot.int().argmax(2), labels)
        aligned = nn.functional.cross_entropy(output.logits.flatten(0, 1), columns.flatten())
        shifted = nn.functional.cross_entropy(output.logits[:, :-1].flatten(0, 1), columns[:, 1:].flatten())
        found, right, wrong = (
            torch.autograd.grad(loss, output.logits, retain_graph=True)[0] for loss in (output.loss, aligned, shifted)
        )
        torch.testing.assert_close(found, right)
        self.assertFalse(torch.allclose(found, wrong))


@leave_out(
    {
        **OF_GENERATORS,
        "test_generate_from_inputs_embeds_[01]*": NO_EMBEDS,
        "test_generate_from_random_inputs_embeds": NO_EMBEDS,
        "test_generate_continue_from_inputs_embeds": NO_EMBEDS,
    }
)
class SymbolInvariantForCausalLMTest(GenerationAdaptations, ModelTesterMixin, GenerationTesterMixin, unittest.TestCase):
    _tester_class = DecoderTester
    all_model_classes = (SymbolInvariantForCausalLM,)


@leave_out(
    {**OF_ALL, "test_load_with_mismatched_shapes": "vocab_size follows from the numbers of tokens, and cannot be set"}
)
class SymbolInvariantForSequenceClassificationTest(Adaptations, ModelTesterMixin, unittest.TestCase):
    _tester_class = EncoderTester
    all_model_classes = (SymbolInvariantForSequenceClassification,)


@leave_out({**OF_ALL, "test_resize_embeddings_untied": FIXED_ROWS})
class SymbolInvariantForTokensTest(Adaptations, ModelTesterMixin, unittest.TestCase):
    _tester_class = EncoderTester
    all_model_classes = (SymbolInvariantForMaskedLM, SymbolInvariantForTokenClassification)
