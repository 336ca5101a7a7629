"""Models with one stream compute what the paper says: a learned row per symbol, the same renamed in every training
forward, and rows with a random part (Interchangeable Token Embeddings, sections 4 and 5).
"""

import itertools
from functools import partial

import numpy as np
import pytest
import torch

from .reference import OneStreamReference, cross_entropy
from .test_generation import log_probabilities
from .test_training_step import training_batch
from .tiny import BASE, EOS, START, examples, pad, rename, tiny_model

TOLERANCE = {"rtol": 0, "atol": 1e-10}
EMBEDDINGS = ("learned", "renamed", "random")


def one_stream(symbol_embedding="learned", **overrides):
    """A tiny model with rows for 7 symbols, or with 5 random dimensions for 32."""
    fields = {"symbol_embedding": symbol_embedding, "num_symbols": 7, "random_dim": 5, **overrides}
    return tiny_model("ltl-baseline", **fields)


texts = partial(examples, referents=range(7), late=6)


def pairs(config):
    """Sources, and answers that end with EOS."""
    sources, targets = texts(config)
    return sources, [[*target[1:], EOS] for target in targets]


def session(model):
    """The random part of every symbol, as the oracle takes it; None for models without."""
    vectors = getattr(model.get_input_embeddings(), "session_vectors", None)
    return None if vectors is None else dict(enumerate(vectors.double().numpy()))


def assert_agrees(model, sources, targets, **padding):
    """The batch gives each example the oracle's logits, and -inf for symbols that have no row in it."""
    batch, target = pad(sources, **padding), pad(targets)["input_ids"]
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=target).logits
    reference = OneStreamReference(model, session(model))
    for row, (source, answer) in enumerate(zip(sources, targets, strict=True)):
        expected = reference.answer(source, answer)
        views = model.config.num_views
        columns = [*range(BASE), *(BASE + r * views + view for r in expected.referents for view in range(views))]
        given = logits[row, : len(answer)]
        np.testing.assert_allclose(given[:, columns].numpy(), expected.logits, **TOLERANCE)
        others = sorted(set(range(logits.shape[-1])) - set(columns))
        assert (given[:, others] == -torch.inf).all()


# What a model computes


SWITCHES = [
    *({"loss": "cross_entropy", "normalize_parts": parts, "normalize_embeddings": rows, "normalize_features": features}
      for parts, rows, features in itertools.product([True, False], repeat=3)),
    {"scale_embedding": False},
    {"num_views": 3, "grammar": None},
    *({"encoder_positions": encoder, "decoder_positions": decoder}
      for encoder, decoder in (("tree", "rope"), ("rope", "sinusoidal"), ("sinusoidal", "rope"))),
]  # fmt: skip


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_logits_agree_with_the_pseudocode_for_every_switch(symbol_embedding, switches):
    """On the left, masked symbols stand for nothing."""
    model = one_stream(symbol_embedding, **switches)
    sources, targets = texts(model.config)
    assert_agrees(model, sources, targets)
    assert_agrees(model, sources, targets, side="left", value=BASE + 500, extra=2)


@pytest.mark.parametrize(("random_method", "random_dim"), [("normal", 4), ("neighbors", 3), ("hypercube", 7)])
def test_logits_agree_for_symbols_beyond_those_of_training(random_method, random_dim):
    model = one_stream("random", num_symbols=3, random_method=random_method, random_dim=random_dim)
    assert_agrees(model, *texts(model.config, referents=range(20), late=17))


# Random parts


@pytest.mark.parametrize("random_method", ["normal", "neighbors", "hypercube"])
def test_a_session_is_its_seed_whatever_was_met_before(random_method):
    first, second = (one_stream("random", random_method=random_method) for _ in range(2))
    ids = torch.tensor([[5, BASE + 9, BASE + 20, EOS]])
    with torch.no_grad():
        before = first(ids).logits
        assert torch.equal(first(ids).logits, before)
        second(torch.tensor([[5, BASE + 25, BASE + 8, EOS]]))
        torch.rand(3), second.train()(ids), second.eval()
        assert torch.equal(second(ids).logits, before)
        for model in (first, second):
            model.get_input_embeddings().start_session(1)
        other = first(ids).logits
        assert not torch.allclose(other, before)
        assert torch.equal(second(ids).logits, other)
        first.get_input_embeddings().start_session(0)
        assert torch.equal(first(ids).logits, before)


