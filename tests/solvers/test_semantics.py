"""The slow checker is right by definition where one can see it, and Spot agrees with it everywhere else."""

from collections import Counter

import pytest

from hf_symbinv.logic import parse_infix, parse_prefix, parse_trace, read_trace
from hf_symbinv.solvers import Checker
from hf_symbinv.solvers.lasso import concrete, literals
from tests.solvers.semantics import Lasso, holds, is_word_of, letters_of, violation

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
        ("F(a | b)", "{|ab}", True),
        ("!(G F a & F G !a)", "{1}", True),
        ("!G(a <-> X !a)", "{1}", False),  # needs a cycle of two steps where the trace has one
        ("!(a & X a & X X !a & G(a <-> X X X a))", "{1}", False),  # and here of three
    ],
)
def test_a_trace_satisfies_a_formula_if_all_its_words_do(formula, trace, satisfied):
    formula, trace = parse_infix(formula), parse_trace(trace)
    found = violation(formula, trace)
    assert (found is None) is satisfied
    assert satisfied or (not holds(formula, found) and is_word_of(found, trace))


def count_agreements(seed: int, count: int) -> Counter:
    """Verdicts on random pairs, after Spot and the definition have agreed on each."""
    pairs = list(random_pairs(seed, count))
    verdicts = Counter()
    with Checker(workers=1, timeout=60.0) as checker:
        for (question, answer), result in zip(pairs, checker.check(pairs), strict=True):
            verdicts[result.verdict] += 1
            formula, trace = parse_prefix(question), parse_trace(answer)
            symbols = tuple(dict.fromkeys((*formula.symbols(), *trace.symbols())))
            empty = not all(letters_of(step, symbols) for step in trace.prefix + trace.cycle)
            assert (result.verdict == "invalid") == empty, (question, answer)
            if result.verdict == "correct":
                assert violation(formula, trace) is None, (question, answer)
            if result.verdict == "incorrect":
                shown = concrete(read_trace(result.message.rpartition(": ")[2]), symbols)
                word = Lasso(tuple(map(literals, shown.prefix)), tuple(map(literals, shown.cycle)))
                assert not holds(formula, word) and is_word_of(word, trace), (question, answer, result.message)
    return verdicts


def test_spot_agrees_on_random_pairs():
    assert set(count_agreements(seed=2, count=300)) == {"correct", "incorrect", "invalid"}


@pytest.mark.slow
def test_spot_agrees_on_thousands_of_random_pairs():
    assert min(count_agreements(seed=3, count=3_000).values()) > 400


def test_a_valuation_without_a_symbol_of_the_formula_is_an_error():
    with pytest.raises(KeyError, match="a"):
        holds(parse_infix("F a"), Lasso((), ({"b": True},)))
