"""Streams of symbols that do not occur take part in the logits of base tokens, and the renaming law stays exact."""

import random

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

from .test_renaming_law import GENERATIONS, answers_for, batch_of, generate, renamings
from .test_training_step import pairs, training_batch
from .tiny import BASE, rename, tiny_model

ALL = ["EP", "EA", "DP", "DA", "CP", "CA"]


def logits(model, batch, targets, **options):
    with torch.no_grad():
        return model(**batch, decoder_input_ids=targets, return_id_logits=True, **options).logits


def with_and_without(extra, **fields):
    """Two models with the same weights, one of them with extra streams."""
    return tiny_model(extra_streams=extra, **fields), tiny_model(**fields)


@pytest.mark.parametrize("kind", GENERATIONS)
def test_renamings_rename_generated_answers_bit_for_bit(kind):
    rng = random.Random(1)
    model = tiny_model(dtype=torch.float32, seed=1, extra_streams=7)
    source, symbols = batch_of(rng, model, (3,))
    every = renamings(rng, symbols)
    same = {key: value.repeat(len(every), 1) for key, value in source.items()}
    renamed = {**same, "input_ids": torch.cat([rename(source["input_ids"], renaming) for renaming in every])}
    before, after = generate(model, same, kind), generate(model, renamed, kind)
    copies = len(before) // len(every)
    for index, renaming in enumerate(every):
        part = slice(index * copies, (index + 1) * copies)
        assert torch.equal(after[part], rename(before[part], renaming))


def test_slots_in_another_order_change_nothing_but_rounding():
    rng = random.Random(2)
    model = tiny_model(components=ALL, extra_streams=5)
    batch, _ = batch_of(rng, model, (3, 1))
    targets = answers_for(rng, batch)
    before = logits(model, batch, targets)
    model.config.canonical_slots = False
    torch.testing.assert_close(logits(model, batch, targets), before, rtol=1e-12, atol=1e-12)


def test_an_answer_does_not_depend_on_what_shares_the_batch():
    rng = random.Random(3)
    model = tiny_model(components=ALL, extra_streams=4)
    batch, _ = batch_of(rng, model, (2, 5, 0))
    targets = answers_for(rng, batch)
    together = logits(model, batch, targets)
    for row in range(3):
        alone = logits(model, {name: tensor[row : row + 1] for name, tensor in batch.items()}, targets[row : row + 1])
        width = min(alone.shape[-1], together.shape[-1])
        torch.testing.assert_close(alone[0, :, :width], together[row, :, :width], rtol=1e-10, atol=1e-10)


def test_an_example_with_as_many_symbols_has_no_extra_stream():
    rng = random.Random(4)
    model, plain = with_and_without(3, components=ALL)
    batch, _ = batch_of(rng, model, (3, 5, 2))
    targets = answers_for(rng, batch)
    with_them, without = logits(model, batch, targets), logits(plain, batch, targets)
    torch.testing.assert_close(with_them[:2], without[:2], rtol=1e-10, atol=1e-10)
    assert (with_them[2, :, :BASE] - without[2, :, :BASE]).abs().max() > 1e-3
    torch.testing.assert_close(with_them[2, :, BASE:], without[2, :, BASE:], rtol=1e-10, atol=1e-10)


def test_more_extra_streams_weigh_more_and_the_mean_is_linear_in_their_share():
    """k own streams and n - k others: the logits of base tokens are k / n of those of the own ones, and the rest."""
    rng = random.Random(5)
    models = {extra: tiny_model(components=ALL, extra_streams=extra) for extra in (2, 4, 8)}
    batch, _ = batch_of(rng, models[2], (2,))
    targets = answers_for(rng, batch)
    found = {extra: logits(model, batch, targets)[..., :BASE] for extra, model in models.items()}
    others = 2 * found[4] - found[2]  # of half and half
    torch.testing.assert_close(found[8], 0.25 * found[2] + 0.75 * others, rtol=1e-10, atol=1e-10)


def test_decoding_token_by_token_gives_the_logits_of_one_pass():
    rng = random.Random(6)
    model = tiny_model(components=ALL, extra_streams=6)
    batch, _ = batch_of(rng, model, (3, 0, 1))
    targets = answers_for(rng, batch)
    expected, cache = logits(model, batch, targets), None
    encoded = model.model.encode(**batch)
    for step in range(targets.shape[1]):
        with torch.no_grad():
            output = model(
                encoder_outputs=encoded, attention_mask=batch["attention_mask"], past_key_values=cache,
                decoder_input_ids=targets[:, step : step + 1], return_id_logits=True,
            )  # fmt: skip
        cache = output.past_key_values
        torch.testing.assert_close(output.logits[:, 0], expected[:, step], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_questions_that_are_searched_together_are_answered_as_alone(kind):
    """Finished questions leave the batch, so the others' streams are chosen from it."""
    rng = random.Random(7)
    model = tiny_model(seed=1, extra_streams=5)
    batch, _ = batch_of(rng, model, (3, 1, 0, 2))
    together = generate(model, batch, kind)
    each = len(together) // 4
    for row in range(4):
        alone = generate(model, {name: tensor[row : row + 1] for name, tensor in batch.items()}, kind)
        length = min(alone.shape[1], together.shape[1])
        assert torch.equal(alone[:, :length], together[each * row : each * (row + 1), :length])


def test_fixed_streams_change_no_loss_and_every_weight_learns():
    model = tiny_model(components=ALL, extra_streams=5)
    batch = training_batch(*pairs(model.config, (2, 0, 3)))
    expected = model(**batch).loss
    torch.testing.assert_close(model(**batch, num_streams=4).loss, expected, rtol=1e-10, atol=1e-12)
    expected.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_they_come_back_from_a_file(tmp_path):
    rng = random.Random(8)
    model = tiny_model(extra_streams=5)
    model.save_pretrained(tmp_path)
    same = SymbolInvariantForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
    batch, _ = batch_of(rng, model, (2,))
    targets = answers_for(rng, batch)
    assert same.config.extra_streams == 5
    torch.testing.assert_close(logits(same, batch, targets), logits(model, batch, targets))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"extra_streams": -1}, "extra_streams=-1: must be at least 0"),
        *(
            ({"extra_streams": 3, **fields}, "extra_streams=3: is for an encoder-decoder with streams whose answers")
            for fields in (
                {"symbol_embedding": "learned"}, {"encoder_layers": 0}, {"decoder_layers": 0}, {"num_fresh_symbols": 2},
            )
        ),
    ],
)  # fmt: skip
def test_what_has_none_is_refused_and_without_the_field_it_is_not(fields, message):
    with pytest.raises((ValueError, StrictDataclassError), match=message):
        SymbolInvariantConfig(**fields)
    del fields["extra_streams"]
    SymbolInvariantConfig(**fields)