def test_evaluation_does_not_touch_the_default_generator():
    model = one_stream("random")
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    model(torch.tensor([[BASE + 9, EOS]]))
    model.get_input_embeddings().start_session(5)
    assert torch.equal(torch.rand(2), expected)


def test_every_training_forward_draws_new_vectors_from_the_default_generator():
    model = one_stream("random").train()
    ids = torch.tensor([[5, BASE, BASE + 9, EOS]])
    torch.manual_seed(0)
    first, second = model(ids), model(ids)
    assert not torch.equal(first.slot_vectors, second.slot_vectors) and not torch.equal(first.logits, second.logits)
    torch.manual_seed(0)
    assert torch.equal(model(ids).logits, first.logits)
    assert torch.equal(model(ids).logits, second.logits)
    assert first.slot_vectors.shape == (10, 5)
    assert len({tuple(row) for row in first.slot_vectors.tolist()}) == 10


def test_the_vectors_drawn_in_training_serve_encoder_decoder_and_loss():
    model = one_stream("random").train()
    sources, answers = pairs(model.config)
    for seed in (1, 2, 3):
        torch.manual_seed(seed)
        scale = float(model.adacos.scale)
        output = model(**training_batch(sources, answers))
        reference = OneStreamReference(model, dict(enumerate(output.slot_vectors.numpy())))
        rows, targets = [], []
        for source, answer in zip(sources, answers, strict=True):
            rows += (reference.answer(source, [START, *answer[:-1]]).cosines * scale).tolist()
            targets += answer  # the rows of the first 7 symbols follow those of the base tokens
        assert output.loss.item() == pytest.approx(cross_entropy(rows, targets), abs=1e-10)
        assert not torch.equal(output.slot_vectors, model.get_input_embeddings().session_vectors[:7])


# Renaming


def logits_renamed(model, sources, targets, renaming):
    """Logits of the renamed batch, with its symbols' columns in the order of the old names."""
    batch, target = pad(sources), pad(targets)["input_ids"]
    batch["input_ids"] = rename(batch["input_ids"], renaming)
    columns = [*range(BASE), *(BASE + renaming[referent] for referent in range(7))]
    with torch.no_grad():
        return model(**batch, decoder_input_ids=rename(target, renaming)).logits[..., columns]


NOBODY, EVERYBODY = {r: r for r in range(7)}, dict(enumerate([3, 0, 6, 1, 5, 2, 4]))


def test_renaming_is_shuffling_the_random_parts():
    """ITE, section 5.2.2: with the vectors renamed alongside, the renamed input gives the renamed logits."""
    model = one_stream("random")
    sources, targets = texts(model.config)
    logits = logits_renamed(model, sources, targets, NOBODY)
    vectors = model.get_input_embeddings().session_vectors
    vectors[list(EVERYBODY.values())] = vectors[list(EVERYBODY)].clone()
    torch.testing.assert_close(logits_renamed(model, sources, targets, EVERYBODY), logits, **TOLERANCE)


def test_a_training_forward_of_renamed_is_learned_on_a_renamed_batch():
    renamed, learned = one_stream("renamed").train(), one_stream("learned").train()
    batch = training_batch(*pairs(renamed.config))
    seen = set()
    for seed in range(4):
        for model in (renamed, learned):
            model.zero_grad()
            model.adacos.scale.fill_(3.0)
        torch.manual_seed(seed)
        order = torch.randperm(7).tolist()
        seen.add(tuple(order))
        torch.manual_seed(seed)
        output = renamed(**batch)
        assert output.slot_referents.tolist() == [order] * 5
        renaming = {referent: slot for slot, referent in enumerate(order)}
        expected = learned(**{**batch, **{key: rename(batch[key], renaming) for key in ("input_ids", "labels")}})
        assert torch.equal(output.loss, expected.loss) and torch.equal(output.logits, expected.logits)
        output.loss.backward(), expected.loss.backward()
        for one, other in zip(renamed.parameters(), learned.parameters(), strict=True):
            assert torch.equal(one.grad, other.grad)
        assert torch.equal(renamed.adacos.scale, learned.adacos.scale)
    assert len(seen) == 4


