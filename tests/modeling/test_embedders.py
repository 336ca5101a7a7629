"""Models with one stream compute what the paper says: a learned row per symbol, the same renamed in every training
forward, and rows with a random part (Interchangeable Token Embeddings, sections 4 and 5).
"""

import copy
import itertools
import math
import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, Trainer, TrainingArguments

from hf_symbinv.modeling.cache_symbinv import SymbolInvariantCache
from hf_symbinv.modeling.embedding_symbinv import Slots, random_rows

from .reference import OneStreamReference, cross_entropy
from .test_generation import NEW_TOKENS, beam_search, can_be_finished, log_probabilities
from .test_training_step import gradients_of, training_batch
from .tiny import BASE, EOS, PAD, SIZES, START, enable_checkpointing, formula_with, pad, rename, tiny_model

TOLERANCE = {"rtol": 0, "atol": 1e-10}
EMBEDDINGS = ("learned", "renamed", "random")


def one_stream(symbol_embedding="learned", **overrides):
    """A tiny model with rows for 7 symbols, or with 5 random dimensions for 32."""
    fields = {"symbol_embedding": symbol_embedding, "num_symbols": 7, "random_dim": 5, **overrides}
    return tiny_model("ltl-baseline", **fields)


def texts(config, counts=(0, 3, 1, 4, 2), symbols=range(7), seed=0):
    """Sources, and targets that begin with the start token; the last target has a symbol of its own."""
    rng = random.Random(seed)
    sources, targets = [], []
    for index, count in enumerate(counts):
        own = [BASE + referent for referent in rng.sample(list(symbols), count)]
        sources.append(formula_with(rng, 6 + (index * 2) % 5, own, config))
        targets.append([START, *(rng.choice([*range(3, BASE), *own * 3]) for _ in range(3 + index % 4))])
    targets[-1].append(BASE + rng.choice(list(symbols)))
    return sources, targets


def pairs(config, **arguments):
    """Sources, and answers that end with EOS."""
    sources, targets = texts(config, **arguments)
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
        columns = [*range(BASE), *(BASE + referent for referent in expected.referents)]
        given = logits[row, : len(answer)]
        np.testing.assert_allclose(given[:, columns].numpy(), expected.logits, **TOLERANCE)
        others = sorted(set(range(logits.shape[-1])) - set(columns))
        assert (given[:, others] == -torch.inf).all()


# What a model computes


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
@pytest.mark.parametrize("switches", list(itertools.product([True, False], repeat=3)), ids=str)
def test_logits_agree_with_the_pseudocode_for_every_normalisation_switch(symbol_embedding, switches):
    names = ("normalize_parts", "normalize_embeddings", "normalize_features")
    model = one_stream(symbol_embedding, loss="cross_entropy", **dict(zip(names, switches, strict=True)))
    assert_agrees(model, *texts(model.config))


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_logits_agree_without_the_factor(symbol_embedding):
    model = one_stream(symbol_embedding, scale_embedding=False)
    assert_agrees(model, *texts(model.config))


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
@pytest.mark.parametrize("decoder_positions", ["rope", "sinusoidal"])
@pytest.mark.parametrize("encoder_positions", ["tree", "rope", "sinusoidal"])
def test_logits_agree_for_every_kind_of_positions(symbol_embedding, encoder_positions, decoder_positions):
    model = one_stream(symbol_embedding, encoder_positions=encoder_positions, decoder_positions=decoder_positions)
    sources, targets = texts(model.config)
    assert_agrees(model, sources, targets)
    assert_agrees(model, sources, targets, side="left", value=BASE + 500, extra=2)  # masked symbols stand for nothing


@pytest.mark.parametrize(("random_method", "random_dim"), [("normal", 4), ("neighbors", 3), ("hypercube", 7)])
def test_logits_agree_for_symbols_beyond_those_of_training(random_method, random_dim):
    model = one_stream("random", num_symbols=3, random_method=random_method, random_dim=random_dim)
    assert_agrees(model, *texts(model.config, symbols=range(20)))


