"""The assignment grammar makes malformed answers impossible, closes each in time and forbids nothing else."""

import itertools
import random

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from hf_symbinv.logic import parse_assignment
from hf_symbinv.modeling.configuration_symbinv import check_grammar
from hf_symbinv.modeling.grammar_symbinv import AssignmentGrammar, GrammarProcessor

from .tiny import EOS, START, formula_with, pad, tiny_model

BASE, VALUES = 10, [3, 4]  # of the "prop" preset
GRAMMAR = {"name": "assignment", "values": VALUES}


def assignments(symbols, limit):
    """All assignments of `symbols` with at most `limit` tokens, EOS included."""
    for count in range(1, len(symbols) + 1):
        for chosen in itertools.permutations(symbols, count):
            for values in itertools.product(VALUES, repeat=count):
                answer = [token for pair in zip(chosen, values, strict=True) for token in pair]
                if len(answer) < limit:
                    yield (*answer, EOS)


def allowed_after(prefixes, limit, scores=None):
    """For each of equally long prefixes, the set of tokens that the processor lets follow, among 3 symbols."""
    processor = GrammarProcessor(AssignmentGrammar(GRAMMAR, BASE, EOS), [3] * len(prefixes), 1 + limit)
    for place in range(len(prefixes[0])):
        processor.follow(range(len(prefixes)), [prefix[place] for prefix in prefixes])
    rows = torch.tensor([[START, *prefix] for prefix in prefixes])
    scores = torch.zeros(len(rows), BASE + 3) if scores is None else scores
    scores = processor(rows, scores)
    assert ((scores == 0) | (scores == -torch.inf)).all()
    return [set((row == 0).nonzero()[:, 0].tolist()) for row in scores]


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 8])
def test_allowed_tokens_are_exactly_those_that_some_assignment_within_the_limit_continues_with(limit):
    continuations = {}
    for answer in assignments(range(BASE, BASE + 3), limit):
        for stop in range(len(answer)):
            continuations.setdefault(answer[:stop], set()).add(answer[stop])
    for length in range(limit):
        prefixes = [prefix for prefix in continuations if len(prefix) == length]
        if prefixes:
            assert allowed_after(prefixes, limit) == [continuations[prefix] for prefix in prefixes]


def test_symbols_that_do_not_exist_are_no_symbols_and_no_row_is_left_without_a_token():
    scores = torch.zeros(3, BASE + 3)
    scores[1, BASE + 1 :] = -torch.inf
    scores[2, BASE:] = -torch.inf
    assert allowed_after([[]] * 3, 9, scores) == [{BASE, BASE + 1, BASE + 2}, {BASE}, {EOS}]
    used = [[BASE, 3]] * 3
    assert allowed_after(used, 9, scores) == [{BASE + 1, BASE + 2, EOS}, {EOS}, {EOS}]
    scores[:, EOS] = -torch.inf  # as a minimal length does
    assert allowed_after(used, 9, scores) == [{BASE + 1, BASE + 2}, {EOS}, {EOS}]
    scores[:, VALUES] = -torch.inf  # as n-grams that must not repeat do
    assert allowed_after([[BASE, 3, BASE + 1]] * 3, 9, scores) == [set(VALUES)] * 3


def test_a_row_that_has_ended_may_only_end():
    assert allowed_after([[BASE, 3, EOS], [BASE, 4, BASE + 1]], 9) == [{EOS}, set(VALUES)]


# Some inputs have fewer answers than there are beams; a search that never stops early fills the rest with repetitions.
BEAMS = {"early_stopping": "never"}
SEARCHES = {
    "greedy": {},
    "beam": {"num_beams": 3, "num_return_sequences": 3, **BEAMS},
    "more beams than short answers": {"num_beams": 7, "num_return_sequences": 7, **BEAMS},
    "sampling": {"do_sample": True, "num_return_sequences": 4, "temperature": 3.0},
    "top-k and top-p sampling": {"do_sample": True, "num_return_sequences": 4, "top_k": 2, "top_p": 0.6},
    "repetition penalty": {"repetition_penalty": 5.0, "num_beams": 2},
    "minimal length": {"min_new_tokens": 3, "num_beams": 3, **BEAMS},
    "no repetition": {"no_repeat_ngram_size": 1},
}


def check(row, symbols, limit):
    """An answer that `generate` gave: an assignment of `symbols`, empty where there are none."""
    assert EOS in row and len(row) <= 1 + limit
    answer = row[1 : row.index(EOS)]
    assert {token for token in answer if token >= BASE} <= set(symbols)
    if symbols:
        parse_assignment("".join("01"[VALUES.index(t)] if t < BASE else chr(ord("a") + t - BASE) for t in answer))
    else:
        assert not answer


