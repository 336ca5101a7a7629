"""A grammar makes malformed answers impossible, closes each answer in time and forbids nothing else."""

import itertools
import random
from functools import cache, partial

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoModelForSeq2SeqLM

from hf_symbinv.logic import parse_assignment, parse_trace
from hf_symbinv.modeling.grammar_symbinv import AssignmentGrammar, GrammarProcessor, LassoGrammar

from .tiny import EOS, START, formula_with, pad, text, tiny_config, tiny_model

BASES = {"ltl": 13, "prop": 10}
BASE, LASSO = BASES["ltl"], tiny_config("ltl").grammar
ALPHABET = {3: "0", 7: "!", 5: "&", 8: ";", 9: "{", 10: "}", EOS: "$", BASE: "a"}
IDS = {letter: token for token, letter in ALPHABET.items()}
OPERAND, VALUES = 10, [3, 4]  # the first symbol and the values of the "prop" preset
ASSIGNMENT = {"name": "assignment", "values": VALUES}
model_of = partial(tiny_model, dtype=torch.float32)


@cache
def states(length):
    """All states of exactly `length` tokens over 0, a, ! and &."""
    if length == 1:
        return ["0", "a"]
    unary = ["!" + state for state in states(length - 1)]
    return unary + [
        "&" + left + right
        for size in range(1, length - 1)
        for left in states(size)
        for right in states(length - 1 - size)
    ]


@cache
def joined(length):
    """All `;`-joined sequences of states of exactly `length` tokens."""
    if length < 1:
        return []
    return states(length) + [
        first + ";" + rest
        for size in range(1, length - 1)
        for first in states(size)
        for rest in joined(length - 1 - size)
    ]


def traces(length):
    """All traces of exactly `length` tokens, `$` for EOS: a cycle, perhaps behind states that each end in `;`."""
    cycles = ["{" + cycle + "}$" for cycle in joined(length - 3)]
    return cycles + [
        before + ";{" + cycle + "}$"
        for size in range(1, length)
        for before in joined(size)
        for cycle in joined(length - size - 4)
    ]


def assignments(symbols, limit):
    """All assignments of `symbols` with at most `limit` tokens, EOS included."""
    for count in range(1, len(symbols) + 1):
        for chosen in itertools.permutations(symbols, count):
            for values in itertools.product(VALUES, repeat=count):
                answer = [token for pair in zip(chosen, values, strict=True) for token in pair]
                if len(answer) < limit:
                    yield (*answer, EOS)


def continuations(answers):
    """By length, for each beginning of an answer the tokens that some answer continues it with."""
    found = {}
    for answer in answers:
        for stop in range(len(answer)):
            found.setdefault(stop, {}).setdefault(answer[:stop], set()).add(answer[stop])
    return found.values()


def allowed_after(preset, prefixes, limit, scores=None):
    """For each of equally long prefixes, the set of tokens that the processor lets follow."""
    base, symbols = BASES[preset], {"ltl": 1, "prop": 3}[preset]
    grammar = LassoGrammar(LASSO, base, EOS) if preset == "ltl" else AssignmentGrammar(ASSIGNMENT, base, EOS)
    processor = GrammarProcessor(grammar, [symbols] * len(prefixes), 1 + limit)
    for place in range(len(prefixes[0])):
        processor.follow(range(len(prefixes)), [prefix[place] for prefix in prefixes])
    rows = torch.tensor([[START, *prefix] for prefix in prefixes])
    scores = processor(rows, torch.zeros(len(rows), base + symbols) if scores is None else scores)
    assert ((scores == 0) | (scores == -torch.inf)).all()
    return [set((row == 0).nonzero()[:, 0].tolist()) for row in scores]


# 1 and | are in the same classes as 0 and &; the enumeration does without them.
SAME = {4: "0", 6: "&"}


@pytest.mark.parametrize("limit", [4, 5, 6, 7, 8, 9])
def test_allowed_tokens_are_exactly_those_that_some_trace_within_the_limit_continues_with(limit):
    for following in continuations([trace for length in range(4, limit + 1) for trace in traces(length)]):
        prefixes = [[IDS[letter] for letter in prefix] for prefix in following]
        for (prefix, letters), allowed in zip(following.items(), allowed_after("ltl", prefixes, limit), strict=True):
            twins = {token for token, twin in SAME.items() if twin in letters}
            assert allowed == {IDS[letter] for letter in letters} | twins, prefix


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 8])
def test_allowed_tokens_are_exactly_those_that_some_assignment_within_the_limit_continues_with(limit):
    for following in continuations(assignments(range(OPERAND, OPERAND + 3), limit)):
        assert allowed_after("prop", list(following), limit) == list(following.values())