# Symbols without a row


@pytest.mark.parametrize("symbol_embedding", ["learned", "renamed"])
def test_a_fixed_vocabulary_refuses_an_unknown_symbol(symbol_embedding):
    model = one_stream(symbol_embedding)
    rule = (
        "symbol id 22: this model has rows for 7 symbols only, ids 13 … 19 "
        rf'\(symbol_embedding="{symbol_embedding}"\); '
        'rename the symbols if there are few enough, else use a model with "streams" or "random"'
    )
    known, unknown = torch.tensor([[5, BASE, BASE + 6, EOS]]), torch.tensor([[5, BASE, BASE + 9, EOS]])
    prompt = torch.tensor([[START, BASE + 9]])
    for call in (
        lambda: model(unknown),
        lambda: model(known, decoder_input_ids=prompt),
        lambda: model.generate(unknown),
        lambda: model.generate(known, decoder_input_ids=prompt),
        lambda: model.train()(unknown),
    ):
        with pytest.raises(ValueError, match=rule):
            call()
    masked = model.eval()(unknown, attention_mask=torch.tensor([[1, 1, 0, 1]]))
    assert masked.logits[..., : BASE + 7].isfinite().all()


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_unknown_symbols_of_labels_and_of_the_decoder_are_refused(symbol_embedding):
    model, known = one_stream(symbol_embedding), torch.tensor([[5, BASE, BASE + 6, EOS]])
    why = (
        "neither occurs in the input nor is one of the first num_symbols, so it has no row"
        if symbol_embedding == "random"
        else "has no row in this model"
    )
    with pytest.raises(ValueError, match=rf"labels\[0, 1\]=22: this symbol {why}; leave such examples out"):
        model(known, labels=torch.tensor([[9, BASE + 9, EOS]]))
    with pytest.raises(ValueError, match=rf"decoder_input_ids\[1, 2\]=22: this symbol {why}; it cannot be read"):
        model(known, decoder_input_ids=torch.tensor([[START, 9, 3], [START, 9, BASE + 9]]))


@pytest.mark.parametrize(
    ("fields", "symbol", "message"),
    [
        (
            {"random_method": "hypercube"},
            BASE + 32,
            r"symbol id 45: this model has rows for 32 symbols only, ids 13 … 44 \(symbol_embedding=\"random\"\); "
            "rename the symbols if there are few enough, else use a model with a larger random_dim",
        ),
        ({"random_method": "neighbors", "random_dim": 2}, BASE + 8, "symbol id 21: this model has rows for 8 "),
        ({"random_method": "normal"}, BASE + 4096, "symbol id 4109: this model has rows for 4096 symbols"),
        ({"random_dim": 17}, BASE + 10**15, "this model has rows for 4096 symbols"),
    ],
)
def test_random_refuses_symbols_beyond_its_random_parts(fields, symbol, message):
    model = one_stream("random", **fields)
    model(torch.tensor([[symbol - 1 if symbol < 10**9 else BASE, EOS]]))
    for mode in (model.eval(), model.train()):
        with pytest.raises(ValueError, match=message):
            mode(torch.tensor([[symbol, EOS]]))
    with pytest.raises(ValueError, match=message):
        model.eval().generate(torch.tensor([[symbol, EOS]]))


# Generation


def test_random_writes_new_symbols_of_the_prompt():
    model = one_stream("random", seed=19, spread=1.0, num_symbols=1)
    source, answer = [6, BASE + 21, BASE + 30, EOS], [START, BASE + 25, 8]
    given = {"decoder_input_ids": torch.tensor([answer]), "grammar": None, "max_new_tokens": 7}
    row = model.generate(torch.tensor([source]), **given)[0].tolist()
    while answer[-1] != EOS and len(answer) < 10:
        answer.append(int(log_probabilities(model, source, answer).argmax()))
    assert row == answer
    assert {token - BASE for token in row if token >= BASE} <= {0, 21, 25, 30}