def test_the_table_of_random_is_equation_1():
    model = one_stream("random", num_symbols=2, random_dim=4, random_method="normal")
    embedding = model.get_input_embeddings()
    vectors = embedding.assign(torch.tensor([[-1]])).vectors
    table = random_rows(embedding.weight, vectors, model.config).detach()
    learned, alpha = embedding.weight.detach()[:-1], embedding.weight.detach()[-1]
    beta = embedding.session_vectors[:2].double()
    for row, expected in zip(table[:BASE], learned, strict=True):
        wanted = torch.cat((expected / expected.norm(), torch.zeros(4)))
        torch.testing.assert_close(row, wanted / wanted.norm(), **TOLERANCE)
    for row, own in zip(table[BASE:], beta, strict=True):
        wanted = torch.cat((alpha / alpha.norm(), own / own.norm()))
        torch.testing.assert_close(row, wanted / wanted.norm(), **TOLERANCE)


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_one_table_serves_encoder_decoder_and_projection_and_learns_from_all_three(symbol_embedding):
    model = one_stream(symbol_embedding)
    assert [name for name, _ in model.named_parameters() if "embedding" in name] == ["model.embedding.weight"]
    sources, targets = texts(model.config)
    batch, target = pad(sources), {"decoder_input_ids": pad(targets)["input_ids"]}

    def loss(cosines):
        return cosines.square().sum()

    def forward(encoder, decoder, projection):
        """The three uses of the table, each in a copy of the model."""
        encoded = encoder.model.encode(**batch)
        hidden = decoder.model(attention_mask=batch["attention_mask"], encoder_outputs=encoded, **target)
        slots = Slots.from_referents(encoded.slot_referents, encoded.slot_vectors)
        return projection.lm_head(hidden.last_hidden_state, slots)

    copies = [copy.deepcopy(model) for _ in range(3)]
    torch.testing.assert_close(forward(*copies) * model.adacos.scale, model(**batch, **target).logits, **TOLERANCE)
    loss(forward(*copies)).backward()
    loss(forward(model, model, model)).backward()
    parts = [one.model.embedding.weight.grad for one in copies]
    assert all(part.abs().max() > 0 for part in parts)
    torch.testing.assert_close(sum(parts), model.model.embedding.weight.grad, **TOLERANCE)


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_decoding_token_by_token_with_a_cache_gives_the_same_logits(symbol_embedding):
    model = one_stream(symbol_embedding)
    sources, _ = texts(model.config, counts=(3, 1))
    targets = torch.tensor([[START, 5, BASE + 1, BASE + 6, 8, 9], [START, BASE, 9, BASE + 3, 4, BASE]])
    batch, cache, steps = pad(sources), SymbolInvariantCache(), []
    with torch.no_grad():
        whole = model(**batch, decoder_input_ids=targets).logits
        encoded = model.model.encode(**batch)
        for start, stop in ((0, 2), (2, 3), (3, 6)):
            output = model(
                attention_mask=batch["attention_mask"],
                encoder_outputs=encoded,
                decoder_input_ids=targets[:, start:stop],
                past_key_values=cache,
            )
            steps.append(output.logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, **TOLERANCE)


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


def test_symbols_of_one_example_mean_nothing_to_another():
    model = one_stream("random")
    sources, targets = texts(model.config, counts=(2, 3, 1), symbols=range(30))
    with torch.no_grad():
        together = model(**pad(sources), decoder_input_ids=pad(targets)["input_ids"], return_id_logits=True).logits
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            alone = model(torch.tensor([source]), decoder_input_ids=torch.tensor([target]), return_id_logits=True)
            given, width = together[row, : len(target)], alone.logits.shape[-1]
            torch.testing.assert_close(given[:, :width], alone.logits[0], **TOLERANCE)
            assert (given[:, width:] == -torch.inf).all()


# Renaming


def logits_renamed(model, sources, targets, renaming):
    """Logits of the renamed batch, with its symbols' columns in the order of the old names."""
    batch, target = pad(sources), pad(targets)["input_ids"]
    batch["input_ids"] = rename(batch["input_ids"], renaming)
    columns = [*range(BASE), *(BASE + renaming[referent] for referent in range(7))]
    with torch.no_grad():
        return model(**batch, decoder_input_ids=rename(target, renaming)).logits[..., columns]