def test_symbols_that_do_not_exist_are_no_symbols_and_no_row_is_left_without_a_token():
    allowed, one = partial(allowed_after, "prop"), OPERAND
    scores = torch.zeros(3, one + 3)
    scores[1, one + 1 :] = -torch.inf
    scores[2, one:] = -torch.inf
    assert allowed([[]] * 3, 9, scores) == [{one, one + 1, one + 2}, {one}, {EOS}]
    used = [[one, 3]] * 3
    assert allowed(used, 9, scores) == [{one + 1, one + 2, EOS}, {EOS}, {EOS}]
    scores[:, EOS] = -torch.inf  # as a minimal length does
    assert allowed(used, 9, scores) == [{one + 1, one + 2}, {EOS}, {EOS}]
    scores[:, VALUES] = -torch.inf  # as n-grams that must not repeat do
    assert allowed([[one, 3, one + 1]] * 3, 9, scores) == [set(VALUES)] * 3
    assert allowed([[one, 3, EOS], [one, 4, one + 1]], 9) == [{EOS}, set(VALUES)]  # what has ended may only end


def check(preset, row, limit, symbols):
    """An answer that `generate` gave: a trace, or an assignment of `symbols`, empty where there are none."""
    assert EOS in row and len(row) <= 1 + limit
    if preset == "ltl":
        parse_trace(text(row))
        return
    answer = row[1 : row.index(EOS)]
    assert {token for token in answer if token >= OPERAND} <= set(symbols)
    if symbols:
        shown = ("01"[VALUES.index(t)] if t < OPERAND else chr(ord("a") + t - OPERAND) for t in answer)
        parse_assignment("".join(shown))
    else:
        assert not answer


# Some inputs have fewer answers than there are beams; a search that never stops early fills the rest with repetitions.
BEAMS = {"num_beams": 3, "num_return_sequences": 3, "early_stopping": "never"}
SEARCHES = {
    "greedy": {},
    "beam": BEAMS,
    "more beams than short answers": {**BEAMS, "num_beams": 7, "num_return_sequences": 7},
    "sampling": {"do_sample": True, "num_return_sequences": 4, "temperature": 3.0},
    "top-k and top-p sampling": {"do_sample": True, "num_return_sequences": 4, "top_k": 2, "top_p": 0.6},
    "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 3.0},
    "repetition penalty": {"repetition_penalty": 5.0, "num_beams": 2},
    "minimal length": {"min_new_tokens": 4},
    "minimal length, beam": {**BEAMS, "min_new_tokens": 4},
    "no repetition": {"no_repeat_ngram_size": 1},
}


