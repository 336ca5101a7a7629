"""Symbols of several views in questions and answers: renamings exchange referents and keep views."""

import random
from functools import partial

import numpy as np
import pytest
import torch

from .reference import Reference, cross_entropy
from .tiny import ALL, BASE, EOS, START, Recorder, pad, rename_each, tiny_model

VIEWS = 3
ONE = ["EP", "DP", "CP"]
TOLERANCE = {"rtol": 0, "atol": 1e-10}
GENERATIONS = {
    "greedy": {},
    "beams": {"num_beams": 3, "num_return_sequences": 2},
    "sampling": {"do_sample": True, "num_return_sequences": 2},
}


def model_of(kind="streams", **overrides):
    """A tiny model of three views, without grammar; `seed=1` names symbols of several views in its answers."""
    components = ALL if kind == "streams" else ONE
    fields = {"components": components, "num_views": VIEWS, "grammar": None, "symbol_embedding": kind, **overrides}
    return tiny_model(**{"seed": 1, "num_symbols": 7, "random_dim": 4, **fields})


def symbol(referent, view):
    return BASE + referent * VIEWS + view


def texts(rng, counts, referents=range(7), length=9):
    """Sources with so many referents each, all in random views, and answers that also write views they do not have."""
    sources, targets = [], []
    for count in counts:
        own = rng.sample(referents, count)
        tokens = [symbol(referent, rng.randrange(VIEWS)) for referent in [*own, *own][: length - 2]]
        sources.append([*rng.sample([*tokens, 5, 6, 7], len(tokens) + 3), EOS])
        written = [symbol(referent, view) for referent in own for view in range(VIEWS)]
        targets.append([START, *(rng.choice([3, 5, 8, *written]) for _ in range(5))])
    return sources, targets


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_the_loss_is_that_of_the_pseudocodes_logits_at_referent_and_view(label_smoothing):
    model = model_of(loss="cross_entropy", label_smoothing=label_smoothing)
    (source,), (target,) = texts(random.Random(2), (3,))
    with torch.no_grad():
        loss = model(torch.tensor([source]), labels=torch.tensor([[*target[1:], EOS]])).loss
    expected = Reference(model).answer(source, target)
    columns = []
    for token in [*target[1:], EOS]:
        referent, view = divmod(token - BASE, VIEWS)
        columns.append(BASE + expected.referents.index(referent) * VIEWS + view if token >= BASE else token)
    logits = expected.logits.tolist()
    wanted = cross_entropy(logits, columns)
    spread = [cross_entropy(logits, [column] * len(columns)) for column in range(len(logits[0]))]
    assert float(loss) == pytest.approx((1 - label_smoothing) * wanted + label_smoothing * np.mean(spread), abs=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["streams", "canonical"])
def test_renamings_that_keep_views_rename_logits_and_answers_bit_for_bit(kind, dtype):
    """Each example of a mixed batch is renamed in its own way."""
    model, rng = model_of(kind, dtype=dtype), random.Random(3)
    sources, targets = texts(rng, (4, 0, 2, 6))
    batch, targets = pad(sources), torch.tensor(targets)
    written = set()
    for _ in range(3):
        apply = partial(rename_each, renamings=[rng.sample(range(7), 7) for _ in sources], views=VIEWS)
        other = {**batch, "input_ids": apply(batch["input_ids"])}
        with torch.no_grad():
            before = model(**batch, decoder_input_ids=targets, return_id_logits=True).logits
            after = model(**other, decoder_input_ids=apply(targets), return_id_logits=True).logits
        columns = torch.arange(BASE + 7 * VIEWS).expand(len(sources), -1)
        assert torch.equal(after.gather(2, apply(columns)[:, None].expand_as(before)), before)
        for settings in GENERATIONS.values():
            torch.manual_seed(0)
            expected = model.generate(**batch, max_new_tokens=8, **settings)
            torch.manual_seed(0)
            assert torch.equal(model.generate(**other, max_new_tokens=8, **settings), apply(expected))
            written |= {(token - BASE) % VIEWS for token in expected.flatten().tolist() if token >= BASE}
    assert written == set(range(VIEWS))


def test_functions_and_streamers_of_a_user_see_ids_and_a_prompt_may_have_views():
    model, wanted = model_of(), [symbol(5, 2), symbol(900, 0), symbol(900, 1)]
    seen, streamer = [], Recorder()

    def allowed(index, written):
        seen.append(written.tolist())
        return [wanted[len(written) - 2], symbol(44, 0)] if len(written) < 5 else [EOS]

    prompt = torch.tensor([[START, symbol(900, 2)]])
    source = torch.tensor([[symbol(5, 1), 5, symbol(900, 0), EOS]])
    answer = model.generate(
        source, decoder_input_ids=prompt, prefix_allowed_tokens_fn=allowed, streamer=streamer, max_new_tokens=4
    )
    assert answer.tolist() == [[START, symbol(900, 2), *wanted, EOS]]
    assert torch.equal(torch.cat([value.flatten() for value in streamer.values]), answer[0])
    assert seen == [answer[0, :length].tolist() for length in range(2, 6)]
    assert model.slot_referents(source, decoder_input_ids=prompt).tolist() == [[5, 900]]


def test_a_symbol_without_random_part_is_named_by_its_id():
    with pytest.raises(ValueError, match=f"symbol id {symbol(5000, 0)}: .* ids {BASE} … {symbol(15, 2)} "):
        model_of("random")(torch.tensor([[symbol(5000, 1), EOS]]))
