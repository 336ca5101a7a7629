"""Answers with symbols that the question does not have: the definition, the law, the past, `generate` and training."""

import math
import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.modeling import search_symbinv
from hf_symbinv.modeling.cache_symbinv import SymbolInvariantCache

from .reference import OneStreamReference, Reference, aggregate, sinusoid
from .tiny import BASE, EOS, PAD, START, enable_checkpointing, pad, tiny_model

ALL = ["EP", "EA", "DP", "DA", "CP", "CA"]
ONE = ["EP", "DP", "CP"]
LIMIT = 4
VARIANTS = [
    {},
    {"components": ["EP", "EA", "DP", "CP"]},
    {"components": ["EA", "DA", "CA"]},
    {"num_views": 3},
    {"encoder_positions": "rope", "decoder_positions": "sinusoidal", "loss": "cross_entropy"},
    {"identity_qk": True, "identity_vo": True, "decoder_positions": "t5"},
    {"identity_qk": True, "identity_vo": True, "norm_first": True, "components": ALL},
]
KINDS = ["streams", "canonical"]
DTYPES = [torch.float32, torch.bfloat16]
SEARCHES = {
    "greedy": {},
    "beams": {"num_beams": 3, "num_return_sequences": 2},
    "sampling": {"do_sample": True, "num_return_sequences": 2},
    "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 2.0},
}
# Few random models write new symbols; these do, if they write nothing else that they like too much.
SEEDS = {"streams": 0, "canonical": 11}
WRITES = {"suppress_tokens": list(range(9)), "max_new_tokens": 9}


def model_of(kind="streams", **changes) -> SymbolInvariantForConditionalGeneration:
    fields = {"components": ALL if kind == "streams" else ONE, "num_symbols": 12, "num_fresh_symbols": LIMIT}
    return tiny_model(**{"symbol_embedding": kind, "grammar": None, "seed": SEEDS[kind], **fields, **changes})


def symbol(referent, view=0, views=1):
    return BASE + referent * views + view


def texts(seed=0, counts=(2, 0, 3), new=2, views=1, length=7):
    """Questions with so many symbols each, and answers that also have so many others, start token first."""
    rng, questions, answers = random.Random(seed), [], []
    for count in counts:
        own, *others = (
            [symbol(referent, rng.randrange(views), views) for referent in part]
            for part in np.split(np.array(rng.sample(range(40), count + new)), [count])
        )
        tokens = [*own, *own, 5, 6, 7]
        questions.append([*rng.sample(tokens, len(tokens)), EOS])
        answers.append([START, *(rng.choice([3, 8, *own, *others[0], *others[0]]) for _ in range(length))])
    return questions, torch.tensor(answers)


def renamed(ids, images, views=1):
    def of(token):
        referent, view = divmod(token - BASE, views)
        return symbol(images[referent], view, views) if token >= BASE else token

    return ids.clone().apply_(of)


def random_images(seed=0):
    return dict(enumerate(random.Random(seed).sample(range(90), 60)))


def close(one, other, atol=1e-9):
    """Equal to rounding, with -inf at the same places."""
    torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), atol=atol, rtol=0)


