"""`generate` searches as it says, over the model that it says, with and without a cache; beams share the encoder.

It takes what was encoded and read before, and knows the limits, whoever sets them.
"""

import copy
import math
import random

import pytest
import torch
from transformers import LogitsProcessor, LogitsProcessorList

from hf_symbinv.modeling import search_symbinv
from hf_symbinv.modeling.cache_symbinv import SymbolInvariantCache

from .tiny import ALL, BASE, EOS, PAD, START, Recorder, formula_with, pad, tiny_model

NEW_TOKENS = 9
ONE_STREAM = {"components": ["EP", "DP", "CP"]}


@pytest.fixture(scope="module")
def model():
    """A model whose answers name symbols."""
    return tiny_model(seed=19, components=ALL, spread=1.0)


@pytest.fixture(scope="module")
def sources(model):
    rng = random.Random(1)
    return [
        formula_with(rng, size, [BASE + referent for referent in referents], model.config)
        for size, referents in ((13, (3, 17, 8, 22)), (5, ()), (9, (300, 4)))
    ]


@pytest.fixture(scope="module")
def batch(model):
    """Nine questions, of which some are done early."""
    rng = random.Random(4)
    rows = [
        formula_with(rng, 3 + 2 * size, [BASE + rng.randrange(9) for _ in range(size % 4)], model.config)
        for size in range(9)
    ]
    return pad(rows, side="left")


def log_probabilities(model, source, answer):
    """Of the next token, by the whole model from scratch, in id space; PAD and START are never generated."""
    with torch.no_grad():
        logits = model(torch.tensor([source]), decoder_input_ids=torch.tensor([answer]), return_id_logits=True).logits
    scores = logits[0, -1].log_softmax(-1)
    scores[[PAD, START]] = -math.inf
    return scores