@pytest.mark.parametrize(("preset", "limits"), [("ltl", range(4, 15)), ("prop", (3, 4, 5, 8, 12))])
@pytest.mark.parametrize("search", SEARCHES)
def test_every_answer_is_well_formed_and_closed_in_time_for_every_limit(search, preset, limits):
    rng = random.Random(0)
    for limit in limits:
        model = model_of(preset, seed=limit, spread=1.0, decoder_layers=1)
        symbols = [[BASES[preset] + 4 * place for place in range(count)] for count in (0, 1, 3)]
        batch = pad([formula_with(rng, 4 + len(own), own, model.config) for own in symbols])
        torch.manual_seed(limit)
        output = model.generate(**batch, **SEARCHES[search], max_new_tokens=limit).tolist()
        for place, row in enumerate(output):
            check(preset, row, limit, symbols[place * 3 // len(output)])


@pytest.mark.parametrize(("preset", "beginnings"), [("ltl", [3, 4, 5, 6, 7, 9]), ("prop", [])])
def test_a_forced_token_begins_an_answer_or_is_refused(preset, beginnings):
    model, symbol = model_of(preset), BASES[preset]
    for token in range(BASES[preset]):
        decode = partial(model.generate, torch.tensor([[symbol, EOS]]), forced_bos_token_id=token, max_new_tokens=9)
        if token in beginnings:
            [answer] = decode().tolist()
            assert answer[1] == token
            check(preset, answer, 9, [symbol])
        else:
            with pytest.raises(ValueError, match=rf"^forced_bos_token_id={token}: no .* begins so; leave it out, or "):
                decode()


@pytest.mark.parametrize("embedding", ["learned", "renamed", "random"])
def test_in_a_fixed_vocabulary_every_symbol_may_be_assigned(embedding):
    model = model_of("prop", spread=1.0, symbol_embedding=embedding, components=["EP", "DP", "CP"])
    symbols = range(OPERAND, OPERAND + model.config.num_symbols)
    sources = torch.tensor([[5, OPERAND, OPERAND + 1, EOS], [7, OPERAND + 2, EOS, 1]])
    for row in model.generate(sources, max_new_tokens=9).tolist():
        check("prop", row, 9, symbols)


@pytest.mark.filterwarnings("ignore:Using the model-agnostic default")  # transformers' advice to set a limit
def test_max_length_counts_the_start_token_and_default_limits_work():
    for arguments, longest in (({"max_length": 6}, 6), ({}, 21)):
        for row in model_of(spread=1.0).generate(torch.tensor([[5, BASE, BASE + 1, EOS]]), **arguments).tolist():
            check("ltl", row, longest - 1, ())


@pytest.mark.parametrize(
    ("preset", "shortest", "message"),
    [
        ("ltl", 4, r"at most 3 new tokens: the shortest trace has 4 .*; raise max_new_tokens"),
        (
            "prop",
            3,
            r"at most 2 new tokens: the shortest assignment has 3 \(a symbol, its value, EOS\); raise max_new_",
        ),
    ],
)
def test_a_limit_that_no_answer_can_meet_is_refused(preset, shortest, message):
    model, source = model_of(preset), torch.tensor([[BASES[preset], EOS]])
    with pytest.raises(ValueError, match=message):
        model.generate(source, max_new_tokens=shortest - 1)
    assert model.generate(source, max_new_tokens=shortest - 1, grammar=None).shape[1] <= shortest


WRONG = {
    "ltl": [[10], [8], [BASE, 10], [BASE, 9], [9, 9], [5, BASE, 8], [9, BASE, 10, 8], [11], [9, BASE + 7, BASE]],
    "prop": [[3], [EOS], [OPERAND, OPERAND], [OPERAND, 5], [OPERAND, 3, OPERAND], [OPERAND, 3, 3]],
}


@pytest.mark.parametrize(("preset", "prompt"), [(preset, prompt) for preset in WRONG for prompt in WRONG[preset]])
def test_a_prompt_that_begins_no_answer_is_refused_at_its_first_wrong_token(preset, prompt):
    """The last one."""
    token = prompt[-1] if prompt[-1] < BASES[preset] else "a symbol"
    noun = {"ltl": "trace", "prop": "assignment"}[preset]
    given = {"decoder_input_ids": torch.tensor([[START, *prompt, EOS]]), "max_new_tokens": 20}
    message = rf"decoder_input_ids\[0, {len(prompt)}\], {token}: no {noun} within max_length continues so"
    with pytest.raises(ValueError, match=message):
        model_of(preset).generate(torch.tensor([[BASES[preset], EOS]]), **given)


@pytest.mark.parametrize(
    ("preset", "prompt", "fits"),
    [
        ("ltl", [BASE, 8], 4),
        ("ltl", [9, 5], 4),
        ("ltl", [9, BASE], 2),
        ("ltl", [9, BASE, 10], 1),
        ("prop", [OPERAND + 1], 2),
        ("prop", [OPERAND, 3], 1),
        ("prop", [OPERAND, 3, OPERAND + 1], 2),
    ],
)
def test_a_prompt_is_finished_within_the_limit_or_refused(preset, prompt, fits):
    model, first, prompt = model_of(preset), BASES[preset], torch.tensor([[START, *prompt]])
    source = torch.tensor([[5, first, first + 1, EOS]])
    output = model.generate(source, decoder_input_ids=prompt, max_new_tokens=fits)
    assert torch.equal(output[:, : prompt.shape[1]], prompt)
    check(preset, output[0].tolist(), prompt.shape[1] - 1 + fits, [first, first + 1])
    if fits > 1:
        with pytest.raises(ValueError, match=r"no .* within max_length continues so; correct the beginning or pass"):
            model.generate(source, decoder_input_ids=prompt, max_new_tokens=fits - 1)


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ({"name": "json"}, "unknown grammar; use .*lasso.*assignment.* or None"),
        ({"name": "lasso", "unary": [7]}, "grammar: operand=None: must be base ids"),
        ({**LASSO, "unary": [99]}, r"grammar: unary=\[99\]: must be base ids, 0 … 12"),
        ({"name": "assignment"}, "grammar: values=None: must be base ids"),
        ({"name": "assignment", "values": [3, 13]}, r"grammar: values=\[3, 13\]: must be base ids, 0 … 12"),
        ({"name": "assignment", "values": []}, r"grammar: values=\[\]: must be base ids"),
    ],
)
def test_a_wrong_grammar_is_refused(grammar, message):
    with pytest.raises(ValueError, match=message):
        model_of().generate(torch.tensor([[BASE, EOS]]), grammar=grammar, max_new_tokens=9)
    with pytest.raises((ValueError, StrictDataclassError), match=message):
        tiny_config(grammar=grammar)


@pytest.mark.parametrize(("preset", "grammar"), [("ltl", LASSO), ("prop", ASSIGNMENT)])
def test_the_grammar_of_a_preset_is_saved_with_the_checkpoint_and_can_be_turned_off(preset, grammar, tmp_path):
    model, first = model_of(preset, spread=1.0), BASES[preset]
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert loaded.config.grammar == loaded.generation_config.grammar == grammar
    source = torch.tensor([[5, first, first + 1, EOS]])
    assert torch.equal(loaded.generate(source, max_new_tokens=7), model.generate(source, max_new_tokens=7))
    free = loaded.generate(source, max_new_tokens=7, grammar=None)
    loaded.generation_config.grammar = None
    assert torch.equal(loaded.generate(source, max_new_tokens=7), free)
    loaded.save_pretrained(tmp_path / "free")
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "free")
    assert torch.equal(again.generate(source, max_new_tokens=7), free)