class NewSymbolsReference(Reference):
    """The model by its definition: a new symbol's stream is the anonymous one until it occurs in the answer, and sees
    of the question what the anonymous stream sees, always."""

    def read(self, source: list[int], target: list[int]) -> list[dict]:
        """By place the logit of each base token, of each view of each symbol known by then, and of `("new", view)`."""
        config, base, views = self.config, self.config.base_vocab_size, self.config.num_views
        own, every = self.number(source), self.number([*source, *target])
        streams: list[int | None] = [None, *every]
        referents = [(token - base) // views for token in target]
        first = [0] * (1 + len(own)) + [referents.index(symbol) for symbol in every[len(own) :]]

        encoded, masks = self.seen(source, streams[: 1 + len(own)]), []
        positions = self.encoder_positions(source)
        encoded = encoded + positions
        for stream in streams[: 1 + len(own)]:
            masks.append([float(token >= base and (token - base) // views == stream) for token in source])
        for layer in range(config.encoder_layers):
            encoded = self.encoder_layer(f"model.encoder.layers.{layer}", encoded, np.array(masks), positions)
        encoded = self.after("model.encoder", encoded)
        whole = [*encoded, *[encoded[0]] * (len(streams) - len(encoded))]

        hidden, length = self.seen(target, streams), len(target)
        if config.decoder_positions == "sinusoidal":
            hidden = hidden + np.stack([sinusoid(position, config.d_model) for position in range(length)])
        look_ahead = np.array([[key <= query for key in range(length)] for query in range(length)])
        everywhere, rotary = np.ones((length, len(source)), dtype=bool), config.decoder_positions == "rope"
        for layer in range(config.decoder_layers):
            name = f"model.decoder.layers.{layer}"
            for mode in [m for m in ("DP", "DA") if m in config.components]:
                block = f"{name}.self_attention.{mode}"
                read = self.before(block, hidden)
                mean = [self.aggregated(read, referents, streams, first)] * len(streams)
                keys = mean if mode == "DA" else list(read)
                hidden = self.after(block, hidden + self.attention(block, read, keys, look_ahead, rotary))
            for mode in [m for m in config.components if m in ("CP", "CA")]:
                block = f"{name}.cross_attention.{mode}"
                keys = whole if mode == "CP" else [aggregate(encoded, np.array(masks))] * len(streams)
                read = self.before(block, hidden)
                hidden = self.after(block, hidden + self.attention(block, read, keys, everywhere, rotary))
            hidden = self.feed_forward(f"{name}.feed_forward", hidden)
            for stream, start in enumerate(first):
                hidden[stream, :start] = hidden[0, :start]
        hidden = self.after("model.decoder", hidden)

        if config.normalize_features:
            hidden = hidden / np.sqrt((hidden**2).sum(-1, keepdims=True))
        scale, table = (self.weights["adacos.scale"] if config.loss == "adacos" else 1.0), self.table()
        answer: list[dict] = []
        for t in range(length):
            here = [stream for stream in range(len(streams)) if first[stream] <= t]
            logits = {
                token: scale * sum(hidden[s, t] @ table[token] for s in here) / len(here) for token in range(base)
            }
            for stream in here:
                for view in range(views):
                    name = ("new" if stream == 0 else streams[stream], view)
                    logits[name] = scale * (hidden[stream, t] @ table[base + view])
            answer.append(logits)
        return answer

    def seen(self, tokens, streams) -> np.ndarray:
        """What each stream sees of the tokens, `(streams, L, d)`."""
        base, views, table = self.config.base_vocab_size, self.config.num_views, self.table()

        def row(token, stream):
            referent, view = divmod(token - base, views)
            return token if token < base else base + view + (0 if referent == stream else views)

        return np.stack([[table[row(token, s)] * math.sqrt(self.config.d_model) for token in tokens] for s in streams])

    def aggregated(self, hidden, referents, streams, first) -> np.ndarray:
        """At a symbol the state of its own stream, elsewhere the mean of the streams that there are by then."""
        rows = []
        for t, referent in enumerate(referents):
            here = [hidden[stream, t] for stream in range(len(streams)) if first[stream] <= t]
            rows.append(hidden[streams.index(referent), t] if referent in streams[1:] else sum(here) / len(here))
        return np.stack(rows)


def in_ids(read, source, target, width, views) -> np.ndarray:
    """What the reference read, in id space: a new symbol at the smallest referent that has not occurred yet."""
    out = np.full((len(read), width), -np.inf)
    for t, logits in enumerate(read):
        known = {(token - BASE) // views for token in [*source, *target[: t + 1]] if token >= BASE}
        new = next(referent for referent in range(width) if referent not in known)
        for name, logit in logits.items():
            token = name if isinstance(name, int) else symbol(new if name[0] == "new" else name[0], name[1], views)
            out[t, token] = logit
    return out


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_logits_are_those_of_the_definition(changes, attention):
    model = model_of(**changes, attention=attention)
    views = model.config.num_views
    questions, answers = texts(views=views)
    with torch.no_grad():
        logits = model(**pad(questions), decoder_input_ids=answers).logits
    for source, target, row in zip(questions, answers.tolist(), logits, strict=True):
        read = NewSymbolsReference(model).read(source, target)
        close(row, in_ids(read, source, target, row.shape[1], views))


@pytest.mark.parametrize("changes", VARIANTS[:4], ids=str)
def test_the_loss_takes_what_occurs_in_neither_question_nor_answer_so_far_for_new(changes):
    model = model_of(**{**changes, "loss": "cross_entropy"})
    views = model.config.num_views
    (source,), answers = texts(counts=(2,), new=3, views=views, length=9)
    target, labels = answers[0, :-1].tolist(), answers[0, 1:].tolist()
    losses = []
    for t, logits in enumerate(NewSymbolsReference(model).read(source, target)):
        referent, view = divmod(labels[t] - BASE, views)
        name = labels[t] if labels[t] < BASE else (referent if (referent, view) in logits else "new", view)
        losses.append(np.log(sum(np.exp(list(logits.values())))) - logits[name])
    loss = model(torch.tensor([source]), labels=answers[:, 1:]).loss
    assert loss.item() == pytest.approx(np.mean(losses), abs=1e-9)


@pytest.mark.parametrize("views", [1, 2])
def test_canonical_logits_are_those_of_learned_rows_in_the_order_of_first_appearance(views):
    model = model_of("canonical", num_views=views)
    questions, answers = texts(views=views)
    with torch.no_grad():
        logits = model(**pad(questions), decoder_input_ids=answers, return_id_logits=False).logits
    for source, target, row in zip(questions, answers.tolist(), logits, strict=True):
        order = Reference(model).number([*source, *target])
        numbered = [renamed(torch.tensor(ids), {r: i for i, r in enumerate(order)}, views) for ids in (source, target)]
        expected = OneStreamReference(model).answer(*(ids.tolist() for ids in numbered)).logits
        for t in range(len(target)):
            known = len(Reference(model).number([*source, *target[: t + 1]]))
            expected[t, BASE + (known + 1) * views :] = -np.inf
        close(row, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_too_few_leaves_no_new_canonical_symbol_to_write(kind):
    model = model_of(kind, num_symbols=3)
    question, answer = torch.tensor([[BASE + 7, BASE + 4, EOS]]), torch.tensor([[START, BASE + 9]])
    logits = model(question, decoder_input_ids=answer).logits[0]
    assert [int((row[BASE:] > -math.inf).sum()) for row in logits] == ([3, 4] if kind == "streams" else [3, 3])


@pytest.mark.parametrize("pieces", [1, 2, 4])
@pytest.mark.parametrize("changes", [*VARIANTS, {"kind": "canonical"}], ids=str)
def test_reading_an_answer_piece_by_piece_from_a_cache_is_reading_it_at_once(changes, pieces):
    model = model_of(**changes)
    questions, answers = texts(views=model.config.num_views)
    batch, cache, past = pad(questions), None, []
    with torch.no_grad():
        expected = model(**batch, decoder_input_ids=answers).logits
        for piece in answers.split(pieces, dim=1):
            output = model(**batch, decoder_input_ids=piece, past_key_values=cache, use_cache=True)
            cache = output.past_key_values
            past.append(output.logits)
    for start, logits in zip(range(0, 8, pieces), past, strict=True):
        width = logits.shape[2]
        part = expected[:, start : start + pieces]
        close(logits, part[..., :width])
        assert (part[..., width:] == -math.inf).all()


@pytest.mark.parametrize("kind", KINDS)
def test_several_answers_to_one_question_are_read_as_each_alone(kind):
    model = model_of(kind)
    (questions, one), (_, other) = texts(0), texts(5)
    with torch.no_grad():
        joined = torch.stack((one, other), dim=1).flatten(0, 1)
        both = model(**pad(questions), decoder_input_ids=joined).logits
        for index, answers in enumerate((one, other)):
            alone = model(**pad(questions), decoder_input_ids=answers).logits
            width = min(alone.shape[2], both.shape[2])
            close(alone[..., :width], both[index::2, :, :width])


class TestRenaming:
    """Renaming the symbols of question and answer renames what comes out bit for bit, and changes nothing else."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("changes", [{}, {"num_views": 3}, {"kind": "canonical"}], ids=str)
    def test_of_a_forward_pass_also_of_new_symbols_in_labels(self, changes, dtype):
        model = model_of(dtype=dtype, **changes)
        views = model.config.num_views
        questions, labels = texts(views=views)
        batch, images = pad(questions), random_images()
        other = {**batch, "input_ids": renamed(batch["input_ids"], images, views)}
        with torch.no_grad():
            one = model(**batch, labels=labels, return_id_logits=False)
            two = model(**other, labels=renamed(labels, images, views), return_id_logits=False)
            assert torch.equal(one.loss, two.loss) and torch.equal(one.logits, two.logits)
            one, two = (model(**b, decoder_input_ids=a).logits for b, a in (
                (batch, labels), (other, renamed(labels, images, views))
            ))  # fmt: skip
        for row, place in np.ndindex(*labels.shape):
            known = [t for t in [*questions[row], *labels[row, : place + 1].tolist()] if t >= BASE]
            ids = torch.tensor(
                [symbol(r, v, views) for r in {(t - BASE) // views for t in known} for v in range(views)]
            )
            assert torch.equal(one[row, place, :BASE], two[row, place, :BASE])
            if known:
                assert torch.equal(one[row, place, ids], two[row, place, renamed(ids, images, views)])

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("search", SEARCHES)
    @pytest.mark.parametrize("changes", [{}, {"num_views": 3}, {"kind": "canonical"}], ids=str)
    def test_of_answers_up_to_the_names_of_new_symbols(self, changes, search, dtype):
        model = model_of(dtype=dtype, **changes)
        views = model.config.num_views
        questions, _ = texts(counts=(1, 0, 3, 2, 2), views=views)
        batch, written = pad(questions), []
        for images in (dict(enumerate(range(60))), random_images(1)):
            torch.manual_seed(0)
            ids = renamed(batch["input_ids"], images, views)
            written.append(model.generate(ids, attention_mask=batch["attention_mask"], **WRITES, **SEARCHES[search]))
        copies, new = len(written[0]) // len(questions), 0
        for row, (one, two) in enumerate(zip(*(rows.tolist() for rows in written), strict=True)):
            own = {(token - BASE) // views for token in questions[row // copies] if token >= BASE}
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

    def test_shuffled_slots_change_nothing_but_rounding(self):
        canonical, shuffled = model_of(), model_of(canonical_slots=False)
        questions, labels = texts()
        batch, orders = pad(questions), set()
        with torch.no_grad():
            expected = canonical(**batch, labels=labels)
            for seed in range(5):
                torch.manual_seed(seed)
                output = shuffled(**batch, labels=labels)
                orders.add(tuple(output.slot_referents[2].tolist()))
                close(output.logits, expected.logits)
                close(output.loss, expected.loss)
        assert len(orders) > 1
        for options in ({}, {"num_beams": 3}):
            one, two = (model.generate(**batch, **WRITES, **options) for model in (canonical, shuffled))
            assert torch.equal(one, two)


class TestPast:
    @pytest.mark.parametrize("dtype", [torch.float64, *DTYPES])
    @pytest.mark.parametrize("changes", [*VARIANTS, {"kind": "canonical"}], ids=str)
    def test_another_future_moves_no_logit_of_the_past_by_a_bit(self, changes, dtype):
        """Its symbols are others, known ones, new ones or none; a second row keeps the number of streams."""
        model, views = model_of(**changes, dtype=dtype), changes.get("num_views", 1)
        a, b, c, d, e = (symbol(referent, 0, views) for referent in (2, 5, 7, 8, 9))
        batch = pad([[5, a, b, EOS], [3, EOS]])
        past, many = [START, a, 3, c, a], [START, a, b, c, d, e, 3, 3, a]
        futures = ([a, 3, b, 3], [3, 3, 8, 3], [d, 3, e, d], [c, c, c, d], [b, e, d, e])
        with torch.no_grad():
            logits = [
                model(**batch, decoder_input_ids=torch.tensor([[*past, *future], many]), return_id_logits=False).logits
                for future in futures
            ]
        for other in logits[1:]:
            assert torch.equal(other[0, :5], logits[0][0, :5])

    @pytest.mark.parametrize("kind", KINDS)
    def test_nothing_of_an_answer_reaches_the_encoder(self, kind):
        model = model_of(kind)
        questions, answers = texts()
        with torch.no_grad():
            expected = model.model.encode(**pad(questions)).last_hidden_state
            for given in (answers, torch.full_like(answers, 3), texts(7)[1]):
                output = model(**pad(questions), labels=given)
                assert torch.equal(output.encoder_last_hidden_state, expected)

    def test_another_answer_in_the_batch_moves_an_answer_by_rounding_only(self):
        model = model_of()
        questions, answers = texts()
        with torch.no_grad():
            together = model(**pad(questions), decoder_input_ids=answers).logits
            for row, (question, answer) in enumerate(zip(questions, answers, strict=True)):
                alone = model(torch.tensor([question]), decoder_input_ids=answer[None]).logits[0]
                width = min(alone.shape[1], together.shape[2])
                close(alone[:, :width], together[row, :, :width])

    def test_the_padding_of_an_answer_has_no_stream_even_if_it_looks_like_a_symbol(self):
        model = model_of()
        questions, answers = texts()
        padded, mask = (
            torch.nn.functional.pad(x, (0, 3), value=v) for x, v in ((answers, BASE + 9), (answers * 0 + 1, 0))
        )
        with torch.no_grad():
            expected = model(**pad(questions), decoder_input_ids=answers).logits
            output = model(**pad(questions), decoder_input_ids=padded, decoder_attention_mask=mask)
            close(output.logits[:, :8], expected)


class TestGeneration:
    QUESTIONS = pad(
        [[5, BASE + 8, BASE + 2, EOS], [7, BASE + 3, EOS], [3, EOS], [6, BASE + 1, BASE + 7, BASE + 9, EOS]]
    )

    @pytest.mark.parametrize("search", ["greedy", "beams"])
    @pytest.mark.parametrize("changes", [*VARIANTS, {"kind": "canonical"}], ids=str)
    def test_with_and_without_a_cache_and_alone_the_same_is_written(self, changes, search):
        model, settings = model_of(**changes), {**WRITES, **SEARCHES[search]}
        written = model.generate(**self.QUESTIONS, **settings)
        assert torch.equal(written, model.generate(**self.QUESTIONS, use_cache=False, **settings))
        for row in range(4):
            alone = model.generate(**{k: v[row : row + 1] for k, v in self.QUESTIONS.items()}, **settings)
            together = written[row * len(alone) : (row + 1) * len(alone), : alone.shape[1]]
            assert torch.equal(together, alone)

    @pytest.mark.parametrize("kind", KINDS)
    def test_greedy_writes_the_largest_logit_of_the_model(self, kind):
        model = model_of(kind)
        written = model.generate(**self.QUESTIONS, **WRITES)
        for length in range(1, 10):
            logits = model(**self.QUESTIONS, decoder_input_ids=written[:, :length]).logits[:, -1]
            logits[:, WRITES["suppress_tokens"]] = -math.inf
            for row in range(4):
                own = {*self.QUESTIONS["input_ids"][row].tolist(), *written[row, :length].tolist()}
                new = sum(token >= BASE for token in own - {*self.QUESTIONS["input_ids"][row].tolist()})
                if new == LIMIT:  # a new symbol stands at the smallest id that has not occurred
                    logits[row, next(token for token in range(BASE, 99) if token not in own)] = -math.inf
            assert torch.equal(logits.argmax(1), written[:, length])

    def test_beams_fork_at_different_steps_and_score_as_the_model_does(self):
        model = model_of()
        output = model.generate(
            **self.QUESTIONS, **WRITES, num_beams=4, num_return_sequences=4, return_dict_in_generate=True,
            output_scores=True, output_logits=True,
        )  # fmt: skip
        found = model.compute_transition_scores(output.sequences, output.logits, output.beam_indices, True)
        with torch.no_grad():
            logits = model(**self.QUESTIONS, decoder_input_ids=output.sequences).logits.log_softmax(-1)
        # A new symbol may have another id than the smallest, which prompts of other rows do not change.
        names = [[referent for referent in row if referent >= 0] for row in output.slot_referents.tolist()]
        counts = set()
        for row, tokens in enumerate(output.sequences.tolist()):
            own = {token for token in self.QUESTIONS["input_ids"][row // 4].tolist() if token >= BASE}
            for place, token in enumerate(tokens[1:]):
                close(found[row, place].double(), logits[row, place, token], atol=1e-5)
            written = [token for token in dict.fromkeys(tokens) if token >= BASE and token not in own]
            assert written == [BASE + name for name in names[row // 4][len(own) :][: len(written)]]
            counts.add((row // 4, len(written)))
        assert len(counts) > len({input for input, _ in counts})

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("limit", [1, 2])
    def test_no_more_new_symbols_are_written_than_the_limit_allows(self, kind, limit):
        model, counts = model_of(kind, num_fresh_symbols=limit, eos_token_id=None), set()
        torch.manual_seed(0)
        draws = {"do_sample": True, "temperature": 9.0, "num_return_sequences": 5, "suppress_tokens": list(range(9))}
        for options in (draws, {"num_beams": 3}, {**draws, "num_fresh_symbols": 0}, {**draws, "num_fresh_symbols": 5}):
            written = model.generate(**self.QUESTIONS, max_new_tokens=20, pad_token_id=PAD, **options)
            for row, tokens in enumerate(written.tolist()):
                question = self.QUESTIONS["input_ids"][row * 4 // len(written)].tolist()
                new = len({token for token in tokens if token >= BASE and token not in question})
                counts.add((options.get("num_fresh_symbols", limit), new))
        assert max(new for allowed, new in counts if allowed == limit) == limit
        assert max(new for allowed, new in counts if allowed == 0) == 0
        assert max(new for allowed, new in counts if allowed == 5) == 5

    def test_new_symbols_of_a_prompt_count_and_keep_their_names(self):
        model = model_of()
        prompt = torch.tensor([[START, BASE + 30, 10, BASE + n] for n in (2, 0, 44, 44)])
        for options in ({}, {"num_beams": 3}, {"num_beams": 3, "use_cache": False}):
            written = model.generate(**self.QUESTIONS, decoder_input_ids=prompt, **WRITES, **options)
            assert torch.equal(written[:, :4], prompt)
            for question, row in zip(self.QUESTIONS["input_ids"].tolist(), written.tolist(), strict=True):
                new = [token for token in dict.fromkeys(row) if token >= BASE and token not in question]
                names = [token for token in range(BASE, 99) if token not in [*question, *row[:4]]]
                begun = len([token for token in new if token in row[:4]])
                assert len(new) <= LIMIT and new[begun:] == names[: len(new) - begun]
        with pytest.raises(ValueError, match="decoder_input_ids row 1 has 2 symbols that its question does not have"):
            model.generate(**self.QUESTIONS, decoder_input_ids=prompt, num_fresh_symbols=1)

    @pytest.mark.parametrize("search", ["greedy", "beams"])
    @pytest.mark.parametrize("kind", KINDS)
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

    def test_a_cache_of_another_answer_is_refused(self):
        model = model_of()
        batch = {key: value[:1] for key, value in self.QUESTIONS.items()}
        cache = model(**batch, decoder_input_ids=torch.tensor([[START, BASE + 30]]), use_cache=True).past_key_values
        with pytest.raises(ValueError, match="past_key_values knows symbols that do not occur in input_ids"):
            model.generate(**batch, decoder_input_ids=torch.tensor([[START, 3, 3]]), past_key_values=cache)

    def test_whoever_listens_gets_what_the_documentation_says(self):
        model, streamed, seen = model_of(), [], []
        batch = {key: value[:1] for key, value in self.QUESTIONS.items()}

        class Streamer:
            def put(self, value):
                streamed.extend(value.flatten().tolist())

            def end(self):
                streamed.append("end")

        def processor(input_ids, scores):
            seen.append((input_ids, scores))
            return scores

        written = model.generate(**batch, **WRITES, streamer=Streamer(), logits_processor=[processor])[0]
        assert streamed == [*written.tolist(), "end"]
        referents = model.slot_referents(**batch)[0]
        assert referents.tolist() == [8, 2, 0, 1, 3, 4]
        inside = torch.cat((seen[-1][0][0], seen[-1][1].argmax(1)))
        assert torch.equal(torch.where(inside >= BASE, BASE + referents[(inside - BASE).clamp(min=0)], inside), written)
        assert {scores.shape[1] for _, scores in seen} == {BASE + len(referents)}

    @pytest.mark.parametrize("options", [{}, {"num_beams": 2}, {"num_beams": 2, "use_cache": False}], ids=str)
    def test_a_function_of_ids_may_ask_for_the_next_new_symbol(self, options):
        model, question = model_of(), self.QUESTIONS["input_ids"][:1]
        wanted = [BASE, BASE + 8, BASE + 1, BASE]

        def allowed(index, written):
            return [wanted[len(written) - 1], 99] if len(written) <= 4 else [EOS]

        written = model.generate(question, prefix_allowed_tokens_fn=allowed, max_new_tokens=6, **options)
        assert written[0, 1:6].tolist() == [*wanted, EOS]
        with pytest.raises(ValueError, match=r"prefix_allowed_tokens_fn allows .* only, symbols that input 0 does not"):
            model.generate(question, prefix_allowed_tokens_fn=lambda index, ids: [BASE + 1], max_new_tokens=2)

    def test_inputs_that_are_done_are_left_out_and_change_no_answer(self, monkeypatch):
        model, kept = model_of(seed=8, spread=1.0), []
        questions, _ = texts(counts=(1, 0, 3, 2, 2, 4, 1, 0), seed=3)
        settings = {"suppress_tokens": [0, 1, *range(3, 9)], "num_beams": 3, "max_new_tokens": 25}
        original = SymbolInvariantCache.keep_questions
        monkeypatch.setattr(
            SymbolInvariantCache, "keep_questions", lambda self, *args: kept.append(args) or original(self, *args)
        )
        written = model.generate(**pad(questions), **settings)
        assert kept and any(token >= BASE and token not in questions[1] for token in written[1].tolist())
        monkeypatch.setattr(search_symbinv, "SHARE", 0)
        assert torch.equal(model.generate(**pad(questions), **settings), written)


class TestCache:
    def test_keeps_whose_stream_is_whose_when_its_rows_move(self):
        model = model_of()
        questions, answers = texts(counts=(2, 2, 2))
        questions = [questions[0]] * 3
        batch = pad(questions)
        with torch.no_grad():
            expected = model(**batch, decoder_input_ids=answers).logits
            for order in ([2, 0, 0], [0, 0, 1, 1, 2, 2]):
                cache = model(**batch, decoder_input_ids=answers[:, :5], use_cache=True).past_key_values
                cache.move(order)
                cache.cross = {index: tuple(one[:1].repeat(len(order), 1, 1, 1) for one in states)
                               for index, states in cache.cross.items()}  # fmt: skip
                rows = pad([questions[0]] * len(order))
                given = model(**rows, decoder_input_ids=answers[order, 5:], past_key_values=cache).logits
                close(given, expected[order, 5:, : given.shape[2]])

    def test_of_another_kind_is_refused(self):
        with pytest.raises(ValueError, match="past_key_values is a list: keys of streams need a SymbolInvariantCache"):
            model_of()(torch.tensor([[3, EOS]]), past_key_values=[])

    def test_taking_tokens_back_is_refused(self):
        model = model_of()
        for arguments in ({"prompt_lookup_num_tokens": 2}, {"assistant_model": model}):
            with pytest.raises(ValueError, match="a symbol that was guessed and taken back would keep its stream"):
                model.generate(torch.tensor([[3, EOS]]), **arguments)


class TestWithoutTheField:
    @pytest.mark.parametrize("kind", KINDS)
    def test_no_new_symbols_are_none(self, kind):
        none, zero = (model_of(kind, num_fresh_symbols=count) for count in (None, 0))
        questions, answers = texts(new=0)
        batch = pad(questions)
        assert torch.equal(none(**batch, labels=answers).loss, zero(**batch, labels=answers).loss)
        written = [model.generate(**batch, num_beams=2, max_new_tokens=6) for model in (none, zero)]
        assert torch.equal(*written)
        own = {token for row in questions for token in row}
        assert all(token < BASE or token in own for token in written[0].flatten().tolist())


class TestErrors:
    QUESTION = torch.tensor([[5, BASE + 8, BASE + 2, EOS]])

    @pytest.mark.parametrize("kind", KINDS)
    def test_too_many_new_symbols_in_labels_are_refused_with_their_number(self, kind):
        labels = torch.tensor([[BASE + 8, EOS, -100, -100], [BASE + 1, BASE + 3, BASE + 4, EOS]])
        with pytest.raises(
            ValueError, match=r"labels row 1 has 3 symbols that its question .* An answer may have 2 \(num"
        ):
            model_of(kind, num_fresh_symbols=2)(self.QUESTION.repeat(2, 1), labels=labels)

    def test_more_symbols_than_canonical_rows_are_refused(self):
        labels = torch.tensor([[BASE + 1, BASE + 3, EOS]])
        with pytest.raises(
            ValueError, match="an example has 4 symbols: this model has rows for 3 symbols in one example"
        ):
            model_of("canonical", num_symbols=3)(self.QUESTION, labels=labels)

    def test_a_label_that_finds_no_canonical_row_left_is_refused(self):
        given = torch.tensor([[START, BASE + 1, BASE + 3, 3]])
        with pytest.raises(
            ValueError, match=r"labels\[0, 3\]=19: this symbol is new, and all 4 rows are taken by then"
        ):
            model_of("canonical", num_symbols=4)(
                self.QUESTION, decoder_input_ids=given, labels=torch.tensor([[3, 3, 3, BASE + 6]])
            )

    def test_a_negative_limit_and_a_grammar_are_refused(self):
        with pytest.raises(ValueError, match="num_fresh_symbols=-1: must be at least 0, or None for that of the conf"):
            model_of().generate(self.QUESTION, num_fresh_symbols=-1)
        with pytest.raises(
            ValueError, match="grammar with num_fresh_symbols=4: grammars know the symbols of the quest"
        ):
            model_of().generate(self.QUESTION, grammar={"name": "assignment", "values": [3]})

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_graph_for_export_is_refused(self, kind):
        arguments = {"input_ids": self.QUESTION, "decoder_input_ids": self.QUESTION, "use_cache": False}
        with pytest.raises(ValueError, match=r"torch\.export: symbols come in while a text grows"):
            torch.export.export(model_of(kind), (), arguments, strict=False)


def pairs(rng, count, referents):
    """`a b c` → `a x b y c z`: each symbol of the question, and behind it a new one of its own; then all new ones."""
    rows = []
    for _ in range(count):
        size = rng.choice((1, 2, 3))
        own, new = np.split(np.array(rng.sample(referents, 2 * size)) + BASE, 2)
        answer = [*np.stack((own, new), 1).flatten().tolist(), *new.tolist(), EOS]
        rows.append({"input_ids": [*own.tolist(), EOS], "labels": answer})
    return rows


def padded(rows):
    labels = pad([row["labels"] for row in rows], value=-100)["input_ids"]
    return {**pad([row["input_ids"] for row in rows]), "labels": labels}


def untrained(kind):
    torch.manual_seed(0)
    return SymbolInvariantForConditionalGeneration(
        SymbolInvariantConfig(
            d_model=32, encoder_layers=1, decoder_layers=2, num_attention_heads=4, d_ff=64, dropout=0.0, num_symbols=8,
            num_fresh_symbols=3, symbol_embedding=kind, loss="cross_entropy", normalize_embeddings=False,
            normalize_features=False,
        )
    )  # fmt: skip


class TestTraining:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_model_learns_to_give_each_symbol_a_new_one(self, kind):
        model, rng = untrained(kind), random.Random(0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for _ in range(150):
            optimizer.zero_grad()
            model(**padded(pairs(rng, 16, range(6)))).loss.backward()
            optimizer.step()
        model.eval()
        rows = pairs(rng, 20, range(100, 200))
        with torch.no_grad():
            assert model(**padded(rows)).loss < 0.05
        batch = {key: value for key, value in padded(rows).items() if key != "labels"}
        for options in ({}, {"num_beams": 3}):
            written = model.generate(**batch, max_new_tokens=12, **options)
            for row, tokens in zip(rows, written.tolist(), strict=True):
                own = row["input_ids"][:-1]
                names = iter(token for token in range(BASE, 999) if token not in own)
                images = {token: token if token in own else next(names) for token in dict.fromkeys(row["labels"][:-1])}
                expected = [*(images[token] for token in row["labels"][:-1]), EOS]
                assert tokens[1 : 1 + len(expected)] == expected

    def test_micro_batches_add_up_to_the_gradient_of_the_whole(self):
        rows, gradients = pairs(random.Random(1), 4, range(9)), []
        items = sum(len(row["labels"]) for row in rows)
        for parts in ([rows], [rows[:1], rows[1:]]):
            model = untrained("streams").double()
            for part in parts:
                model(**padded(part), num_items_in_batch=items).loss.backward()
            gradients.append([parameter.grad for parameter in model.parameters()])
        for one, two in zip(*gradients, strict=True):
            close(one, two)

    def test_gradient_checkpointing_gives_the_same_gradients(self):
        gradients = []
        for checkpointing in (False, True):
            model = model_of().train()
            if checkpointing:
                enable_checkpointing(model)
            questions, answers = texts()
            model(**pad(questions), labels=answers).loss.backward()
            gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
        for name, gradient in gradients[0].items():
            assert gradient.abs().max() > 0 or name.endswith("k_proj.bias"), name
            torch.testing.assert_close(gradients[1][name], gradient)

    def test_a_trainer_evaluates_batches_of_different_numbers_of_symbols(self, tmp_path):
        model, seen = untrained("streams"), []
        arguments = Seq2SeqTrainingArguments(
            str(tmp_path), max_steps=2, per_device_train_batch_size=4, per_device_eval_batch_size=2, use_cpu=True,
            report_to=[], disable_tqdm=True, dataloader_pin_memory=False, predict_with_generate=True,
        )  # fmt: skip
        rows = pairs(random.Random(2), 8, range(8))
        trainer = Seq2SeqTrainer(
            model, arguments, train_dataset=rows, eval_dataset=rows, data_collator=padded,
            compute_metrics=lambda prediction: seen.append(prediction) or {},
        )  # fmt: skip
        trainer.train()
        assert trainer.evaluate(max_new_tokens=6)["eval_loss"] > 0 and len(seen[0].predictions) == 8
        arguments.predict_with_generate = False
        trainer.evaluate()
        assert len(seen[1].predictions) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_comes_back(kind, tmp_path):
    model = model_of(kind, dtype=torch.float32)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    questions, answers = texts()
    assert loaded.config.num_fresh_symbols == LIMIT
    given, expected = (one(**pad(questions), decoder_input_ids=answers).logits for one in (loaded, model))
    assert torch.equal(given, expected)
