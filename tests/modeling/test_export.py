"""Graphs of a model by `torch.export` give what the model gives, and keep the law; docs/export.md runs one in ONNX."""

import random
from functools import partial

import pytest
import torch

from . import test_causal, test_classification, test_tokens
from .tiny import BASE, EOS, START, formula_with, pad, rename, tiny_model

SYMBOLS = 4
TOLERANCE = {"rtol": 0, "atol": 1e-5}  # float32; the largest difference seen here is 2.4e-6


def batches(config, seed=0):
    """Batches of other sizes, lengths and sets of symbols than the one that is recorded, up to SYMBOLS of them."""
    rng = random.Random(seed)
    symbols = [BASE + referent for referent in range(SYMBOLS)]
    for counts, size, length in (((4, 0, 1), 9, 3), ((2,), 4, 5), ((3, 3, 4, 1, 0), 12, 2), ((0, 0), 3, 4)):
        sources = [formula_with(rng, size, rng.sample(symbols, count), config) for count in counts]
        answers = [[START, *(rng.choice([*range(3, BASE), *symbols]) for _ in range(length))] for _ in counts]
        yield {**pad(sources), "decoder_input_ids": torch.tensor(answers)}


def recorded(model, inputs, dynamic, **constants):
    """The program of `inputs`, whose dimensions are open where `dynamic` names them."""
    dims = {name: torch.export.Dim(name) for names in dynamic.values() for name in names if name}
    shapes = {key: {at: dims[name] for at, name in enumerate(names) if name} for key, names in dynamic.items()}
    return torch.export.export(
        model, (), {**inputs, **constants}, dynamic_shapes={**shapes, **dict.fromkeys(constants)}
    )


QUESTION = {"input_ids": ("batch", "length"), "attention_mask": ("batch", "length")}
QUESTION_AND_ANSWER = {**QUESTION, "decoder_input_ids": ("batch", "answer")}


@pytest.fixture(scope="module")
def model():
    return tiny_model(dtype=torch.float32, num_symbols=SYMBOLS, components=["EP", "EA", "DP", "CP", "CA"])


@pytest.fixture(scope="module")
def program(model):
    return recorded(model, next(batches(model.config, seed=1)), QUESTION_AND_ANSWER, use_cache=False)


@pytest.fixture(scope="module")
def exported(program):
    """`exported(batch)`: the logits of a graph."""
    module = program.module()
    return lambda batch: module(**batch, use_cache=False).logits


@pytest.mark.slow
class TestAnExportedEncoderDecoder:
    def test_gives_the_models_logits_at_every_batch_size_length_and_set_of_symbols(self, model, exported):
        """A question with fewer symbols than streams too: the model, which counts them, has no unused stream."""
        for batch in batches(model.config):
            with torch.no_grad():
                expected = model(**batch).logits
            torch.testing.assert_close(exported(batch), expected, **TOLERANCE)

    def test_renaming_the_input_renames_the_logits_bit_for_bit(self, model, exported):
        renaming = {0: 2, 1: 0, 2: 3, 3: 1}
        columns = [*range(BASE), *(BASE + renaming[referent] for referent in range(SYMBOLS))]
        for batch in batches(model.config):
            renamed = {
                name: tensor if name == "attention_mask" else rename(tensor, renaming) for name, tensor in batch.items()
            }
            assert torch.equal(exported(renamed)[..., columns], exported(batch))

    @pytest.mark.parametrize("symbols", [[SYMBOLS], [SYMBOLS + 7], [*range(SYMBOLS + 1)]], ids=str)
    def test_an_id_beyond_the_vocabulary_is_an_error_and_no_wrong_answer(self, exported, symbols):
        ids = torch.tensor([[*(BASE + referent for referent in symbols), EOS]])
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([[START]])}
        with pytest.raises(Exception, match=r"out of (data )?bounds|out of range"):
            exported(batch)


