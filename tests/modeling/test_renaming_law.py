"""The theorem: renaming the symbols of the input renames the output, and changes nothing else, bit for bit."""

import itertools
import random

import pytest
import torch

from .tiny import ALL, BASE, START, formula_with, pad, rename, rename_each, tiny_model

DTYPES = [torch.float32, torch.bfloat16]
IDENTITIES = {"identity_qk": True, "identity_vo": True, "identity_multiplier": 0.3}
LAWFUL = {
    "all components": {"components": ALL},
    "extra streams": {"components": ALL, "extra_streams": 6},
    "identities": {"components": ALL, "decoder_positions": "t5", **IDENTITIES},
    "canonical": {"symbol_embedding": "canonical", "components": None, "num_symbols": 7},
}


def renamings(rng, symbols, count=None):
    """All permutations of `symbols` among themselves, or `count` random renamings, half of them to any referents."""
    if count is None:
        return [dict(zip(symbols, image, strict=True)) for image in itertools.permutations(symbols)]
    pool = [*range(2 * len(symbols)), *range(10_000, 10_000 + len(symbols))]
    images = (rng.sample(symbols if i % 2 else pool, len(symbols)) for i in range(count))
    return [dict(zip(symbols, image, strict=True)) for image in images]


def batch_of(rng, model, counts, referents=range(26)):
    """Sources with `counts` symbols each, and the referents of all of them."""
    sources = []
    for count in counts:
        symbols = [BASE + referent for referent in rng.sample(referents, count)]
        sources.append(formula_with(rng, 3 * count + 2, symbols, model.config))
    return pad(sources), sorted({token - BASE for source in sources for token in source if token >= BASE})


def answers_for(rng, batch, length=6):
    """Random answers made of base tokens and each input's own symbols, start token first."""
    known = [[3, 5, 8, 9, *(token for token in row if token >= BASE)] for row in batch["input_ids"].tolist()]
    return torch.tensor([[START, *(rng.choice(tokens) for _ in range(length))] for tokens in known])


def id_logits(model, batch, targets):
    with torch.no_grad():
        return model(**batch, decoder_input_ids=targets, return_id_logits=True).logits


GENERATIONS = {
    "greedy": {},
    "greedy without grammar": {"grammar": None},
    "beam": {"num_beams": 3, "num_return_sequences": 3},
    "beam without grammar": {"num_beams": 3, "num_return_sequences": 2, "grammar": None},
    "sampling": {"do_sample": True, "num_return_sequences": 2},
    "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 2.0},
}


def talkative(dtype, **overrides):
    """A model whose answers name symbols; with most seeds a random model repeats a constant."""
    return tiny_model(dtype=dtype, seed=1, **overrides)


def generate(model, batch, kind):
    torch.manual_seed(0)
    return model.generate(**batch, max_new_tokens=12, **GENERATIONS[kind])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LAWFUL)
def test_renamings_to_any_referents_rename_the_logits_of_ids_bit_for_bit(name, dtype):
    rng = random.Random(0)
    model = tiny_model(dtype=dtype, **LAWFUL[name])
    batch, symbols = batch_of(rng, model, (4, 0, 1))
    targets = answers_for(rng, batch)
    before = id_logits(model, batch, targets)
    for renaming in renamings(rng, symbols, 10):
        renamed = {**batch, "input_ids": rename(batch["input_ids"], renaming)}
        after = id_logits(model, renamed, rename(targets, renaming))
        expected = torch.full_like(after, -torch.inf)
        expected[..., :BASE] = before[..., :BASE]
        for old, new in renaming.items():
            expected[..., BASE + new] = before[..., BASE + old]
        assert torch.equal(after, expected)


