"""Canonical names inside the model: `symbol_embedding="canonical"` is a learned vocabulary behind canonical ids."""

import random

import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.evaluation.invariance import canonical

from .tiny import BASE, START, formula_with, pad, rename, tiny_model


def batch_of(config, counts, referents=range(1000), seed=0):
    rng = random.Random(seed)
    return [
        formula_with(rng, 3 * count + 2, [BASE + referent for referent in rng.sample(list(referents), count)], config)
        for count in counts
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_renamed_inputs_give_renamed_logits_and_answers_bit_for_bit(dtype):
    model = tiny_model("ltl-baseline", symbol_embedding="canonical", num_symbols=7, dtype=dtype, seed=3)
    sources = batch_of(model.config, (0, 3, 7, 4), seed=1)
    own = [[token for token in row if token >= BASE] for row in sources]
    targets = torch.tensor([[START, 3, 8, *(symbols * 3 or [4] * 3)[:3]] for symbols in own])
    batch = pad(sources)
    referents = sorted({token - BASE for symbols in own for token in symbols})
    renaming = dict(zip(referents, random.Random(2).sample(range(5000), len(referents)), strict=True))
    renamed = {**batch, "input_ids": rename(batch["input_ids"], renaming)}
    with torch.no_grad():
        before = model(**batch, decoder_input_ids=targets, return_id_logits=False).logits
        after = model(**renamed, decoder_input_ids=rename(targets, renaming), return_id_logits=False).logits
    assert torch.equal(before, after)
    for how in ({}, {"num_beams": 3}, {"do_sample": True}):
        torch.manual_seed(0)
        one = model.generate(**batch, max_new_tokens=9, **how)
        torch.manual_seed(0)
        assert torch.equal(model.generate(**renamed, max_new_tokens=9, **how), rename(one, renaming))


def test_the_model_is_a_learned_one_behind_canonical_names():
    """The oracle is the wrapper around a model with the same weights, which renames ids itself."""
    model = tiny_model("ltl-baseline", symbol_embedding="canonical", num_symbols=7)
    learned = SymbolInvariantForConditionalGeneration(
        SymbolInvariantConfig.from_dict({**model.config.to_dict(), "symbol_embedding": "learned"})
    )
    learned.load_state_dict(model.state_dict())
    learned.double().eval()
    sources = batch_of(model.config, (3, 7, 5), referents=range(7), seed=4)
    batch = pad(sources)
    targets = torch.tensor([[START, *[token for token in row if token >= BASE][:3], 8] for row in sources])
    with torch.no_grad():
        own = model(**batch, decoder_input_ids=targets).logits
        expected = canonical(learned)(**batch, decoder_input_ids=targets).logits
    for row, source in enumerate(sources):
        columns = [*range(BASE), *sorted({token for token in source if token >= BASE})]
        torch.testing.assert_close(own[row][:, columns], expected[row][:, columns], rtol=0, atol=1e-12)
        others = sorted(set(range(own.shape[-1])) - set(columns))
        assert (own[row][:, others] == -torch.inf).all()


def test_more_symbols_than_rows_are_refused():
    model = tiny_model("ltl-baseline", symbol_embedding="canonical", num_symbols=3)
    batch = pad(batch_of(model.config, (4,)))
    with pytest.raises(ValueError, match="an example has 4 symbols: this model has rows for 3 symbols in one example"):
        model.generate(**batch)
