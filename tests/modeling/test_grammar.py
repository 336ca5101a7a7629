"""The lasso grammar makes malformed answers impossible, closes every trace in time and forbids nothing else."""

import random
from functools import cache

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from hf_symbinv.logic import parse_trace
from hf_symbinv.modeling.grammar_symbinv import GrammarProcessor, LassoGrammar

from .tiny import BASE, EOS, START, formula_with, pad, text, tiny_config, tiny_model

GRAMMAR = tiny_config().grammar
ALPHABET = {3: "0", 7: "!", 5: "&", 8: ";", 9: "{", 10: "}", EOS: "$", BASE: "a"}


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


def allowed_after(prefixes, limit):
    """For each of equally long prefixes (strings), the set of letters that the processor lets follow."""
    ids = {letter: token for token, letter in ALPHABET.items()}
    processor = GrammarProcessor(LassoGrammar(GRAMMAR, BASE, EOS), [1] * len(prefixes), 1 + limit)
    for place in range(len(prefixes[0])):
        processor.follow(range(len(prefixes)), [ids[prefix[place]] for prefix in prefixes])
    rows = torch.tensor([[START, *(ids[letter] for letter in prefix)] for prefix in prefixes])
    scores = processor(rows, torch.zeros(len(rows), BASE + 1))
    assert ((scores == 0) | (scores == -torch.inf)).all()
    return [{ALPHABET.get(token, token) for token in (row == 0).nonzero()[:, 0].tolist()} for row in scores]


# 1 and | are in the same classes as 0 and &; the enumeration does without them.
SAME = {4: "0", 6: "&"}


@pytest.mark.parametrize("limit", [4, 5, 6, 7, 8, 9])
def test_allowed_tokens_are_exactly_those_that_some_trace_within_the_limit_continues_with(limit):
    every = [trace for length in range(4, limit + 1) for trace in traces(length)]
    continuations = {}
    for trace in every:
        for stop in range(len(trace)):
            continuations.setdefault(trace[:stop], set()).add(trace[stop])
    for length in range(limit):
        prefixes = [prefix for prefix in continuations if len(prefix) == length]
        for prefix, allowed in zip(prefixes, allowed_after(prefixes, limit) if prefixes else [], strict=True):
            assert {letter for letter in allowed if isinstance(letter, str)} == continuations[prefix], prefix
            assert {letter for letter in allowed if not isinstance(letter, str)} == {
                token for token, twin in SAME.items() if twin in allowed
            }


def test_every_enumerated_trace_is_one_for_the_parser_and_no_other_text_of_its_length_is():
    letters, well_formed = "0a!&;{}", {trace[:-1] for length in range(4, 7) for trace in traces(length)}
    texts = [""]
    for _ in range(5):
        texts = [word + letter for word in texts for letter in letters]
        for word in texts:
            try:
                parse_trace(word)
            except ValueError:
                assert word not in well_formed
            else:
                assert word in well_formed
        if len(texts[0]) == 4:
            texts = random.Random(0).sample(texts, 300)


SEARCHES = {
    "greedy": {},
    "beam": {"num_beams": 3, "num_return_sequences": 3},
    "more beams than short traces": {"num_beams": 7, "num_return_sequences": 7},
    "sampling": {"do_sample": True, "num_return_sequences": 4, "temperature": 3.0},
    "top-k and top-p sampling": {"do_sample": True, "num_return_sequences": 4, "top_k": 2, "top_p": 0.6},
    "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 3.0},
    "repetition penalty": {"repetition_penalty": 5.0, "num_beams": 2},
    "minimal length": {"min_new_tokens": 4},
    "minimal length, beam": {"min_new_tokens": 4, "num_beams": 3},
    "no repetition": {"no_repeat_ngram_size": 1},
}


@pytest.mark.parametrize("search", SEARCHES)
def test_every_answer_parses_and_is_closed_in_time_for_every_limit(search):
    rng = random.Random(0)
    for limit in range(4, 15):
        model = tiny_model(seed=limit, dtype=torch.float32, spread=1.0, decoder_layers=1)
        batch = pad([formula_with(rng, 4 + n, [BASE + r for r in range(n)], model.config) for n in (0, 1, 3)])
        torch.manual_seed(limit)
        output = model.generate(**batch, **SEARCHES[search], max_new_tokens=limit)
        assert output.shape[1] <= 1 + limit
        for row in output.tolist():
            parse_trace(text(row))


