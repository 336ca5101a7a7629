"""Symbols that come in while a text grows: the definition, the law, the past, `generate`, training and what is refused.

They do in answers with symbols that their question does not have, and in the texts that a decoder alone reads.
"""

import math
import random
from functools import partial

import numpy as np
import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM

from .reference import OneStreamReference, Reference, aggregate
from .tiny import ALL, BASE, EOS, PAD, SIZES, START, Recorder, pad, randomised, rename, tiny_model

LIMIT = 4
IDENTITY = {"identity_qk": True, "identity_vo": True}
PLAIN = {"loss": "cross_entropy", "normalize_embeddings": False, "normalize_features": False}
# Answers to questions with streams, and with canonical rows; texts of a decoder alone.
KINDS = ["answers", "canonical", "texts"]
VARIANTS = [
    ("answers", {}),
    ("answers", {"components": ["EP", "EA", "DP", "CP"]}),
    ("answers", {"components": ["EA", "DA", "CA"]}),
    ("answers", {"num_views": 3}),
    ("answers", {"encoder_positions": "rope", "decoder_positions": "sinusoidal", "loss": "cross_entropy"}),
    ("answers", {**IDENTITY, "decoder_positions": "t5"}),
    ("answers", {**IDENTITY, "norm_first": True}),
    ("texts", {}),
    ("texts", {"components": ["DP"]}),
    ("texts", {"decoder_positions": "sinusoidal"}),
    ("texts", {**PLAIN, "decoder_positions": "t5"}),
    ("texts", IDENTITY),
    ("texts", {**IDENTITY, "norm_first": True}),
    ("texts", {"components": ["DA"]}),  # the last one, for behind a base token all of its known symbols are as likely
]
LAWFUL = [("answers", {}), ("answers", {"num_views": 3}), ("canonical", {}), ("texts", {})]
DTYPES = [torch.float32, torch.bfloat16]
SEARCHES = {
    "greedy": {},
    "beams": {"num_beams": 3, "num_return_sequences": 2},
    "sampling": {"do_sample": True, "num_return_sequences": 2},
    "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 2.0},
}
# Few random models write new symbols; these do, if they write nothing else that they like too much.
SEEDS = {"answers": 0, "canonical": 11, "texts": 0}
WRITES = {"suppress_tokens": list(range(9)), "max_new_tokens": 9}


def model_of(kind="answers", *, dtype=torch.float64, attention="sdpa", **changes):
    seed = changes.pop("seed", SEEDS[kind])
    if kind == "texts":
        config = SymbolInvariantConfig(**{**SIZES, "encoder_layers": 0, "num_fresh_symbols": LIMIT, **changes})
        config._attn_implementation = attention
        return randomised(SymbolInvariantForCausalLM(config), seed=seed, dtype=dtype, identity=0.05)
    fields = {"components": ALL, "symbol_embedding": "streams"}
    if kind == "canonical":
        fields = {"components": ["EP", "DP", "CP"], "symbol_embedding": "canonical"}
    fields |= {"grammar": None, "num_symbols": 12, "num_fresh_symbols": LIMIT, **changes}
    return tiny_model(seed=seed, dtype=dtype, attention=attention, **fields)


def symbol(referent, view=0, views=1):
    return BASE + referent * views + view


def drawn(kind, seed=0, counts=(2, 0, 3), new=2, views=1, length=7):
    """Questions with so many symbols each, None for texts, and answers that also have so many others."""
    rng, questions, answers = random.Random(seed), [], []
    for count in counts:
        own, others = (
            [symbol(referent, rng.randrange(views), views) for referent in part]
            for part in np.split(np.array(rng.sample(range(40), count + new)), [count])
        )
        tokens = [*own, *own, 5, 6, 7]
        questions.append([*rng.sample(tokens, len(tokens)), EOS])
        answers.append([START, *(rng.choice([3, 8, *own, *others, *others]) for _ in range(length))])
    return None if kind == "texts" else questions, torch.tensor(answers)


def read(model, questions, answers, **arguments):
    """The output of a model that reads these answers to questions, or these texts."""
    if questions is None:
        return model(answers, **arguments)
    batch = questions if isinstance(questions, dict) else pad(questions)
    return model(**batch, decoder_input_ids=answers, **arguments)


