"""Verdicts mean what they say, whatever text comes in, and witnesses found by Spot are correct."""

import functools
import os
import random
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import LTL
from hf_symbinv.logic import (
    FormulaSyntaxError,
    nested_to_the_right,
    parse_prefix,
    parse_trace,
    to_prefix,
    trace_to_prefix,
)
from hf_symbinv.logic.formula import BASE_OPERATORS
from hf_symbinv.solvers import Checker, SpotMissingError, find_witness
from hf_symbinv.solvers.checker import OTHERWISE
from hf_symbinv.solvers.ltl import judge, load_spot, solver_version

from ..logic.strategies import formulas
from .random_pairs import random_pairs
from .semantics import holds, short_words

VERDICTS = {"exact", "correct", "incorrect", "invalid", "timeout", "error"}
# Its negation keeps Spot busy for minutes.
HARD = "XUa" * 1000 + "b"


@pytest.fixture(scope="module")
def checker():
    with Checker(workers=1, timeout=20.0) as checker:
        yield checker


def verdict(checker, formula, trace, reference=None):
    (result,) = checker.check([(formula, trace)], [reference])
    return result.verdict


@pytest.mark.parametrize(
    ("trace", "reference", "expected"),
    [
        ("b;{1}", "b;{1}", "exact"),
        ("b ; { 1 }", "b;{1}", "exact"),
        ("b;{1}", "a;b;{1}", "correct"),
        ("b;{1}", None, "correct"),
        ("b;{1}", "no trace", "correct"),
        ("a;{a}", "a;{a}", "incorrect"),  # a wrong reference makes nothing correct
        ("a;{", "a;{", "invalid"),
    ],
)
def test_exact_is_correct_and_equal_to_the_reference(checker, trace, reference, expected):
    assert verdict(checker, "Uab", trace, reference) == expected


def test_as_many_references_as_pairs_are_needed(checker):
    with pytest.raises(ValueError, match="shorter"):
        list(checker.check([("a", "{a}")] * 3, ["{a}"] * 2))


def test_a_formula_that_keeps_spot_busy_is_a_timeout_and_the_others_are_unaffected():
    pairs = [("a", "{a}"), (HARD, "{a}"), ("a", "{b}")]
    with Checker(workers=1, timeout=1.0) as checker:
        results = list(checker.check(pairs))
        again = list(checker.check(pairs[:1]))
    assert [result.verdict for result in results] == ["correct", "timeout", "incorrect"]
    assert results[1].message == "stopped at the limit of 1 s"
    assert [result.verdict for result in again] == ["correct"]


def test_a_second_judge_is_asked_where_spot_runs_out_of_time_and_only_there():
    pairs = [("a", "{b}"), (f"|b{HARD}", "{b}"), (f"&!b{HARD}", "{b}"), (f"|b{HARD}", "{1}"), (f"|b{HARD}", "{|bc}")]
    with LTL.checker(workers=1, timeout=0.5, otherwise=LTL.quick_verdict) as checker:
        results = list(checker.check(pairs, [None, "{b}", None, None, None]))
    assert [result.verdict for result in results] == ["incorrect", "exact", "incorrect", "timeout", "timeout"]
    assert [result.message == OTHERWISE for result in results] == [False, True, True, False, False]


def test_a_second_judge_agrees_with_spot_or_cannot_tell():
    told = Counter()
    for formula, trace in random_pairs(seed=3, count=2_000):
        if (second := LTL.quick_verdict(formula, trace)) is not None:
            assert second == judge(formula, trace)[0], (formula, trace)
            told[second] += 1
    assert told["correct"] > 100 and told["incorrect"] > 100


def test_long_formulas_and_traces_get_a_verdict(checker):
    assert verdict(checker, "X" * 4_999 + "a", "1;" * 4_999 + "{a}") == "correct"
    assert verdict(checker, "&a" * 2_500 + "b", "{&ab}") == "correct"
    assert verdict(checker, "!" * 5_000 + "a", "{a}") == "correct"
    symbols = [f"s{index}" for index in range(200)]
    conjunction = "& " * 199 + " ".join(symbols)
    assert verdict(checker, conjunction, f"{{ {conjunction} }}") == "correct"