NOBODY, EVERYBODY = {r: r for r in range(7)}, dict(enumerate([3, 0, 6, 1, 5, 2, 4]))


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_a_model_with_one_stream_is_not_invariant_under_renaming(symbol_embedding):
    model = one_stream(symbol_embedding)
    sources, targets = texts(model.config)
    difference = logits_renamed(model, sources, targets, EVERYBODY) - logits_renamed(model, sources, targets, NOBODY)
    assert difference[1:].abs().amax((1, 2)).min() > 0.1  # the first example has no symbol


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


@pytest.mark.parametrize(("symbol_embedding", "rows"), [("learned", {2}), ("renamed", set(range(7)))])
def test_renamed_reads_every_row_although_examples_have_one_symbol(symbol_embedding, rows):
    torch.manual_seed(0)
    model, read = one_stream(symbol_embedding).train(), set()
    for _ in range(40):
        model.zero_grad()
        model.model.encode(torch.tensor([[7, BASE + 2, EOS]])).last_hidden_state.square().mul(0.5).sum().backward()
        read |= set(model.model.embedding.weight.grad[BASE:].abs().amax(1).nonzero().flatten().tolist())
    assert read == rows


def test_in_evaluation_renamed_equals_learned_bit_for_bit():
    renamed, learned = one_stream("renamed"), one_stream("learned")
    sources, targets = texts(renamed.config)
    batch, target = pad(sources), pad(targets)["input_ids"]
    with torch.no_grad():
        outputs = [model(**batch, decoder_input_ids=target).logits for model in (renamed, learned)]
    assert torch.equal(*outputs)
    generated = [model.generate(**batch, num_beams=3, max_new_tokens=NEW_TOKENS) for model in (renamed, learned)]
    assert torch.equal(*generated)


def test_generate_of_renamed_in_training_mode_answers_by_one_renaming():
    renamed, learned = (one_stream(kind, num_symbols=2, seed=4, spread=1.0) for kind in ("renamed", "learned"))
    ids, swap = torch.tensor([[5, BASE, 12, BASE + 1, EOS]]), {0: 1, 1: 0}
    answer = learned.generate(ids, max_new_tokens=NEW_TOKENS)
    other = rename(learned.generate(rename(ids, swap), max_new_tokens=NEW_TOKENS), swap)
    assert answer.tolist() != other.tolist() and answer.max() >= BASE  # not only by its names
    renamed.train()
    torch.manual_seed(0)
    given = [renamed.generate(ids, max_new_tokens=NEW_TOKENS).tolist() for _ in range(12)]
    assert all(row in (answer.tolist(), other.tolist()) for row in given)
    assert answer.tolist() in given and other.tolist() in given


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


def test_random_trained_on_5_symbols_reads_and_writes_20():
    torch.manual_seed(0)
    model = one_stream("random", num_symbols=5, dtype=torch.float32, encoder_positions="rope").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for seed in range(3):
        optimizer.zero_grad()
        model(**training_batch(*pairs(model.config, symbols=range(5), seed=seed))).loss.backward()
        optimizer.step()
    rng, config = random.Random(0), model.eval().config
    sources = [formula_with(rng, 45, [BASE + referent for referent in range(12, 32)], config)]
    with torch.no_grad():
        output = model(**training_batch(sources, [[9, BASE + 31, 10, EOS]]))
    assert output.loss.isfinite() and output.logits.shape[-1] == BASE + 32
    assert output.logits[0, 0].isfinite().tolist() == [True] * (BASE + 5) + [False] * 7 + [True] * 20
    assert model.generate(**pad(sources), max_new_tokens=NEW_TOKENS).shape[0] == 1


