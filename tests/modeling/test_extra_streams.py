"""Streams of symbols that do not occur take part in the logits of base tokens, and the renaming law stays exact."""

import random

import torch

from .test_renaming_law import answers_for, batch_of
from .tiny import ALL, BASE, tiny_model


def logits(model, batch, targets, **options):
    with torch.no_grad():
        return model(**batch, decoder_input_ids=targets, return_id_logits=True, **options).logits


def with_and_without(extra, **fields):
    """Two models with the same weights, one of them with extra streams."""
    return tiny_model(extra_streams=extra, **fields), tiny_model(**fields)


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
