"""The package's checker of witnesses agrees with the definition of LTL, slow and obvious in `semantics.py`."""

import random

import pytest

from hf_symbinv.logic import Formula, Trace, parse_infix, read_trace, trace_to_infix
from hf_symbinv.solvers.lasso import (
    concrete,
    conjunction,
    generalized,
    in_literals,
    literals,
    truth,
)
from tests.solvers.semantics import Lasso, find_violation, holds

UNARY, BINARY = "!XFG", ["&", "|", "^", "->", "<->", "U", "R", "W", "M"]


def random_formula(size, rng):
    if size == 1:
        return rng.choice([Formula.ap("a"), Formula.ap("b"), Formula.ap("c"), Formula.true(), Formula.false()])
    if size == 2 or rng.random() < 0.4:
        return Formula(rng.choice(UNARY), (random_formula(size - 1, rng),))
    left = rng.randint(1, size - 2)
    return Formula(rng.choice(BINARY), (random_formula(left, rng), random_formula(size - 1 - left, rng)))


def random_steps(rng, known):
    steps = [{name: rng.random() < 0.5 for name in "abc" if rng.random() < known} for _ in range(rng.randint(1, 5))]
    return steps, rng.randrange(len(steps))


def trace_of(steps, loop):
    return Trace(tuple(map(conjunction, steps[:loop])), tuple(map(conjunction, steps[loop:])))


@pytest.mark.parametrize("seed", range(200))
def test_on_one_word_it_is_the_definition(seed):
    rng = random.Random(seed)
    formula = random_formula(rng.randint(1, 10), rng)
    steps, loop = random_steps(rng, 1.0)
    expected = holds(formula, Lasso(tuple(steps[:loop]), tuple(steps[loop:])))
    assert truth(formula, trace_of(steps, loop)) == ("true" if expected else "false")


@pytest.mark.parametrize("seed", range(60))
def test_what_it_says_of_many_words_holds_on_all(seed):
    rng = random.Random(seed)
    formula = random_formula(rng.randint(1, 6), rng)
    trace = trace_of(*random_steps(rng, 0.6))
    value = truth(formula, trace)
    if value != "open":
        assert find_violation(formula if value == "true" else ~formula, trace) is None


def test_it_may_leave_open_what_holds_and_closing_the_trace_decides():
    trace = read_trace("cycle{1}")
    assert truth(parse_infix("G(a | !a)"), trace) == "open"
    assert truth(parse_infix("G(a | !a)"), concrete(trace, ("a",))) == "true"


def test_steps_become_conjunctions_of_literals_whose_words_are_among_the_trace_s():
    trace = read_trace("a | !b; b & (a -> c); cycle{a xor c; 1}")
    chosen = in_literals(trace)
    for before, after in zip((*trace.prefix, *trace.cycle), (*chosen.prefix, *chosen.cycle), strict=True):
        assert truth(before, Trace((), (after,))) == "true"
        literals(after)


def test_what_a_witness_does_not_need_is_left_open():
    trace = read_trace("a & b & !c; cycle{a & !b & c}")
    assert trace_to_infix(generalized(parse_infix("b & G F c"), trace, 10**6)) == "b; cycle{c}"
    assert generalized(parse_infix("b & G F c"), trace, 0) == trace