def learn(model, questions, answers, **arguments):
    """The same of a model that learns to write what follows the start tokens."""
    if questions is None:
        return model(answers, labels=answers, **arguments)
    return model(**pad(questions), labels=answers[:, 1:], **arguments)


def written(model, batch, **options):
    """What `generate` adds to texts, or answers to questions."""
    rows = model.generate(**batch, **{**WRITES, **options})
    return rows if model.config.encoder_layers else rows[:, batch["input_ids"].shape[1] :]


def random_images(seed=0):
    return dict(enumerate(random.Random(seed).sample(range(90), 60)))


def close(one, other, atol=1e-9):
    """Equal to rounding, with -inf at the same places."""
    torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), atol=atol, rtol=0)


class GrowingReference(Reference):
    """The model by its definition: a new symbol's stream is the anonymous one until it occurs in what is written, and
    sees of the question what the anonymous stream sees, always."""

    def read(self, source: list[int], target: list[int]) -> list[dict]:
        """By place the logit of each base token, of each view of each symbol known by then, and of `("new", view)`."""
        config, base, views = self.config, self.config.base_vocab_size, self.config.num_views
        own, every = self.number(source), self.number([*source, *target])
        streams: list[int | None] = [None, *every]
        referents = [self.split(token)[0] for token in target]
        first = [0] * (1 + len(own)) + [referents.index(symbol) for symbol in every[len(own) :]]
        (hidden, _), length = self.embed(target, streams), len(target)
        whole = encoded_view = hidden  # which a decoder alone does not look at
        if source:
            positions = self.encoder_positions(source)
            encoded, masks = self.embed(source, streams[: 1 + len(own)])
            encoded = encoded + positions
            for layer in range(config.encoder_layers):
                encoded = self.encoder_layer(f"model.encoder.layers.{layer}", encoded, masks, positions)
            encoded = self.after("model.encoder", encoded)
            whole = np.stack([*encoded, *[encoded[0]] * (len(streams) - len(encoded))])
            encoded_view = aggregate(encoded, masks)
        hidden = hidden + self.decoder_positions(length)
        view = partial(self.aggregated, referents=referents, streams=streams, first=first)
        for layer in range(config.decoder_layers):
            hidden = self.decoder_layer(f"model.decoder.layers.{layer}", hidden, view, whole, encoded_view)
            for stream, start in enumerate(first):
                hidden[stream, :start] = hidden[0, :start]
        hidden = self.features(self.after("model.decoder", hidden))
        scale, table = self.scale, self.table()
        answer: list[dict] = []
        for t in range(length):
            here = [stream for stream in range(len(streams)) if first[stream] <= t]
            logits = {
                token: scale * sum(hidden[s, t] @ table[token] for s in here) / len(here) for token in range(base)
            }
            for stream in here:
                for view_of in range(views):
                    name = ("new" if stream == 0 else streams[stream], view_of)
                    logits[name] = scale * (hidden[stream, t] @ table[base + view_of])
            answer.append(logits)
        return answer

    def aggregated(self, hidden, referents, streams, first) -> np.ndarray:
        """At a symbol the state of its own stream, elsewhere the mean of the streams that there are by then."""
        rows = []
        for t, referent in enumerate(referents):
            here = [hidden[stream, t] for stream in range(len(streams)) if first[stream] <= t]
            rows.append(hidden[streams.index(referent), t] if referent in streams[1:] else sum(here) / len(here))
        return np.stack(rows)