@pytest.mark.parametrize(
    ("fields", "symbol", "message"),
    [
        (
            {"random_method": "hypercube"},
            BASE + 32,
            r"symbol id 45: this model has random parts for 32 symbols, ids 13 … 44 \(random_method=\"hypercube\", "
            r"random_dim=5\); rename the symbols if there are few enough, else use a model with a larger random_dim",
        ),
        ({"random_method": "neighbors", "random_dim": 2}, BASE + 8, "symbol id 21: this model has random parts for 8 "),
        ({"random_method": "normal"}, BASE + 4096, "symbol id 4109: this model has random parts for 4096 symbols"),
        ({"random_dim": 17}, BASE + 10**15, "this model has random parts for 4096 symbols"),
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


@pytest.fixture(scope="module", params=EMBEDDINGS)
def writer(request):
    """A model whose answers name symbols."""
    return one_stream(request.param, seed=19, spread=1.0, num_symbols=4)


@pytest.fixture(scope="module")
def sources(writer):
    rng = random.Random(1)
    return [
        formula_with(rng, size, [BASE + referent for referent in referents], writer.config)
        for size, referents in ((11, (3, 0, 2)), (5, ()), (7, (1,)))
    ]


@pytest.mark.parametrize("grammar", [True, False])
@pytest.mark.parametrize("width", [1, 3])
def test_search_agrees_with_a_slow_one_that_has_no_cache(writer, sources, width, grammar):
    output = writer.generate(
        **pad(sources),
        **({} if grammar else {"grammar": None}),
        num_beams=width,
        num_return_sequences=width,
        length_penalty=1.0,
        early_stopping="never",
        max_new_tokens=NEW_TOKENS,
    )
    for row, source in enumerate(sources):
        for rank, (_, answer) in enumerate(beam_search(writer, source, width, NEW_TOKENS, grammar)):
            given = output[row * width + rank].tolist()
            assert given == [*answer, *[PAD] * (len(given) - len(answer))]
    assert (output >= BASE).any() or not grammar


def test_sampling_follows_the_grammar_and_writes_symbols_with_a_row_only(writer, sources):
    torch.manual_seed(0)
    rows = writer.generate(**pad(sources), do_sample=True, temperature=9.0, max_new_tokens=NEW_TOKENS).tolist()
    for row in rows:
        assert can_be_finished(row[1 : row.index(EOS) + 1], NEW_TOKENS) and max(row) < BASE + 4


def test_random_writes_new_symbols_of_the_prompt():
    model = one_stream("random", seed=19, spread=1.0, num_symbols=1)
    source, prompt = [6, BASE + 21, BASE + 30, EOS], [START, BASE + 25, 8]
    row = model.generate(torch.tensor([source]), decoder_input_ids=torch.tensor([prompt]), max_new_tokens=7)[0].tolist()
    answer = list(prompt)
    while answer[-1] != EOS:
        scores = log_probabilities(model, source, answer)
        allowed = [can_be_finished([*answer[1:], token], 9) for token in range(len(scores))]
        answer.append(int(scores.masked_fill(~torch.tensor(allowed), -math.inf).argmax()))
    assert row == answer
    assert {token - BASE for token in row if token >= BASE} <= {0, 21, 25, 30}


# Training and saving


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_gradient_checkpointing_gives_the_same_gradients(symbol_embedding):
    model = one_stream(symbol_embedding, dropout=0.1).train()
    batch = training_batch(*pairs(model.config))
    expected, given = copy.deepcopy(model), copy.deepcopy(model)
    enable_checkpointing(given)
    for one in (expected, given):
        torch.manual_seed(0)
        one(**batch).loss.backward()
    for (name, parameter), other in zip(expected.named_parameters(), given.parameters(), strict=True):
        torch.testing.assert_close(other.grad, parameter.grad, rtol=0, atol=1e-12, msg=name)


def test_micro_batches_of_learned_give_the_gradient_of_the_whole_batch():
    model = one_stream()
    batch = training_batch(*pairs(model.config, counts=(0, 1, 2, 3) * 2))
    whole, whole_scale = gradients_of(model, batch, 1)
    cut, cut_scale = gradients_of(model, batch, 4)
    for name, gradient in whole.items():
        torch.testing.assert_close(cut[name], gradient, rtol=0, atol=1e-12, msg=name)
    torch.testing.assert_close(cut_scale, whole_scale, rtol=0, atol=1e-12)


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_trainer_moves_every_row_in_a_step_of_micro_batches(symbol_embedding, tmp_path):
    model = one_stream(symbol_embedding, dtype=torch.float32, dropout=0.1)
    before = copy.deepcopy(model.state_dict())
    arguments = TrainingArguments(
        str(tmp_path),
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        max_steps=1,
        learning_rate=1e-2,
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    data = list(zip(*pairs(model.config), strict=True))[:4]
    Trainer(
        model, arguments, data_collator=lambda rows: training_batch(*zip(*rows, strict=True)), train_dataset=data
    ).train()
    after = model.state_dict()
    assert all(tensor.isfinite().all() for tensor in after.values())
    moved = (after["model.embedding.weight"] != before["model.embedding.weight"]).any(1)
    assert moved.all() and after["adacos.scale"] != before["adacos.scale"]


def test_bfloat16_is_close_to_double_precision():
    for symbol_embedding in ("learned", "random"):
        model = one_stream(symbol_embedding)
        sources, targets = texts(model.config)
        batch, target = pad(sources), pad(targets)["input_ids"]
        with torch.no_grad():
            exact = model(**batch, decoder_input_ids=target).logits
            rough = model.bfloat16()(**batch, decoder_input_ids=target).logits
        assert rough.dtype == torch.bfloat16
        assert (exact - rough.double()).abs().max() < 0.25  # cosines times a scale of 4, as for streams


@pytest.mark.parametrize("symbol_embedding", EMBEDDINGS)
def test_a_loaded_model_gives_the_same_answers_in_the_same_session(symbol_embedding, tmp_path):
    model = one_stream(symbol_embedding, dtype=torch.float32, seed=19, spread=1.0)
    model.save_pretrained(tmp_path)
    # Copied, because weights that are mapped from a file lie elsewhere in memory, which changes how sums are rounded.
    loaded = copy.deepcopy(AutoModelForSeq2SeqLM.from_pretrained(tmp_path))
    sources, targets = texts(model.config)
    batch, target = pad(sources), pad(targets)["input_ids"]
    for seed in (0, 7):
        if symbol_embedding == "random":
            for one in (model, loaded):
                one.get_input_embeddings().start_session(seed)
        with torch.no_grad():
            assert torch.equal(*(one(**batch, decoder_input_ids=target).logits for one in (model, loaded)))
        assert torch.equal(*(one.generate(**batch, num_beams=3, max_new_tokens=NEW_TOKENS) for one in (model, loaded)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo's, at a graph break
def test_compiled_forward_equals_eager_forward():
    model = one_stream(dtype=torch.float32, decoder_layers=1)
    batch = training_batch(*pairs(model.config))
    # Only what is traced differs from a model with streams, whose test is of gradients, too.
    expected, given = model(**batch), torch.compile(model, backend="eager")(**batch)
    torch.testing.assert_close(given.loss, expected.loss)
    torch.testing.assert_close(given.logits, expected.logits)


def test_rows_are_fixed_when_a_model_is_made():
    with pytest.raises(ValueError, match=r"resize_token_embeddings\(30\): rows are fixed when a model is made"):
        one_stream().resize_token_embeddings(30)
    assert one_stream().resize_token_embeddings() is not None


def test_one_stream_has_the_parameters_of_per_stream_attention_and_its_rows():
    width = SIZES["d_model"]
    streams = tiny_model(components=["EP", "DP", "CP"])
    others = sum(p.numel() for p in streams.parameters()) - streams.model.embedding.weight.numel()
    for kind, rows in (
        ("learned", (BASE + 7, width)),
        ("renamed", (BASE + 7, width)),
        ("random", (BASE + 1, width - 5)),
    ):
        model = one_stream(kind)
        assert model.model.embedding.weight.shape == rows
        assert sum(p.numel() for p in model.parameters()) == others + rows[0] * rows[1]
        names = {name: p.shape for name, p in model.named_parameters() if "embedding" not in name}
        assert names == {name: p.shape for name, p in streams.named_parameters() if "embedding" not in name}