@pytest.mark.parametrize("search", SEARCHES)
def test_every_answer_is_an_assignment_and_closed_in_time_for_every_limit(search):
    rng = random.Random(0)
    for limit in (3, 4, 5, 8, 12):
        model = tiny_model("prop", seed=limit, dtype=torch.float32, spread=1.0, decoder_layers=1)
        counts = (0, 1, 3)
        symbols = [[BASE + 4 * place for place in range(count)] for count in counts]
        batch = pad([formula_with(rng, 4 + len(own), own, model.config) for own in symbols])
        torch.manual_seed(limit)
        output = model.generate(**batch, **SEARCHES[search], max_new_tokens=limit).tolist()
        copies = len(output) // len(counts)
        for place, row in enumerate(output):
            check(row, symbols[place // copies], limit)


@pytest.mark.parametrize("embedding", ["learned", "renamed", "random"])
def test_in_a_fixed_vocabulary_every_symbol_may_be_assigned(embedding):
    model = tiny_model(
        "prop", dtype=torch.float32, spread=1.0, symbol_embedding=embedding, components=["EP", "DP", "CP"]
    )
    symbols = range(BASE, BASE + model.config.num_symbols)
    for row in model.generate(
        torch.tensor([[5, BASE, BASE + 1, EOS], [7, BASE + 2, EOS, 1]]), max_new_tokens=9
    ).tolist():
        check(row, symbols, 9)


def test_a_limit_that_no_assignment_can_meet_is_refused():
    model = tiny_model("prop", dtype=torch.float32)
    message = r"at most 2 new tokens: the shortest assignment has 3 \(a symbol, its value, EOS\); raise max_new_tokens"
    with pytest.raises(ValueError, match=message):
        model.generate(torch.tensor([[BASE, EOS]]), max_new_tokens=2)
    assert model.generate(torch.tensor([[BASE, EOS]]), max_new_tokens=2, grammar=None).shape[1] <= 3


@pytest.mark.parametrize(
    ("prompt", "position"),
    [([3], 1), ([EOS], 1), ([BASE, BASE], 2), ([BASE, 5], 2), ([BASE, 3, BASE], 3), ([BASE, 3, 3], 3)],
)
def test_a_prompt_that_begins_no_assignment_is_refused_at_its_first_wrong_token(prompt, position):
    model = tiny_model("prop", dtype=torch.float32)
    token = prompt[position - 1] if prompt[position - 1] < BASE else "a symbol"
    message = rf"decoder_input_ids\[0, {position}\], {token}: no assignment within max_length continues so"
    with pytest.raises(ValueError, match=message):
        model.generate(
            torch.tensor([[BASE, EOS]]), decoder_input_ids=torch.tensor([[START, *prompt]]), max_new_tokens=20
        )


@pytest.mark.parametrize(("prompt", "fits"), [([BASE + 1], 2), ([BASE, 3], 1), ([BASE, 3, BASE + 1], 2)])
def test_a_prompt_is_finished_within_the_limit_or_refused(prompt, fits):
    model, prompt = tiny_model("prop", dtype=torch.float32), torch.tensor([[START, *prompt]])
    source = torch.tensor([[5, BASE, BASE + 1, EOS]])
    output = model.generate(source, decoder_input_ids=prompt, max_new_tokens=fits)
    assert torch.equal(output[:, : prompt.shape[1]], prompt)
    check(output[0].tolist(), [BASE, BASE + 1], prompt.shape[1] - 1 + fits)
    if fits > 1:
        with pytest.raises(ValueError, match="no assignment within max_length continues so; correct the beginning"):
            model.generate(source, decoder_input_ids=prompt, max_new_tokens=fits - 1)


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ({"name": "json"}, "unknown grammar; use .*lasso.*assignment.* or None"),
        ({"name": "assignment"}, "values missing; give the ids of these tokens"),
        ({"name": "assignment", "values": [3, 10]}, r"grammar: values=\[3, 10\]: must be base ids, 0 … 9"),
        ({"name": "assignment", "values": []}, r"grammar: values=\[\]: give the ids of the values"),
    ],
)
def test_a_wrong_grammar_is_refused(grammar, message):
    with pytest.raises(ValueError, match=message):
        tiny_model("prop", dtype=torch.float32).generate(torch.tensor([[BASE, EOS]]), grammar=grammar, max_new_tokens=9)
    with pytest.raises(ValueError, match=message):
        check_grammar(grammar, BASE)


def test_the_preset_has_the_grammar_and_a_checkpoint_keeps_it(tmp_path):
    model = tiny_model("prop", dtype=torch.float32, spread=1.0)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert loaded.config.grammar == loaded.generation_config.grammar == GRAMMAR
    source = torch.tensor([[5, BASE, BASE + 1, EOS]])
    assert torch.equal(loaded.generate(source, max_new_tokens=7), model.generate(source, max_new_tokens=7))
