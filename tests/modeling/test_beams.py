"""`generate` takes what was encoded and read before, and knows the limits, whoever sets them."""

import copy
import random

import pytest
import torch
from transformers import GenerationConfig, LogitsProcessorList

from hf_symbinv.modeling import generation_symbinv, search_symbinv
from hf_symbinv.modeling.cache_symbinv import SymbolInvariantCache
from hf_symbinv.modeling.grammar_symbinv import GrammarProcessor

from .tiny import BASE, EOS, PAD, START, formula_with, pad, tiny_model

COMPONENTS = ["EP", "EA", "DP", "DA", "CP", "CA"]
ONE_STREAM = {"components": ["EP", "DP", "CP"]}


@pytest.fixture(scope="module")
def model():
    return tiny_model(seed=19, components=COMPONENTS, spread=1.0)


@pytest.fixture(scope="module")
def batch(model):
    rng = random.Random(4)
    rows = [
        formula_with(rng, 3 + 2 * size, [BASE + rng.randrange(9) for _ in range(size % 4)], model.config)
        for size in range(9)
    ]
    return pad(rows, side="left")


class TestEncodedInputs:
    @pytest.mark.parametrize(
        "options",
        [
            {"components": COMPONENTS},
            {"components": COMPONENTS, "canonical_slots": False},
            {"symbol_embedding": "learned", "num_symbols": 9, **ONE_STREAM},
            {"symbol_embedding": "random", "random_dim": 7, **ONE_STREAM},
        ],
    )
    @pytest.mark.parametrize("arguments", [{}, {"num_beams": 3, "num_return_sequences": 2}])
    def test_are_decoded_as_their_inputs_are(self, batch, options, arguments):
        model = tiny_model(seed=19, spread=1.0, **options)
        mask = batch["attention_mask"]
        expected = model.generate(**batch, **arguments, max_new_tokens=12)
        with torch.no_grad():
            encoded = model.get_encoder()(**batch)
        before = {name: value.clone() for name, value in encoded.items()}
        for given in ({}, {"input_ids": batch["input_ids"]}):
            found = model.generate(
                **given, attention_mask=mask, encoder_outputs=encoded, **arguments, max_new_tokens=12
            )
            assert torch.equal(found, expected)
        assert all(torch.equal(encoded[name], value) for name, value in before.items())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"decoder_input_ids": [[START, BASE + 77]] * 9},
                r"decoder_input_ids\[0, 1\]=90: this symbol has no stream",
            ),
            ({"decoder_input_ids": [[START]]}, "decoder_input_ids has batch 1, the inputs 9"),
            ({"attention_mask": [[1, 1]]}, r"attention_mask has shape \(1, 2\), but encoder_outputs is of inputs of"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, model, batch, changes, message):
        with torch.no_grad():
            encoded = model.get_encoder()(**batch)
        arguments = {"attention_mask": batch["attention_mask"]}
        arguments |= {name: torch.tensor(value) for name, value in changes.items()}
        with pytest.raises(ValueError, match=message):
            model.generate(encoder_outputs=encoded, **arguments, max_new_tokens=5)


