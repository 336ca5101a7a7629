"""The package's checker of witnesses agrees with the definition of LTL, slow and obvious in `semantics.py`."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.logic import Trace, parse_infix, read_trace, trace_to_infix
from hf_symbinv.solvers.lasso import concrete, conjunction, generalized, in_literals, literals, truth

from ..logic.strategies import formulas
from .semantics import Lasso, holds, words_of

NAMES = st.sampled_from("abc")


def traces(steps):
    """Lists of steps, and the place to which the last one goes back."""
    return st.lists(steps, min_size=1, max_size=5).flatmap(
        lambda found: st.tuples(st.just(found), st.integers(0, len(found) - 1))
    )


def trace_of(steps, loop):
    return Trace(tuple(map(conjunction, steps[:loop])), tuple(map(conjunction, steps[loop:])))


@settings(max_examples=200)
@given(formulas(names=NAMES, max_leaves=6), traces(st.fixed_dictionaries(dict.fromkeys("abc", st.booleans()))))
def test_on_one_word_it_is_the_definition(formula, trace):
    steps, loop = trace
    expected = holds(formula, Lasso(tuple(steps[:loop]), tuple(steps[loop:])))
    assert truth(formula, trace_of(steps, loop)) == ("true" if expected else "false")


@settings(max_examples=200)
@given(formulas(names=NAMES, max_leaves=4), traces(st.dictionaries(NAMES, st.booleans())))
def test_what_it_says_of_many_words_holds_on_all(formula, trace):
    value = truth(formula, trace_of(*trace))
    if value != "open":
        assert {holds(formula, word) for word in words_of(trace_of(*trace), tuple("abc"), 20)} == {value == "true"}


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