def leaves(value):
    """The tensors in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)


@pytest.mark.parametrize("arguments", [{}, {"num_beams": 3, "num_return_sequences": 2}, {"do_sample": True}])
@pytest.mark.parametrize("changes", [{}, {"decoder_positions": "t5", "identity_qk": True, "identity_vo": True}])
def test_decoding_with_and_without_a_cache_agrees(sources, arguments, changes):
    model, outputs = tiny_model(seed=19, components=ALL, spread=1.0, **changes), []
    for use_cache in (True, False):
        torch.manual_seed(0)
        outputs.append(model.generate(**pad(sources), **arguments, use_cache=use_cache, max_new_tokens=NEW_TOKENS))
    assert torch.equal(*outputs)


@pytest.mark.parametrize("arguments", [{}, {"num_beams": 3}, {"num_beams": 3, "grammar": None}])
def test_a_batch_gives_the_answers_of_its_inputs_alone_however_padded(model, sources, arguments):
    alone = [model.generate(torch.tensor([source]), **arguments, max_new_tokens=NEW_TOKENS)[0] for source in sources]
    for side in ("left", "right"):
        for extra in (0, 4):
            batch = pad(sources, side, extra=extra)
            for expected, given in zip(
                alone, model.generate(**batch, **arguments, max_new_tokens=NEW_TOKENS), strict=True
            ):
                assert torch.equal(given[: len(expected)], expected) and (given[len(expected) :] == PAD).all()


def test_encoder_keys_and_values_exist_once_per_input_and_never_move(model, sources, monkeypatch):
    shapes, pointers = set(), set()
    step = type(model)._step

    def spy(self, input_ids, attention_mask, cache, kinds, **given):
        output = step(self, input_ids, attention_mask, cache, kinds, **given)
        rows = len(input_ids)
        for name, own, layer in zip(("CP", "CA") * 2, ("DP", "DA") * 2, range(4), strict=True):
            cross, (keys, _) = cache.cross[layer], cache.own[layer].filled()
            shapes.add((name, *map(tuple, (one.shape for one in cross))))
            shapes.add((own, rows, tuple(keys.shape[:2])))
            pointers.add((layer, *(one.data_ptr() for one in cross)))
        assert len(given["encoded"]) == len(given["source"].mask) == len(sources)
        return output

    monkeypatch.setattr(type(model), "_step", spy)
    monkeypatch.setattr(search_symbinv, "SHARE", 0)  # all inputs are computed to the end
    model.generate(**pad(sources), num_beams=4, num_return_sequences=4, max_new_tokens=NEW_TOKENS)
    # The greatest numbers of symbols and tokens in `sources`; heads and their width of `tiny_model`.
    batch, streams, heads, length, width = len(sources), 4, 3, len(sources[0]), 6
    per_stream, aggregated = (batch, streams * heads, length, width), (batch, heads, length, width)
    assert shapes == {
        ("CP", per_stream, per_stream),
        ("CA", aggregated, aggregated),
        # A prompt is read once, whatever its beams.
        *(("DP", rows, (rows, streams * heads)) for rows in (batch, batch * 4)),
        *(("DA", rows, (rows, heads)) for rows in (batch, batch * 4)),
    }
    assert len(pointers) == 4


@pytest.mark.parametrize(
    "arguments",
    [{}, {"use_cache": False}, {"early_stopping": "never"}, {"do_sample": True}, {"do_sample": True, "num_beams": 1}],
)
def test_inputs_that_are_done_are_no_longer_computed_and_that_changes_no_answer(model, batch, arguments, monkeypatch):
    batches, step = [], type(model)._step

    def spy(self, input_ids, *args, **kwargs):
        batches.append(len(input_ids))
        return step(self, input_ids, *args, **kwargs)

    def answers(share, **more):
        monkeypatch.setattr(search_symbinv, "SHARE", share)
        batches.clear()
        torch.manual_seed(1)
        options = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 40, **arguments, **more}
        return model.generate(**batch, **options)

    monkeypatch.setattr(type(model), "_step", spy)
    expected = answers(0)
    assert set(batches) <= {9, 27}
    assert torch.equal(answers(1), expected)
    assert batches[-1] < 27
    every_step = answers(1, return_dict_in_generate=True, output_scores=True)
    assert set(batches) == {27}
    scored = answers(1, return_dict_in_generate=True)
    assert batches[-1] < 27 and scored.scores is None
    if arguments.get("num_beams") != 1:
        torch.testing.assert_close(scored.sequences_scores, every_step.sequences_scores)


class TestTheCache:
    @pytest.mark.parametrize("seed", range(5))
    def test_rows_that_move_in_place_are_those_of_a_cache_made_anew(self, seed):
        """Against lists of keys per row, with rows that leave and come, forks of streams and pieces of any length."""
        rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        cache, rows, streams = SymbolInvariantCache(), 6, 2
        expected = [[] for _ in range(rows)]  # of each row, keys (S·H, E) by token
        cache.referents = torch.full((rows, streams), -1)
        for _ in range(25):
            length = rng.choice([1, 1, 1, 2, 40])
            keys, values = (torch.randn(rows, 3 * streams, length, width, generator=generator) for width in (4, 3))
            found, second = cache.append(0, keys, values)
            for row in range(rows):
                expected[row] += keys[row].unbind(1)
                assert torch.equal(found[row], torch.stack(expected[row], dim=1))
            assert torch.equal(second[:, :, -length:], values) and cache.get_seq_length() == found.shape[2]
            count = rng.choice([rows, rows, rng.randint(2, 7)])
            sources = [rng.choice([row % rows, rng.randrange(rows)]) for row in range(count)]
            cache.move(sources)
            expected, rows = [list(expected[row]) for row in sources], count
            if rng.random() < 0.2:  # one stream more, a copy of the first
                streams += 1
                cache.fork(torch.full((rows, streams), -1), [0], heads=3)
                expected = [[torch.cat((token, token[:3])) for token in row] for row in expected]

    def test_nothing_is_copied_where_no_row_moved(self, monkeypatch):
        cache = SymbolInvariantCache()
        cache.append(0, torch.randn(3, 2, 5, 4), torch.randn(3, 2, 5, 4))
        monkeypatch.setattr(torch.Tensor, "index_select", None)
        monkeypatch.setattr(torch.Tensor, "index_copy_", None)
        cache.move([0, 1, 2])

    def test_gradients_pass(self):
        states = torch.randn(2, 3, 1, 4, requires_grad=True)
        cache = SymbolInvariantCache()
        cache.append(0, states, states)
        cache.append(0, 2 * states, states)[0].sum().backward()
        assert states.grad[:, 0, 0, 0].tolist() == [3.0, 3.0]


def test_return_dict_in_generate_has_ids_and_the_map_of_slots(model, sources):
    arguments = {"max_new_tokens": NEW_TOKENS, "return_dict_in_generate": True, "output_scores": True}
    arguments |= {"output_logits": True, "output_attentions": True, "output_hidden_states": True}
    for beams in (1, 3):
        output = model.generate(**pad(sources), **arguments, num_beams=beams)
        assert torch.equal(output.sequences, model.generate(**pad(sources), num_beams=beams, max_new_tokens=NEW_TOKENS))
        referents = [list(dict.fromkeys(t - BASE for t in source if t >= BASE)) for source in sources]
        assert output.slot_referents.tolist() == [[*row, *[-1] * (4 - len(row))] for row in referents]
        assert output["slot_referents"] is output.slot_referents
        assert output.scores[0].shape == output.logits[0].shape == (3 * beams, BASE + 301)
        assert len(output.encoder_attentions) == 2 and len(output.decoder_attentions[0]) == 4
        assert len(output.encoder_hidden_states) == 2 and len(output.decoder_hidden_states[0]) == 3


def test_logits_processors_see_slots_and_slot_referents_tells_which_symbols_they_are(model, sources):
    seen = []

    class OnlyLastSymbol(LogitsProcessor):
        """Lets each example use no other symbol than the one with its greatest referent."""

        def __init__(self, referents):
            self.referents = referents

        def __call__(self, input_ids, scores):
            seen.append((int(input_ids.max()), scores.shape[-1]))
            best = self.referents.amax(1, keepdim=True)
            forbidden = torch.zeros_like(scores, dtype=torch.bool)
            forbidden[:, BASE:] = self.referents != best
            return scores.masked_fill(forbidden, -math.inf)

    batch = pad(sources)
    referents = model.slot_referents(**batch)
    output = model.generate(
        **batch, logits_processor=LogitsProcessorList([OnlyLastSymbol(referents)]), max_new_tokens=NEW_TOKENS
    )
    used = [{token - BASE for token in row if token >= BASE} for row in output.tolist()]
    assert used == [{22}, set(), {300}]
    assert all(largest < BASE + 4 and width == BASE + 4 for largest, width in seen)


def test_prompts_are_continued_and_their_own_symbols_can_be_used(model, sources):
    prompt = torch.tensor([[START, BASE + 5000, 8], [START, BASE + 6000, 8], [START, BASE + 5000, 8]])
    for arguments in ({}, {"num_beams": 3}, {"use_cache": False}):
        given = {**arguments, "grammar": None, "decoder_input_ids": prompt, "max_new_tokens": NEW_TOKENS}
        output = model.generate(**pad(sources), **given)
        assert torch.equal(output[:, :3], prompt) and output.shape[1] <= 3 + NEW_TOKENS
        for row, source in zip(output.tolist(), sources, strict=True):
            answer = [*row[:3]]
            while "num_beams" not in arguments and answer[-1] != EOS and len(answer) < 3 + NEW_TOKENS:
                answer.append(int(log_probabilities(model, source, answer).argmax()))
            assert row[: len(answer)] == answer
    referents = model.slot_referents(**pad(sources), decoder_input_ids=prompt)
    assert [5000 in row or 6000 in row for row in referents.tolist()] == [True] * 3


@pytest.mark.parametrize("read", [2, 3])
def test_a_cache_that_leaves_nothing_of_the_prompt_to_read_is_refused(model, sources, read):
    batch, prompt = pad(sources[:1]), torch.tensor([[START, 9, 3, 8]])
    with torch.no_grad():
        cache = model(**batch, decoder_input_ids=prompt[:, :read], use_cache=True).past_key_values
    with pytest.raises(ValueError, match=f"has {read} tokens, the prompt 2; give a longer prompt"):
        model.generate(**batch, decoder_input_ids=prompt[:, :2], past_key_values=cache)
    written = model.generate(**batch, decoder_input_ids=prompt, past_key_values=cache)
    assert torch.equal(written, model.generate(**batch, decoder_input_ids=prompt))


def test_a_prompt_without_start_token_gets_one(model, sources):
    prompt = torch.tensor([[BASE + 3, 8, 9]])
    batch = pad(sources[:1])
    with_start = model.generate(**batch, decoder_input_ids=torch.tensor([[START, BASE + 3, 8, 9]]), max_new_tokens=6)
    assert torch.equal(model.generate(**batch, decoder_input_ids=prompt, max_new_tokens=6), with_start)


def test_only_symbols_of_the_input_are_ever_written(model):
    sources = [[5, BASE + 10**9, BASE + 7, EOS], [3, EOS]]
    for arguments in ({}, {"num_beams": 4, "num_return_sequences": 4}, {"do_sample": True, "temperature": 9.0}):
        for grammar in ({}, {"grammar": None}):
            rows = model.generate(**pad(sources), **arguments, **grammar, max_new_tokens=NEW_TOKENS).tolist()
            per = len(rows) // 2
            assert {token for row in rows[:per] for token in row} <= {*range(BASE), BASE + 10**9, BASE + 7}
            assert {token for row in rows[per:] for token in row} <= set(range(BASE))


def test_padding_and_start_are_never_generated(model, sources):
    for seed in range(3):
        torch.manual_seed(seed)
        output = model.generate(**pad(sources), do_sample=True, temperature=50.0, grammar=None, max_new_tokens=30)
        for row in output[:, 1:].tolist():
            row = row[: row.index(EOS)] if EOS in row else row
            assert PAD not in row and START not in row


def test_answers_end_also_where_the_padding_token_is_the_end_token():
    model = tiny_model(seed=19, pad_token_id=EOS, spread=1.0)
    row = model.generate(torch.tensor([[5, BASE, BASE + 1, EOS]]), max_new_tokens=NEW_TOKENS)[0]
    assert (row == EOS).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decoder_input_ids": torch.tensor([[0], [0]])}, "decoder_input_ids has batch 2, the inputs 1"),
        ({"num_beam": 3}, "num_beam=3: neither the model nor generate has such an argument; did you mean num_beams?"),
        ({"num_return_sequences": 2}, "a search gives one answer per beam; raise num"),
        ({"num_beams": 2, "streamer": Recorder()}, "streamer with num_beams=2: beams change what was written; use num"),
    ],
)
def test_bad_input_is_refused_with_a_reason(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.generate(torch.tensor([[13, 2]]), **arguments, max_new_tokens=5)


class TestEncodedInputs:
    @pytest.mark.parametrize(
        "options",
        [
            {"components": ALL},
            {"components": ALL, "canonical_slots": False},
            {"symbol_embedding": "learned", "num_symbols": 9, **ONE_STREAM},
            {"symbol_embedding": "random", "random_dim": 7, **ONE_STREAM},
        ],
    )
    @pytest.mark.parametrize("arguments", [{}, {"num_beams": 3, "num_return_sequences": 2}])
    def test_are_decoded_as_their_inputs_are(self, batch, options, arguments):
        model = tiny_model(seed=19, spread=1.0, **options)
        mask = batch["attention_mask"]
        expected = model.generate(**batch, **arguments, max_new_tokens=12)
        with torch.no_grad():
            encoded = model.get_encoder()(**batch)
        before = {name: value.clone() for name, value in encoded.items()}
        for given in ({}, {"input_ids": batch["input_ids"]}):
            found = model.generate(
                **given, attention_mask=mask, encoder_outputs=encoded, **arguments, max_new_tokens=12
            )
            assert torch.equal(found, expected)
        assert all(torch.equal(encoded[name], value) for name, value in before.items())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"decoder_input_ids": [[START, BASE + 77]] * 9},
                r"decoder_input_ids\[0, 1\]=90: this symbol has no stream",
            ),
            ({"decoder_input_ids": [[START]]}, "decoder_input_ids has batch 1, the inputs 9"),
            ({"attention_mask": [[1, 1]]}, r"attention_mask has shape \(1, 2\), but encoder_outputs is of inputs of"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, model, batch, changes, message):
        with torch.no_grad():
            encoded = model.get_encoder()(**batch)
        arguments = {"attention_mask": batch["attention_mask"]}
        arguments |= {name: torch.tensor(value) for name, value in changes.items()}
        with pytest.raises(ValueError, match=message):
            model.generate(encoder_outputs=encoded, **arguments, max_new_tokens=5)


class TestCachesThatAreGiven:
    @pytest.mark.parametrize("name", ["past_key_values", "cache"])
    def test_answers_go_on_where_they_stopped(self, model, batch, name):
        free = {"grammar": None, "suppress_tokens": [EOS]}
        expected = model.generate(**batch, **free, max_new_tokens=9)
        half = model.generate(**batch, **free, max_new_tokens=4, return_dict_in_generate=True)
        given = {"decoder_input_ids": half.sequences, "decoder_attention_mask": torch.ones_like(half.sequences)}
        found = model.generate(**batch, **free, **given, **{name: half[name]}, max_new_tokens=5)
        assert torch.equal(found, expected)

    def test_one_that_a_failed_search_left_is_read_again(self, model, batch):
        free = {"grammar": None, "suppress_tokens": [EOS], "return_dict_in_generate": True}
        half = model.generate(**batch, **free, max_new_tokens=4)
        call = {**batch, **free, "decoder_input_ids": half.sequences, "max_new_tokens": 5}
        with pytest.raises(ZeroDivisionError):
            model.generate(
                **call, cache=half.cache, logits_processor=[lambda ids, scores: scores * (1 // (6 - ids.shape[1]))]
            )
        assert torch.equal(model.generate(**call, cache=half.cache).sequences, model.generate(**call).sequences)

    @pytest.mark.parametrize("arguments", [{}, {"num_beams": 2, "num_return_sequences": 2}])
    def test_what_comes_out_may_be_learned_from(self, model, sources, arguments):
        asked = {f"output_{name}": True for name in ("scores", "logits", "attentions", "hidden_states")}
        ids = torch.tensor(sources[:1])
        output = model.generate(ids, max_new_tokens=4, return_dict_in_generate=True, **asked, **arguments)
        blocks = [(*block.filled(),) for block in output.cache.own.values()]
        tensors = list(leaves([dict(output), blocks, list(output.cache.cross.values()), output.cache.referents]))
        assert len(tensors) > 50 and not any(tensor.is_inference() for tensor in tensors)
        again = output.sequences[: len(ids)]
        model(ids, decoder_input_ids=again, labels=again).loss.backward()
        if not arguments:  # nor do weights that a search put side by side reach what comes after it
            model(ids, decoder_input_ids=again[:, -1:], past_key_values=output.cache).logits[..., 0].sum().backward()
        model.zero_grad()

    def test_beams_and_samples_go_on_from_what_was_read_once_for_each_input(self, model, batch):
        free = {"grammar": None, "suppress_tokens": [EOS]}
        half = model.generate(**batch, **free, max_new_tokens=4, return_dict_in_generate=True)
        for options in ({"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}):
            found = []
            for given in ({}, {"past_key_values": copy.deepcopy(half.cache)}):
                torch.manual_seed(0)
                call = {**batch, **free, **options, **given, "decoder_input_ids": half.sequences}
                found.append(model.generate(**call, max_new_tokens=5))
            assert torch.equal(*found)

    def test_that_do_not_fit_are_refused(self, model, batch, monkeypatch):
        monkeypatch.setattr(search_symbinv, "SHARE", 1)

        def generate(cache, **arguments):
            model.generate(**batch, past_key_values=cache, max_new_tokens=5, **arguments)

        with pytest.raises(ValueError, match="past_key_values is a tuple: keys of streams need a SymbolInvariantCache"):
            generate(((),))
        with pytest.raises(
            ValueError, match=r"past_key_values has 2 rows, but 9 inputs with their beams have 27; give a"
        ):
            two = {name: tensor[:2] for name, tensor in batch.items()}
            generate(model.generate(**two, max_new_tokens=4, return_dict_in_generate=True).cache, num_beams=3)

    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}])
    def test_one_that_lost_rows_of_answers_that_were_done_is_empty_and_goes_on_as_right(self, model, batch, options):
        def allowed(row, ids):
            return [EOS] if row % 2 else [3, 4, 5, 6, 7, 8]

        asked = {**batch, "grammar": None, "max_new_tokens": 5, "return_dict_in_generate": True}
        half = model.generate(**asked, prefix_allowed_tokens_fn=allowed, **options)
        assert half.cache.rows in (0, len(half.sequences))
        each = len(half.sequences) // 9
        prompts = half.sequences[::each]
        expected = model.generate(**asked, decoder_input_ids=prompts).sequences
        found = model.generate(**asked, decoder_input_ids=prompts, cache=half.cache if half.cache.rows < 18 else None)
        assert torch.equal(found.sequences, expected)


def test_processors_of_a_call_come_after_transformers_and_the_grammar(model, batch):
    seen = []

    def processor(input_ids, scores):
        seen.append(scores.clone())
        return scores

    arguments = {"logits_processor": LogitsProcessorList([processor]), "max_new_tokens": 6}
    model.generate(**batch, **arguments, suppress_tokens=[7])
    for scores in seen:
        assert scores.shape[1] == BASE + int(model.slot_referents(**batch).shape[1])
        assert torch.isinf(scores[:, [PAD, START, 7]]).all()
    assert torch.isinf(seen[0][:, [8, 10, EOS]]).all()  # no trace begins so