class TestCachesThatAreGiven:
    @pytest.mark.parametrize("beams", [1, 3])
    def test_an_empty_one_is_filled_and_changes_no_answer(self, model, batch, beams):
        given = SymbolInvariantCache()
        arguments = {"num_beams": beams, "max_new_tokens": 12}
        assert torch.equal(
            model.generate(**batch, **arguments, past_key_values=given), model.generate(**batch, **arguments)
        )
        assert given.get_seq_length() > 0 or beams > 1  # beams lie in an order of their own, and are forgotten

    @pytest.mark.parametrize("name", ["past_key_values", "cache"])
    def test_answers_go_on_where_they_stopped(self, model, batch, name):
        free = {"grammar": None, "suppress_tokens": [EOS]}
        expected = model.generate(**batch, **free, max_new_tokens=9)
        half = model.generate(**batch, **free, max_new_tokens=4, return_dict_in_generate=True)
        found = model.generate(
            **batch,
            **free,
            decoder_input_ids=half.sequences,
            decoder_attention_mask=torch.ones_like(half.sequences),
            max_new_tokens=5,
            **{name: half[name]},
        )
        assert torch.equal(found, expected)

    def test_beams_and_samples_go_on_from_what_was_read_once_for_each_input(self, model, batch):
        free = {"grammar": None, "suppress_tokens": [EOS]}
        half = model.generate(**batch, **free, max_new_tokens=4, return_dict_in_generate=True)
        for options in ({"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}):
            found = []
            for given in ({}, {"past_key_values": copy.deepcopy(half.cache)}):
                torch.manual_seed(0)
                call = {**batch, **free, **options, **given, "decoder_input_ids": half.sequences}
                found.append(model.generate(**call, max_new_tokens=5))
            assert torch.equal(*found)

    def test_that_do_not_fit_are_refused(self, model, batch, monkeypatch):
        monkeypatch.setattr(search_symbinv, "SHARE", 1)

        def generate(cache, **arguments):
            model.generate(**batch, past_key_values=cache, max_new_tokens=5, **arguments)

        with pytest.raises(ValueError, match="past_key_values is a tuple: keys of streams need a SymbolInvariantCache"):
            generate(((),))
        with pytest.raises(
            ValueError, match=r"past_key_values has 2 rows, but 9 inputs with their beams have 27; give a"
        ):
            two = {name: tensor[:2] for name, tensor in batch.items()}
            generate(model.generate(**two, max_new_tokens=4, return_dict_in_generate=True).cache, num_beams=3)

    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}])
    def test_one_that_lost_rows_of_answers_that_were_done_is_empty_and_goes_on_as_right(self, model, batch, options):
        def allowed(row, ids):
            return [EOS] if row % 2 else [3, 4, 5, 6, 7, 8]

        asked = {**batch, "grammar": None, "max_new_tokens": 5, "return_dict_in_generate": True}
        half = model.generate(**asked, prefix_allowed_tokens_fn=allowed, **options)
        assert half.cache.rows in (0, len(half.sequences))
        each = len(half.sequences) // 9
        prompts = half.sequences[::each]
        expected = model.generate(**asked, decoder_input_ids=prompts).sequences
        found = model.generate(**asked, decoder_input_ids=prompts, cache=half.cache if half.cache.rows < 18 else None)
        assert torch.equal(found.sequences, expected)


@pytest.mark.filterwarnings("ignore:Using the model-agnostic default `max_length`:UserWarning")
@pytest.mark.parametrize("prompt", [None, [START, BASE + 3, 8], [BASE + 3, 8]])
def test_grammars_know_the_limit_whoever_sets_it(model, batch, prompt, monkeypatch):
    """That of a free answer which never ends is found out by writing one."""
    seen = []

    class Spy(GrammarProcessor):
        def __call__(self, input_ids, scores):
            assert self.length == input_ids.shape[1]
            seen.append(self.max_length)
            return super().__call__(input_ids, scores)

    monkeypatch.setattr(generation_symbinv, "GrammarProcessor", Spy)
    monkeypatch.setattr(search_symbinv, "GrammarProcessor", Spy)
    ids = batch["input_ids"][-2:]
    given = {} if prompt is None else {"decoder_input_ids": torch.tensor([prompt] * 2)}
    special = {"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": START}
    length, new, both = {"max_length": 14}, {"max_new_tokens": 7}, {"max_length": 9, "max_new_tokens": 8}
    for own, config, arguments in (
        ({}, None, {}),
        ({}, None, length),
        (length, None, {}),
        (length, None, new),
        (new, None, length),
        ({}, new, length),
        (length, new, {}),
        (new, length, both),
        (both, None, {}),
    ):
        monkeypatch.setattr(model, "generation_config", GenerationConfig(**special, **own))
        call = {**given, **arguments}
        if config is not None:
            call["generation_config"] = GenerationConfig(**special, **config)
        written = model.generate(ids, **call, grammar=None, suppress_tokens=[EOS])
        seen.clear()
        model.generate(ids, **call)
        assert seen[0] == written.shape[1], (own, config, arguments)


def test_processors_of_a_call_come_after_transformers_and_the_grammar(model, batch):
    seen = []

    def processor(input_ids, scores):
        seen.append(scores.clone())
        return scores

    arguments = {"logits_processor": LogitsProcessorList([processor]), "max_new_tokens": 6}
    model.generate(**batch, **arguments, suppress_tokens=[7])
    for scores in seen:
        assert scores.shape[1] == BASE + int(model.slot_referents(**batch).shape[1])
        assert torch.isinf(scores[:, [PAD, START, 7]]).all()
    assert torch.isinf(seen[0][:, [8, 10, EOS]]).all()  # no trace begins so