@pytest.mark.parametrize(
    ("name", "dtype"), [*(("streams", dtype) for dtype in DTYPES), *((name, torch.float32) for name in LAWFUL)]
)
@pytest.mark.parametrize("kind", GENERATIONS)
def test_all_120_renamings_of_5_symbols_rename_generated_answers_bit_for_bit(kind, name, dtype):
    """All in one batch, so that every renaming is decoded among others."""
    rng = random.Random(1)
    model = talkative(dtype, **LAWFUL.get(name, {}))
    source, symbols = batch_of(rng, model, (5,))
    every = renamings(rng, symbols)
    same = {key: value.repeat(len(every), 1) for key, value in source.items()}
    renamed = {**same, "input_ids": rename_each(same["input_ids"], every)}
    before, after = generate(model, same, kind), generate(model, renamed, kind)
    assert torch.equal(after, rename_each(before, every))
    assert name != "streams" or len(set(before[before >= BASE].tolist())) >= 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_renamings_of_up_to_30_symbols_in_mixed_batches_rename_logits_and_answers(dtype):
    """Different numbers of symbols share the batch, and each example is renamed in its own way."""
    rng = random.Random(3)
    model = talkative(dtype)
    for counts in ((0, 7, 2), (30, 0, 3)):
        batch, _ = batch_of(rng, model, counts, referents=range(1000))
        targets = answers_for(rng, batch)
        referents = [sorted({t - BASE for t in row if t >= BASE}) for row in batch["input_ids"].tolist()]
        for trial in range(2):
            own = [renamings(rng, symbols, 2)[trial] for symbols in referents]
            named = False
            renamed = {**batch, "input_ids": rename_each(batch["input_ids"], own)}
            with torch.no_grad():
                before = model(**batch, decoder_input_ids=targets, return_id_logits=False).logits
                after = model(**renamed, decoder_input_ids=rename_each(targets, own), return_id_logits=False).logits
            assert torch.equal(before, after)
            for kind in ("greedy", "beam"):
                answers = generate(model, batch, kind)
                assert torch.equal(generate(model, renamed, kind), rename_each(answers, own))
                named = named or (answers >= BASE).any()
            assert named


@pytest.mark.parametrize("dtype", DTYPES)
def test_symbols_of_a_prompt_are_renamed_with_the_input(dtype):
    rng = random.Random(4)
    model = talkative(dtype)
    batch, symbols = batch_of(rng, model, (3,))
    prompt = torch.tensor([[START, BASE + 500, 8, 9, 5, BASE + symbols[0]]])
    for renaming in renamings(rng, [*symbols, 500], 4):
        renamed = {**batch, "input_ids": rename(batch["input_ids"], renaming)}
        for kind in ("greedy", "beam"):
            before = generate(model, {**batch, "decoder_input_ids": prompt}, kind)
            assert (before[:, : prompt.shape[1]] == prompt).all()
            after = generate(model, {**renamed, "decoder_input_ids": rename(prompt, renaming)}, kind)
            assert torch.equal(after, rename(before, renaming))


@pytest.mark.parametrize("fields", [{}, {"components": ALL}, {"components": ALL, "extra_streams": 5}], ids=str)
def test_with_shuffled_slots_the_logits_are_renamed_to_rounding(fields):
    """Step 2 and 3 of the paper's proof: no operation depends on the order of the streams."""
    rng = random.Random(5)
    canonical, shuffled = tiny_model(**fields), tiny_model(**fields, canonical_slots=False)
    batch, _ = batch_of(rng, canonical, (6, 0, 3))
    targets = answers_for(rng, batch)
    with torch.no_grad():
        expected = canonical(**batch, decoder_input_ids=targets, return_id_logits=True).logits
        orders = set()
        for seed in range(8):
            torch.manual_seed(seed)
            output = shuffled(**batch, decoder_input_ids=targets)
            orders.add(tuple(output.slot_referents[0].tolist()))
            given = shuffled(**batch, decoder_input_ids=targets, return_id_logits=True).logits
            torch.testing.assert_close(given, expected, rtol=0, atol=1e-10)
    assert len(orders) > 1


def test_with_shuffled_slots_generated_answers_are_the_same():
    rng = random.Random(6)
    canonical, shuffled = talkative(torch.float64), talkative(torch.float64, canonical_slots=False)
    batch, _ = batch_of(rng, canonical, (5, 0, 2))
    for kind in ("greedy", "beam", "beam without grammar"):
        assert torch.equal(generate(canonical, batch, kind), generate(shuffled, batch, kind))