@pytest.mark.filterwarnings("ignore:Using the model-agnostic default")  # transformers' advice to set a limit
def test_max_length_counts_the_start_token_and_default_limits_work():
    model = tiny_model(dtype=torch.float32, spread=1.0)
    for arguments, longest in (({"max_length": 6}, 6), ({}, 21)):
        for row in model.generate(torch.tensor([[5, BASE, BASE + 1, EOS]]), **arguments).tolist():
            assert len(row) <= longest
            parse_trace(text(row))


def test_a_limit_that_no_trace_can_meet_is_refused():
    model = tiny_model(dtype=torch.float32)
    with pytest.raises(ValueError, match=r"at most 3 new tokens: the shortest trace has 4 .*; raise max_new_tokens"):
        model.generate(torch.tensor([[BASE, EOS]]), max_new_tokens=3)
    assert model.generate(torch.tensor([[BASE, EOS]]), max_new_tokens=3, grammar=None).shape[1] <= 4


@pytest.mark.parametrize(
    ("prompt", "position"),
    [
        ([10], 1),
        ([8], 1),
        ([BASE, 10], 2),
        ([BASE, 9], 2),
        ([9, 9], 2),
        ([5, BASE, 8], 3),
        ([9, BASE, 10, 8], 4),
        ([11], 1),
        ([9, BASE + 7, BASE], 3),
    ],
)
def test_a_prompt_that_begins_no_trace_is_refused_at_its_first_wrong_token(prompt, position):
    model = tiny_model(dtype=torch.float32)
    token = prompt[position - 1] if prompt[position - 1] < BASE else "a symbol"
    message = rf"decoder_input_ids\[0, {position}\], {token}: no trace within max_length continues so"
    with pytest.raises(ValueError, match=message):
        model.generate(
            torch.tensor([[BASE, EOS]]), decoder_input_ids=torch.tensor([[START, *prompt]]), max_new_tokens=20
        )


@pytest.mark.parametrize(("prompt", "fits"), [([BASE, 8], 4), ([9, 5], 4), ([9, BASE], 2), ([9, BASE, 10], 1)])
def test_a_prompt_is_finished_within_the_limit_or_refused(prompt, fits):
    model, prompt = tiny_model(dtype=torch.float32), torch.tensor([[START, *prompt]])
    source = torch.tensor([[5, BASE, BASE + 1, EOS]])
    output = model.generate(source, decoder_input_ids=prompt, max_new_tokens=fits)
    assert torch.equal(output[:, : prompt.shape[1]], prompt)
    parse_trace(text(output[0].tolist()))
    if fits > 1:
        with pytest.raises(ValueError, match="no trace within max_length continues so; correct the beginning or pass"):
            model.generate(source, decoder_input_ids=prompt, max_new_tokens=fits - 1)


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ({"name": "json"}, "unknown grammar; use .*lasso.* or None"),
        ({"name": "lasso", "unary": [7]}, "operand, binary, separator, cycle_start, cycle_end missing; give the ids"),
        ({**GRAMMAR, "unary": [99]}, r"grammar: unary=\[99\]: must be base ids, 0 … 12"),
    ],
)
def test_a_wrong_grammar_is_refused(grammar, message):
    with pytest.raises(ValueError, match=message):
        tiny_model(dtype=torch.float32).generate(torch.tensor([[BASE, EOS]]), grammar=grammar, max_new_tokens=9)


def test_the_grammar_is_saved_with_the_checkpoint_and_can_be_turned_off(tmp_path):
    model = tiny_model(dtype=torch.float32, spread=1.0)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert loaded.generation_config.grammar == GRAMMAR
    source = torch.tensor([[5, BASE, BASE + 1, EOS]])
    assert torch.equal(loaded.generate(source, max_new_tokens=7), model.generate(source, max_new_tokens=7))
    free = loaded.generate(source, max_new_tokens=7, grammar=None)
    loaded.generation_config.grammar = None
    assert torch.equal(loaded.generate(source, max_new_tokens=7), free)
    loaded.save_pretrained(tmp_path / "free")
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "free")
    assert torch.equal(again.generate(source, max_new_tokens=7), free)
