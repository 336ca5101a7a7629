"""The slow checker is right by definition where one can see it, and Spot agrees with it everywhere else."""

import itertools
from collections import Counter

import pytest

from hf_symbinv.logic import Formula, Trace, parse_infix, parse_prefix, parse_trace
from hf_symbinv.solvers import Checker
from tests.solvers.semantics import Lasso, find_violation, holds

from .random_pairs import random_pairs


def word(text: str) -> Lasso:
    """`a,,ab(b)`: one valuation per comma-separated group of true symbols, the cycle in parentheses."""
    prefix, _, cycle = text.rstrip(")").partition("(")
    steps = [[{symbol: symbol in group for symbol in "ab"} for group in part.split(",")] for part in (prefix, cycle)]
    return Lasso(tuple(steps[0]) if prefix else (), tuple(steps[1]))


@pytest.mark.parametrize(
    ("formula", "text", "expected"),
    [
        ("a", "a()", True),
        ("a", ",a(a)", False),
        ("X a", ",a()", True),
        ("X a", "(,a)", True),
        ("X X a", "(,a)", False),
        ("X X X X X a", "b(,a)", False),
        ("X X X X X a", "b(a,)", True),
        ("a U b", "a,a,a(b)", True),
        ("a U b", "(a)", False),
        ("a U b", "a,(b)", False),
        ("a U b", "b()", True),
        ("a U (b U a)", "b,b(a)", True),
        ("(a U b) U a", "b,b(a)", True),
        ("(a U b) U a", "a()", True),
        ("(a U b) U !(a | b)", "a,a,b()", True),
        ("(a U b) U !(a | b)", "a,a()", False),
        ("G F a", "b,b(b,a)", True),
        ("G F a", "a,a(b)", False),
        ("F G a", "b(a)", True),
        ("F G a", "(a,b)", False),
        ("a W b", "(a)", True),
        ("a R b", "(b)", True),
        ("a M b", "(b)", False),
        ("a M b", "b,ab()", True),
        ("G(a -> X b)", "a,b(a,b)", True),
        ("G(a <-> X !a)", "(a,)", True),
        ("a xor b", "ab()", False),
    ],
)
def test_a_word_satisfies_what_it_should(formula, text, expected):
    assert holds(parse_infix(formula), word(text)) is expected


@pytest.mark.parametrize(
    ("formula", "trace", "satisfied"),
    [
        ("a", "{a}", True),
        ("a | !a", "{1}", True),
        ("a", "{1}", False),
        ("a", "{0}", True),  # a trace that denotes no word violates nothing
        ("X a", "a;{|ab;b}", False),
        ("F a", "{|ab}", False),
        ("F(a | b)", "{|ab}", True),
        ("!(G F a & F G !a)", "{1}", True),
        ("!G(a <-> X !a)", "{1}", False),  # needs a cycle of two steps where the trace has one
        ("!(a & X a & X X !a & G(a <-> X X X a))", "{1}", False),  # and here of three
    ],
)
def test_a_trace_satisfies_a_formula_if_all_its_words_do(formula, trace, satisfied):
    violation = find_violation(parse_infix(formula), parse_trace(trace))
    assert (violation is None) is satisfied
    if violation is not None:
        assert not holds(parse_infix(formula), violation)


def words_of(trace: str, turns: int) -> list[Lasso]:
    """All lasso words that a trace denotes with `turns` turns of its cycle as their cycle."""
    parsed = parse_trace(trace)
    letters = [dict(zip("ab", values, strict=True)) for values in itertools.product((False, True), repeat=2)]
    prefix, cycle = (
        [[letter for letter in letters if holds(step, Lasso((), (letter,)))] for step in steps]
        for steps in (parsed.prefix, parsed.cycle * turns)
    )
    return [Lasso(choice[: len(prefix)], choice[len(prefix) :]) for choice in itertools.product(*prefix, *cycle)]


def test_violations_are_words_of_the_trace_and_no_enumerated_word_was_missed():
    verdicts = Counter()
    for formula_text, trace in random_pairs(seed=1, count=400):
        formula, parsed = parse_prefix(formula_text), parse_trace(trace)
        violation = find_violation(formula, parsed)
        verdicts[violation is None] += 1
        if violation is not None:
            assert not holds(formula, violation)
            steps = [*parsed.prefix, *parsed.cycle * (len(violation.prefix) + len(violation.cycle))]
            for step, letter in zip(steps, violation.prefix + violation.cycle * len(steps), strict=False):
                assert holds(step, Lasso((), (letter,)))
        elif len(parsed.prefix) + 2 * len(parsed.cycle) <= 5:
            assert all(holds(formula, word) for word in words_of(trace, 2))
    assert min(verdicts.values()) > 100


def count_agreements(seed: int, count: int) -> Counter:
    """Verdicts on random pairs, after Spot and the slow checker have agreed on each."""
    pairs = list(random_pairs(seed, count))
    verdicts = Counter()
    with Checker(workers=1, timeout=60.0) as checker:
        for (formula, trace), result in zip(pairs, checker.check(pairs), strict=True):
            verdicts[result.verdict] += 1
            parsed = parse_trace(trace)
            empty = any(
                find_violation(Formula.false(), Trace((), (step,))) is None for step in parsed.prefix + parsed.cycle
            )
            if empty:
                assert result.verdict == "invalid", (formula, trace)
            else:
                satisfied = find_violation(parse_prefix(formula), parsed) is None
                assert result.verdict == ("correct" if satisfied else "incorrect"), (formula, trace)
    return verdicts


def test_spot_agrees_on_random_pairs():
    assert count_agreements(seed=2, count=1000).total() == 1000


@pytest.mark.slow
def test_spot_agrees_on_ten_thousand_random_pairs():
    verdicts = count_agreements(seed=3, count=10_000)
    assert set(verdicts) == {"correct", "incorrect", "invalid"}
    assert min(verdicts.values()) > 1_500


@pytest.mark.parametrize("formula", ["F a", "a"])
def test_a_valuation_without_a_symbol_of_the_formula_is_an_error(formula):
    with pytest.raises(KeyError, match="a"):
        holds(parse_infix(formula), Lasso((), ({"b": True},)))