def test_an_exported_encoder_and_decoder_are_the_model_in_two_pieces(model):
    """In slot space, where ids need not be small: only the number of symbols counts."""
    encoder = recorded(model.get_encoder(), {**pad([[5, BASE, BASE + 1, EOS], [3, EOS]])}, QUESTION).module()
    for batch in batches(model.config):
        batch["input_ids"] = torch.where(batch["input_ids"] >= BASE, 1000 + batch["input_ids"], batch["input_ids"])
        batch["decoder_input_ids"] = batch["decoder_input_ids"].clamp(max=BASE - 1)
        outputs = encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        assert outputs.last_hidden_state.shape[1] == outputs.slot_referents.shape[1] == SYMBOLS
        with torch.no_grad():
            expected = model(**batch, return_id_logits=False)
            given = model(
                attention_mask=batch["attention_mask"],
                decoder_input_ids=batch["decoder_input_ids"],
                encoder_outputs=outputs,
                return_id_logits=False,
            )
        width = expected.slot_referents.shape[1]
        assert torch.equal(given.slot_referents[:, :width], expected.slot_referents)
        assert (given.slot_referents[:, width:] == -1).all()
        torch.testing.assert_close(given.logits[..., : BASE + width], expected.logits, **TOLERANCE)
        assert (given.logits[..., BASE + width :] == -torch.inf).all()


def answers_of(model):
    yield from batches(model.config, seed=1)
    yield from batches(model.config)


def words_of(model):
    """The longest text that an encoder reads is among them."""
    rng = torch.Generator().manual_seed(0)
    for batch, length in ((3, 7), (1, model.config.max_positions), (5, 2), (2, 4)):
        ids = torch.randint(0, model.config.vocab_size, (batch, length), generator=rng)
        mask = torch.ones_like(ids)
        mask[0, -1] = 0
        yield {"input_ids": ids, "attention_mask": mask}


def texts_of(model):
    for batch, length in ((2, 6), (3, 9), (1, 2)):
        ids = test_causal.text(batch, length)
        vectors = test_causal.draw(model, batch)
        yield {"input_ids": ids, "attention_mask": torch.ones_like(ids)} | (
            {} if vectors is None else {"slot_vectors": vectors}
        )


ONE_STREAM = {"components": ["EP", "DP", "CP"], "decoder_layers": 1, "num_symbols": SYMBOLS, "random_dim": 5}
OPEN = {**QUESTION_AND_ANSWER, "slot_vectors": ("batch", None, None)}
STREAMS = {**test_classification.STREAMS, "num_views": 1}
OTHERS = [
    *(
        (answers_of, partial(tiny_model, symbol_embedding=kind, **ONE_STREAM))
        for kind in ("learned", "canonical", "random")
    ),
    *(
        (words_of, partial(test_classification.encoder, pooling=pooling, **changes))
        for changes in ({}, STREAMS)
        for pooling in ("sum", "first")
    ),
    (words_of, partial(test_tokens.labeller, **STREAMS)),
    (words_of, partial(test_tokens.filler, **STREAMS)),
    *(
        (texts_of, partial(test_causal.language_model, **changes))
        for changes in ({}, {"decoder_positions": "rope"}, {"symbol_embedding": "learned"})
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("inputs_of", "make"), OTHERS)
def test_every_other_exported_model_gives_the_models_logits_and_an_error_beyond_its_sizes(inputs_of, make):
    model = make(dtype=torch.float32)
    constants = {} if inputs_of is words_of else {"use_cache": False}
    first, *others = inputs_of(model)
    program = recorded(model, first, {name: OPEN[name] for name in first}, **constants).module()
    for inputs in (first, *others):
        with torch.no_grad():
            torch.testing.assert_close(program(**inputs, **constants).logits, model(**inputs).logits, **TOLERANCE)
        if inputs_of is answers_of:
            for name in ("input_ids", "decoder_input_ids"):
                beyond = {**inputs, name: inputs[name].clone()}
                beyond[name][0, 0] = BASE + SYMBOLS
                with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range)"):
                    program(**beyond, **constants)
    if inputs_of is words_of:
        ids = torch.zeros(1, model.config.max_positions + 1, dtype=torch.long)
        with pytest.raises(IndexError, match="out of range"):  # no such position was learned
            program(input_ids=ids, attention_mask=torch.ones_like(ids))