def in_ids(logits_by_place, source, target, width, views) -> np.ndarray:
    """What the reference read, in id space: a new symbol at the smallest referent that has not occurred yet."""
    out = np.full((len(logits_by_place), width), -np.inf)
    for t, logits in enumerate(logits_by_place):
        known = {(token - BASE) // views for token in [*source, *target[: t + 1]] if token >= BASE}
        new = next(referent for referent in range(width) if referent not in known)
        for name, logit in logits.items():
            token = name if isinstance(name, int) else symbol(new if name[0] == "new" else name[0], name[1], views)
            out[t, token] = logit
    return out


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(("kind", "changes"), VARIANTS, ids=str)
def test_logits_are_those_of_the_definition(kind, changes, attention):
    model = model_of(kind, **changes, attention=attention)
    views = model.config.num_views
    questions, answers = drawn(kind, views=views)
    with torch.no_grad():
        logits = read(model, questions, answers).logits
    for source, target, row in zip(questions or [[]] * 3, answers.tolist(), logits, strict=True):
        expected = GrowingReference(model).read(source, target)
        close(row, in_ids(expected, source, target, row.shape[1], views))


@pytest.mark.parametrize(("kind", "changes"), [*VARIANTS[:4], ("texts", {})], ids=str)
def test_the_loss_takes_what_has_not_occurred_so_far_for_new(kind, changes):
    model = model_of(kind, **changes)
    views = model.config.num_views
    questions, answers = drawn(kind, counts=(2,), new=3, views=views, length=9)
    target, labels = answers[0, :-1].tolist(), answers[0, 1:].tolist()
    losses = []
    for t, logits in enumerate(GrowingReference(model).read(questions[0] if questions else [], target)):
        referent, view = divmod(labels[t] - BASE, views)
        name = labels[t] if labels[t] < BASE else (referent if (referent, view) in logits else "new", view)
        losses.append(np.log(sum(np.exp(list(logits.values())))) - logits[name])
    assert learn(model, questions, answers).loss.item() == pytest.approx(np.mean(losses), abs=1e-9)


@pytest.mark.parametrize("fresh", [None, LIMIT])
@pytest.mark.parametrize("views", [1, 3])
def test_canonical_logits_are_those_of_learned_rows_in_the_order_of_first_appearance(views, fresh):
    model = model_of("canonical", num_views=views, num_fresh_symbols=fresh)
    questions, answers = drawn("canonical", views=views, new=2 if fresh else 0)
    with torch.no_grad():
        logits = read(model, questions, answers, return_id_logits=False).logits
    for source, target, row in zip(questions, answers.tolist(), logits, strict=True):
        order = Reference(model).number([*source, *target])
        images = {referent: place for place, referent in enumerate(order)}
        numbered = [rename(torch.tensor(ids), images, views=views) for ids in (source, target)]
        expected = OneStreamReference(model).answer(*(ids.tolist() for ids in numbered)).logits
        for t in range(len(target)):
            known = len(Reference(model).number([*source, *target[: t + 1]])) + 1 if fresh else len(order)
            expected[t, BASE + known * views :] = -np.inf
        close(row, expected)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_row_too_few_leaves_no_new_canonical_symbol_to_write(kind):
    model = model_of(kind, num_symbols=3)
    question, answer = torch.tensor([[BASE + 7, BASE + 4, EOS]]), torch.tensor([[START, BASE + 9]])
    logits = model(question, decoder_input_ids=answer).logits[0]
    assert [int((row[BASE:] > -math.inf).sum()) for row in logits] == ([3, 4] if kind == "answers" else [3, 3])


@pytest.mark.parametrize(("kind", "changes"), [*VARIANTS, ("canonical", {})], ids=str)
def test_reading_piece_by_piece_from_a_cache_is_reading_at_once(kind, changes):
    model = model_of(kind, **changes)
    questions, answers = drawn(kind, views=model.config.num_views)
    with torch.no_grad():
        expected = read(model, questions, answers).logits
        for length in (1, 2, 4):
            cache = None
            for place, piece in enumerate(answers.split(length, dim=1)):
                output = read(model, questions, piece, past_key_values=cache, use_cache=True)
                cache, width = output.past_key_values, output.logits.shape[2]
                part = expected[:, place * length : (place + 1) * length]
                close(output.logits, part[..., :width])
                assert (part[..., width:] == -math.inf).all()


class TestRenaming:
    """Renaming the symbols of question and answer renames what comes out bit for bit, and changes nothing else."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(("kind", "changes"), LAWFUL, ids=str)
    def test_of_a_forward_pass_also_of_new_symbols_in_labels(self, kind, changes, dtype):
        model = model_of(kind, dtype=dtype, **changes)
        views, images = model.config.num_views, random_images()
        questions, answers = drawn(kind, views=views)
        given = [(questions, answers)]
        given.append((questions and [rename(torch.tensor(row), images, views=views).tolist() for row in questions],
                      rename(answers, images, views=views)))  # fmt: skip
        with torch.no_grad():
            one, two = (learn(model, *both, return_id_logits=False) for both in given)
            assert torch.equal(one.loss, two.loss) and torch.equal(one.logits, two.logits)
            one, two = (read(model, *both).logits for both in given)
        for row, place in np.ndindex(*answers.shape):
            known = [*(questions[row] if questions else []), *answers[row, : place + 1].tolist()]
            referents = {(token - BASE) // views for token in known if token >= BASE}
            ids = torch.tensor([symbol(r, v, views) for r in referents for v in range(views)], dtype=torch.long)
            before, after = one[row, place], two[row, place]
            assert torch.equal(before[:BASE], after[:BASE])
            assert torch.equal(before[ids], after[rename(ids, images, views=views)])
            # The logits of a new symbol have moved to other ids.
            assert torch.equal(*(logits[logits > -math.inf].sort().values for logits in (before, after)))

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("search", SEARCHES)
    @pytest.mark.parametrize(("kind", "changes"), LAWFUL, ids=str)
    def test_of_what_is_written_up_to_the_names_of_new_symbols(self, kind, changes, search, dtype):
        model, rows = model_of(kind, dtype=dtype, **changes), []
        views = model.config.num_views
        prompts, _ = drawn("answers", counts=(1, 0, 3, 2, 2), views=views)
        for images in (range(60), random_images(1)):
            torch.manual_seed(0)
            batch = pad(prompts)
            batch["input_ids"] = rename(batch["input_ids"], images, views=views)
            rows.append(written(model, batch, **SEARCHES[search]))
        copies, new = len(rows[0]) // len(prompts), 0
        for row, (one, two) in enumerate(zip(*(part.tolist() for part in rows), strict=True)):
            own = {(token - BASE) // views for token in prompts[row // copies] if token >= BASE}
            names = {referent: images[referent] for referent in own}
            for a, b in zip(one, two, strict=True):
                if a < BASE:
                    assert a == b
                    continue
                (old, view), (name, same) = divmod(a - BASE, views), divmod(b - BASE, views)
                assert view == same and names.setdefault(old, name) == name
            assert len(set(names.values())) == len(names)
            new += len(names) - len(own)
        assert new, "a new symbol should be written for the test to say anything of them"

    @pytest.mark.parametrize("kind", ["answers", "texts"])
    def test_shuffled_slots_change_nothing_but_rounding(self, kind):
        canonical, shuffled = model_of(kind), model_of(kind, canonical_slots=False)
        questions, answers = drawn(kind)
        orders = set()
        with torch.no_grad():
            expected = learn(canonical, questions, answers)
            for seed in range(5):
                torch.manual_seed(seed)
                output = learn(shuffled, questions, answers)
                orders.add(tuple(output.slot_referents[2].tolist()))
                close(output.logits, expected.logits)
                close(output.loss, expected.loss)
        assert len(orders) > 1
        batch = pad(drawn("answers")[0])
        for options in ({}, {"num_beams": 3}):
            assert torch.equal(*(written(model, batch, **options) for model in (canonical, shuffled)))


class TestPast:
    @pytest.mark.parametrize("dtype", [torch.float64, *DTYPES])
    @pytest.mark.parametrize(("kind", "changes"), [*VARIANTS, ("canonical", {})], ids=str)
    def test_another_future_moves_no_logit_of_the_past_by_a_bit(self, kind, changes, dtype):
        """Its symbols are others, known ones, new ones or none; a second row keeps the number of streams."""
        model, views = model_of(kind, **changes, dtype=dtype), changes.get("num_views", 1)
        a, b, c, d, e = (symbol(referent, 0, views) for referent in (2, 5, 7, 8, 9))
        questions = None if kind == "texts" else [[5, a, b, EOS], [3, EOS]]
        past, many = [START, a, 3, c, a], [START, a, b, c, d, e, 3, 3, a]
        futures = ([a, 3, b, 3], [3, 3, 8, 3], [d, 3, e, d], [c, c, c, d], [b, e, d, e])
        with torch.no_grad():
            first, *others = (
                read(model, questions, torch.tensor([[*past, *future], many]), return_id_logits=False).logits[0, :5]
                for future in futures
            )
        assert all(torch.equal(other, first) for other in others)

    @pytest.mark.parametrize(("kind", "side"), [("answers", (0, 3)), ("texts", (0, 3)), ("texts", (3, 0))])
    def test_padding_has_no_stream_even_if_it_looks_like_a_symbol(self, kind, side):
        model = model_of(kind)
        questions, answers = drawn(kind)
        padded, mask = (
            torch.nn.functional.pad(x, side, value=v) for x, v in ((answers, BASE + 9), (torch.ones_like(answers), 0))
        )
        name = "attention_mask" if kind == "texts" else "decoder_attention_mask"
        with torch.no_grad():
            expected, output = read(model, questions, answers), read(model, questions, padded, **{name: mask})
            close(output.logits[mask.bool()], expected.logits.flatten(0, 1))
            if kind == "texts":
                labels = torch.nn.functional.pad(answers, side, value=-100)
                labels[:, side[0]] = -100  # the first token has nothing before it
                loss = model(padded, mask, labels=labels).loss
                close(loss, model(answers, labels=answers).loss)

    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}], ids=str)
    def test_padding_on_either_side_gives_the_continuation_of_the_text_alone(self, options):
        model = model_of("texts")
        rows = [[START, BASE, 5, BASE + 3, 7, BASE, 6], [START, BASE + 1, 8, BASE + 1]]
        expected = [written(model, pad([row]), **options) for row in rows]
        for side in ("left", "right"):
            assert torch.equal(written(model, pad(rows, side, value=BASE + 40), **options), torch.cat(expected))


class TestGeneration:
    QUESTIONS = pad(
        [[5, BASE + 8, BASE + 2, EOS], [7, BASE + 3, EOS], [3, EOS], [6, BASE + 1, BASE + 7, BASE + 9, EOS]]
    )
    TEXTS = {"input_ids": torch.tensor([[START, BASE + 8, BASE + 2, 5], [START, 7, BASE + 3, 6], [START, 7, 5, 3]])}

    def of(self, kind):
        return self.TEXTS if kind == "texts" else self.QUESTIONS

    def read(self, model, batch, rows):
        """Logits after each token of `rows`, which `generate` gave; those of texts begin with their prompt."""
        return read(model, batch if model.config.encoder_layers else None, rows).logits

    @pytest.mark.parametrize("search", ["greedy", "beams"])
    @pytest.mark.parametrize(("kind", "changes"), [*VARIANTS[:-1], ("canonical", {})], ids=str)
    def test_with_and_without_a_cache_and_alone_the_same_is_written(self, kind, changes, search):
        model, settings = model_of(kind, **changes), SEARCHES[search]
        rows = written(model, self.QUESTIONS, **settings)
        assert torch.equal(rows, written(model, self.QUESTIONS, use_cache=False, **settings))
        for row in range(4):
            own = self.QUESTIONS["attention_mask"][row].bool()
            alone = written(model, {"input_ids": self.QUESTIONS["input_ids"][row : row + 1, own]}, **settings)
            assert torch.equal(rows[row * len(alone) : (row + 1) * len(alone), : alone.shape[1]], alone)

    @pytest.mark.parametrize("limit", [0, 1, 2])
    def test_no_other_question_changes_what_the_beams_of_one_score(self, limit):
        model, settings = model_of("answers"), {**SEARCHES["beams"], "num_fresh_symbols": limit, **WRITES}
        scores = model.generate(**self.QUESTIONS, **settings, return_dict_in_generate=True).sequences_scores
        for row, (ids, mask) in enumerate(zip(*self.QUESTIONS.values(), strict=True)):
            alone = model.generate(ids[None, mask.bool()], **settings, return_dict_in_generate=True).sequences_scores
            torch.testing.assert_close(scores[2 * row : 2 * row + 2], alone)

    def test_a_refused_call_leaves_a_cache_as_it_was(self):
        model, ids = model_of("texts"), self.TEXTS["input_ids"]
        with torch.no_grad():
            cache = model(ids[:, :3], use_cache=True).past_key_values
        with pytest.raises(ValueError, match="raise it or max_new_tokens"):
            model.generate(ids, past_key_values=cache, max_new_tokens=0)
        assert torch.equal(model.generate(ids, past_key_values=cache, **WRITES), model.generate(ids, **WRITES))

    @pytest.mark.parametrize("kind", KINDS)
    def test_greedy_writes_the_largest_logit_of_the_model(self, kind):
        model, batch = model_of(kind), self.of(kind)
        rows = model.generate(**batch, **WRITES)
        for length in range(rows.shape[1] - 9, rows.shape[1]):
            logits = self.read(model, batch, rows[:, :length])[:, -1]
            logits[:, WRITES["suppress_tokens"]] = -math.inf
            for row, ids in enumerate(batch["input_ids"].tolist()):
                own = {*ids, *rows[row, :length].tolist()}
                if sum(token >= BASE for token in own - {*ids}) == LIMIT:
                    # A new symbol stands at the smallest id that has not occurred.
                    logits[row, next(token for token in range(BASE, 99) if token not in own)] = -math.inf
            assert torch.equal(logits.argmax(1), rows[:, length])
        assert any(token >= BASE for row in rows.tolist() for token in row)

    @pytest.mark.parametrize("kind", ["answers", "texts"])
    def test_beams_fork_at_different_steps_and_score_as_the_model_does(self, kind):
        model, batch = model_of(kind), self.of(kind)
        output = model.generate(
            **batch, **WRITES, num_beams=4, num_return_sequences=4, return_dict_in_generate=True, output_scores=True,
            output_logits=True,
        )  # fmt: skip
        found = model.compute_transition_scores(output.sequences, output.logits, output.beam_indices, True)
        repeated = {name: tensor.repeat_interleave(4, 0) for name, tensor in batch.items()}
        with torch.no_grad():
            logits = self.read(model, repeated, output.sequences)[:, -10:-1].log_softmax(-1)
        close(found.double(), logits.gather(2, output.sequences[:, -9:, None]).squeeze(2), atol=1e-5)
        # A new symbol may have another id than the smallest, which prompts of other rows do not change.
        names = [[referent for referent in row if referent >= 0] for row in output.slot_referents.tolist()]
        counts = set()
        for row, tokens in enumerate(output.sequences.tolist()):
            own = {token for token in batch["input_ids"][row // 4].tolist() if token >= BASE}
            new = [token for token in dict.fromkeys(tokens) if token >= BASE and token not in own]
            assert new == [BASE + name for name in names[row // 4][len(own) :][: len(new)]]
            counts.add((row // 4, len(new)))
        assert len(counts) > len({question for question, _ in counts})

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("limit", [1, 2])
    def test_no_more_new_symbols_are_written_than_the_limit_allows(self, kind, limit):
        model, batch, most = model_of(kind, num_fresh_symbols=limit, eos_token_id=None), self.of(kind), {}
        torch.manual_seed(0)
        draws = {"do_sample": True, "temperature": 9.0, "num_return_sequences": 5}
        for options in (draws, {"num_beams": 3}, {**draws, "num_fresh_symbols": 0}, {**draws, "num_fresh_symbols": 5}):
            rows = written(model, batch, pad_token_id=PAD, **{**options, "max_new_tokens": 20})
            for row, tokens in enumerate(rows.tolist()):
                question = batch["input_ids"][row * len(batch["input_ids"]) // len(rows)].tolist()
                new = len({token for token in tokens if token >= BASE and token not in question})
                allowed = options.get("num_fresh_symbols", limit)
                most[allowed] = max(new, most.get(allowed, 0))
        assert most == {limit: limit, 0: 0, 5: 5}

    def test_new_symbols_of_a_prompt_count_and_keep_their_names(self):
        model = model_of()
        prompt = torch.tensor([[START, BASE + 30, 10, BASE + n] for n in (2, 0, 44, 44)])
        for options in ({}, {"num_beams": 3}, {"num_beams": 3, "use_cache": False}):
            rows = model.generate(**self.QUESTIONS, decoder_input_ids=prompt, **WRITES, **options)
            assert torch.equal(rows[:, :4], prompt)
            for question, row in zip(self.QUESTIONS["input_ids"].tolist(), rows.tolist(), strict=True):
                new = [token for token in dict.fromkeys(row) if token >= BASE and token not in question]
                names = [token for token in range(BASE, 99) if token not in [*question, *row[:4]]]
                begun = len([token for token in new if token in row[:4]])
                assert len(new) <= LIMIT and new[begun:] == names[: len(new) - begun]
        with pytest.raises(ValueError, match="decoder_input_ids row 1 has 2 symbols that its question does not have"):
            model.generate(**self.QUESTIONS, decoder_input_ids=prompt, num_fresh_symbols=1)

    @pytest.mark.parametrize("search", ["greedy", "beams"])
    @pytest.mark.parametrize("kind", KINDS[:2])
    def test_encoded_questions_and_a_cache_go_on_where_they_were(self, kind, search):
        model, settings = model_of(kind), {**WRITES, **SEARCHES[search]}
        encoded = model.get_encoder()(**self.QUESTIONS, return_dict=True)
        mask, prompt = self.QUESTIONS["attention_mask"], torch.tensor([[START, BASE + 30]] * 4)
        for given in ({}, {"decoder_input_ids": prompt}):
            expected = model.generate(**self.QUESTIONS, **given, **settings)
            found = model.generate(encoder_outputs=encoded, attention_mask=mask, **given, **settings)
            assert torch.equal(found, expected)
        start = model.generate(**self.QUESTIONS, **{**WRITES, "max_new_tokens": 5}, return_dict_in_generate=True)
        again = model.generate(
            **self.QUESTIONS, decoder_input_ids=start.sequences, past_key_values=start.past_key_values,
            decoder_attention_mask=torch.ones_like(start.sequences), **{**WRITES, "max_new_tokens": 4},
        )  # fmt: skip
        assert torch.equal(again, model.generate(**self.QUESTIONS, **WRITES))

    def test_a_cache_that_a_call_returns_continues_the_text_in_the_next(self):
        model, ids = model_of("texts"), self.TEXTS["input_ids"]
        whole, few = model.generate(ids, **WRITES), {**WRITES, "max_new_tokens": 5}
        start = model.generate(ids, **{**WRITES, "max_new_tokens": 4}, return_dict_in_generate=True)
        assert torch.equal(model.generate(start.sequences, **few, past_key_values=start.past_key_values), whole)
        cache = model(ids[:, :-1], use_cache=True).past_key_values
        assert torch.equal(model.generate(ids, **WRITES, past_key_values=cache), whole)

    @pytest.mark.parametrize("kind", ["answers", "texts"])
    def test_whoever_listens_gets_what_the_documentation_says(self, kind):
        model, streamer, seen = model_of(kind), Recorder(), []
        batch = {name: tensor[:1] for name, tensor in self.of(kind).items()}

        def processor(input_ids, scores):
            seen.append((input_ids, scores))
            return scores

        rows = model.generate(**batch, **WRITES, streamer=streamer, logits_processor=[processor])[0]
        assert torch.equal(torch.cat([value.flatten() for value in streamer.values]), rows) and streamer.ended
        referents = model.slot_referents(**batch)[0]
        assert referents.tolist() == [8, 2, 0, 1, 3, 4]
        inside = torch.cat((seen[-1][0][0], seen[-1][1].argmax(1))) if kind == "answers" else seen[0][0][0]
        outside = torch.where(inside >= BASE, BASE + referents[(inside - BASE).clamp(min=0)], inside)
        assert torch.equal(outside, rows[: len(outside)])
        assert kind == "texts" or {scores.shape[1] for _, scores in seen} == {BASE + len(referents)}

    @pytest.mark.parametrize("options", [{}, {"num_beams": 2}, {"num_beams": 2, "use_cache": False}], ids=str)
    def test_a_function_of_ids_may_ask_for_the_next_new_symbol(self, options):
        model, question = model_of(), self.QUESTIONS["input_ids"][:1]
        wanted = [BASE, BASE + 8, BASE + 1, BASE]

        def allowed(index, ids):
            return [wanted[len(ids) - 1], 99] if len(ids) <= 4 else [EOS]

        rows = model.generate(question, prefix_allowed_tokens_fn=allowed, max_new_tokens=6, **options)
        assert rows[0, 1:6].tolist() == [*wanted, EOS]
        with pytest.raises(ValueError, match=r"prefix_allowed_tokens_fn allows .* only, symbols that input 0 does not"):
            model.generate(question, prefix_allowed_tokens_fn=lambda index, ids: [BASE + 1], max_new_tokens=2)

    @pytest.mark.parametrize("kind", KINDS[:2])
    def test_without_the_field_no_new_symbols_are_written(self, kind):
        none, zero = (model_of(kind, num_fresh_symbols=count) for count in (None, 0))
        questions, answers = drawn(kind, new=0)
        assert torch.equal(*(learn(model, questions, answers).loss for model in (none, zero)))
        rows = [model.generate(**pad(questions), num_beams=2, max_new_tokens=6) for model in (none, zero)]
        assert torch.equal(*rows)
        own = {token for row in questions for token in row}
        assert all(token < BASE or token in own for token in rows[0].flatten().tolist())


QUESTION = torch.tensor([[5, BASE + 8, BASE + 2, EOS]])


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "changes", "arguments", "message"),
        [
            *(
                (
                    kind, {"num_fresh_symbols": 2},
                    {"labels": [[BASE + 8, EOS, -100, -100], [BASE, BASE + 3, BASE + 4, EOS]]},
                    r"labels row 1 has 3 symbols that its question .* An answer may have 2 \(num",
                )
                for kind in KINDS[:2]
            ),
            ("canonical", {"num_symbols": 3}, {"labels": [[BASE + 1, BASE + 3, EOS]] * 2},
             "an example has 4 symbols: this model has rows for 3 symbols in one example"),
            ("canonical", {"num_symbols": 4},
             {"decoder_input_ids": [[START, BASE + 1, BASE + 3, 3]] * 2, "labels": [[3, 3, 3, BASE + 6]] * 2},
             r"labels\[0, 3\]=19: this symbol is new, and all 4 rows are taken by then"),
            ("texts", {}, {"slot_vectors": [0.0]}, 'slot_vectors: symbol_embedding="streams" draws no rows'),
            ("texts", {}, {"slot_referents": [0.0]}, 'slot_referents: symbol_embedding="streams" draws no rows'),
            ("texts", {}, {"num_draws": 2}, 'num_draws: symbol_embedding="streams" draws no rows'),
            ("texts", {}, {"input_ids": [[2**20]]}, f"symbol id {2**20}: logits in id space .* return_id_logits=False"),
        ],
    )  # fmt: skip
    def test_an_impossible_call_is_refused(self, kind, changes, arguments, message):
        given = {name: torch.tensor(value) if isinstance(value, list) else value for name, value in arguments.items()}
        with pytest.raises(ValueError, match=message):
            model_of(kind, **changes)(**{"input_ids": QUESTION.repeat(2, 1), **given})

    @pytest.mark.parametrize(
        ("kind", "arguments", "message"),
        [
            ("answers", {"num_fresh_symbols": -1}, "num_fresh_symbols=-1: must be at least 0, or None for that of the"),
            ("texts", {"num_fresh_symbols": -1}, "num_fresh_symbols=-1: must be at least 0, or None for no limit"),
            ("texts", {"suppress_tokens": [BASE + 1]}, f"suppress_tokens: {BASE + 1} is a symbol"),
            ("answers", {"grammar": {"name": "assignment", "values": [3]}},
             "grammar with num_fresh_symbols=4: grammars know the symbols of the quest"),
        ],
    )  # fmt: skip
    def test_an_impossible_call_of_generate_is_refused(self, kind, arguments, message):
        with pytest.raises(ValueError, match=message):
            model_of(kind).generate(QUESTION, **arguments)

    @pytest.mark.parametrize("kind", ["answers", "texts"])
    def test_a_cache_of_another_text_is_refused(self, kind):
        model, text = model_of(kind), torch.full((1, 12), 3)
        batch = {"input_ids": QUESTION} if kind == "answers" else None
        cache = read(model, batch, torch.tensor([[START, BASE + 30]]), use_cache=True).past_key_values
        call = {"input_ids": text} if batch is None else {**batch, "decoder_input_ids": text[:, :3]}
        with pytest.raises(ValueError, match="past_key_values knows symbols that do not occur in input_ids"):
            model.generate(**call, past_key_values=cache)

    @pytest.mark.parametrize("kind", KINDS[:2])
    def test_a_graph_for_export_is_refused(self, kind):
        arguments = {"input_ids": QUESTION, "decoder_input_ids": QUESTION, "use_cache": False}
        with pytest.raises(ValueError, match=r"torch\.export: symbols come in while a text grows"):
            torch.export.export(model_of(kind), (), arguments, strict=False)