def test_a_progress_bar_appears_on_stderr_only_on_request(checker, capfd):
    list(checker.check([("a", "{a}")]))
    assert capfd.readouterr() == ("", "")
    list(checker.check([("a", "{a}")] * 3, progress=True))
    out, err = capfd.readouterr()
    assert out == ""
    assert "3/3" in err


@given(formulas(BASE_OPERATORS, st.sampled_from("ab"), max_leaves=6))
def test_a_witness_found_by_spot_is_correct_and_only_unsatisfiable_formulas_have_none(formula):
    witness = find_witness(to_prefix(formula))
    if witness is None:
        assert not any(holds(formula, word) for word in short_words(("a", "b"), 3))
    else:
        assert judge(to_prefix(formula), witness) == ("correct", "")
        assert trace_to_prefix(parse_trace(witness)) == witness


@pytest.mark.parametrize(
    ("formula", "witness"),
    [
        ("a", "a;{1}"),
        ("0", None),
        ("&a!a", None),
        ("1", "{1}"),
        ("&&a!bc", "&a&!bc;{1}"),  # conjunctions nest to the right, in alphabetical order
        ("&Xd&!b!e", "&!b!e;d;{1}"),
        ("!U1!a", "{a}"),
        ("& request X grant_1", "request ; grant_1 ; { 1 }"),
        ('X "next state"', '1 ; "next state" ; { 1 }'),
    ],
)
def test_witnesses_follow_the_conventions_of_deepltl(formula, witness):
    assert find_witness(formula) == witness


def test_chains_nest_to_the_right_whatever_they_contain():
    nested = nested_to_the_right(parse_prefix("||&&abc&d&efg"))
    assert to_prefix(nested) == "|&a&bc|&d&efg"
    assert to_prefix(nested_to_the_right(parse_prefix("&" * 3_000 + "a" * 3_001))) == "&a" * 3_000 + "a"
    deep = "!X" * 50_000 + "&&abc"
    assert to_prefix(nested_to_the_right(parse_prefix(deep))) == "!X" * 50_000 + "&a&bc"


def random_texts(seed, count):
    generator = random.Random(seed)
    for formula, trace in random_pairs(seed, count):
        texts = [formula, trace]
        for place in range(2):
            for _ in range(generator.choice([0, 0, 1, 2, 5])):
                position = generator.randrange(len(texts[place]) + 1)
                noise = generator.choice(
                    ["", " ", ";", "{", "}", '"', "U", "&", "!", "a", "Z", "\n", "é", "\x00", "ab "]
                )
                texts[place] = texts[place][:position] + noise + texts[place][position + generator.randrange(3) :]
        yield tuple(texts)


def test_malformed_texts_get_the_parsers_messages(checker):
    pairs = list(random_texts(5, 2_000))
    results = list(checker.check(pairs))
    for (formula, trace), result in zip(pairs, results, strict=True):
        assert result.verdict in VERDICTS
        try:
            parse_prefix(formula)
        except FormulaSyntaxError as error:
            assert (result.verdict, result.message) == ("error", f"FormulaSyntaxError: {error}")
            continue
        try:
            parse_trace(trace)
        except FormulaSyntaxError as error:
            assert (result.verdict, result.message) == ("invalid", str(error))
        else:
            assert result.verdict in ("correct", "incorrect", "invalid"), result


def test_without_spot_the_error_names_the_remedy(monkeypatch, tmp_path):
    (tmp_path / "spot.py").write_text("raise ImportError('no spot here')\n")
    monkeypatch.syspath_prepend(tmp_path)  # workers look where this process looks
    monkeypatch.delitem(sys.modules, "spot", raising=False)
    load_spot.cache_clear()
    for use in (Checker, solver_version, lambda: find_witness("a"), lambda: judge("a", "{a}")):
        with pytest.raises(SpotMissingError, match=r"pip install '\.\[logic\]'.*conda-forge spot"):
            use()
    load_spot.cache_clear()


def test_what_a_judge_loads_is_loaded_in_its_processes_alone(functions, tmp_path):
    with Checker(initializer=functools.partial(functions.note_process, tmp_path), workers=1) as checker:
        assert verdict(checker, "a", "{a}") == "correct"
    assert len(list(tmp_path.iterdir())) == 1 and not (tmp_path / str(os.getpid())).exists()
