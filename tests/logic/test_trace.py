"""Traces refuse every text outside the grammar, and Spot reads their infix form."""

import itertools
import re

import pytest
import spot
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import (
    Formula,
    FormulaSyntaxError,
    Trace,
    parse_prefix,
    parse_trace,
    trace_to_infix,
    trace_to_prefix,
)

from .strategies import formulas, letters

# One token of a step is one propositional formula, which a regular expression can check.
GRAMMAR = re.compile(r"([a-z01];)*\{[a-z01](;[a-z01])*\}")


def test_the_parts_of_a_trace():
    trace = parse_trace("b;&ab;{c;!a}")
    assert trace.prefix == (Formula.ap("b"), parse_prefix("&ab"))
    assert trace.cycle == (Formula.ap("c"), parse_prefix("!a"))
    assert trace.symbols() == ("b", "a", "c")
    assert trace_to_prefix(trace.rename({"a": "b", "b": "a"})) == "a;&ba;{c;!b}"


def test_exactly_the_texts_of_the_grammar_are_traces():
    accepted = 0
    for length in range(8):
        for characters in itertools.product("a;{}", repeat=length):
            text = "".join(characters)
            try:
                parse_trace(text)
            except FormulaSyntaxError:
                assert not GRAMMAR.fullmatch(text), text
            else:
                assert GRAMMAR.fullmatch(text), text
                accepted += 1
    assert accepted > 5


def test_a_trace_needs_a_cycle_of_propositional_steps():
    with pytest.raises(ValueError, match="trace: the cycle is empty; give at least one step, 1 for any valuation"):
        Trace((Formula.ap("a"),), ())
    with pytest.raises(ValueError, match="trace: step X a holds the temporal operator X"):
        Trace((), (parse_prefix("Xa"),))


def test_a_long_trace_of_deep_steps_is_read():
    step = "!" * 5_000 + "a"
    text = f"{step};" * 4 + "{" + ";".join([step] * 4) + "}"
    assert trace_to_prefix(parse_trace(text)) == text


def test_infix_is_spots_word_syntax_with_the_users_names():
    trace = parse_trace('request ; & request grant_1 ; { -> "a b" request ; ^ c 1 }')
    text = trace_to_infix(trace)
    assert text == 'request; request & grant_1; cycle{"a b" -> request; c xor 1}'
    assert str(spot.parse_word(text)) == 'request; grant_1 & request; cycle{!"a b" | request; !c}'


@given(st.lists(formulas(frozenset({"ap", "1", "!", "&", "|", "^", "->", "<->"}), letters, 4), min_size=1, max_size=3))
def test_spot_reads_the_infix_form_of_any_trace(cycle):
    trace = Trace((), tuple(cycle))
    word = spot.parse_word(trace_to_infix(trace))
    expected = spot.parse_word(f"cycle{{{'; '.join(trace_to_infix(Trace((), (s,)))[6:-1] for s in trace.cycle)}}}")
    assert str(word) == str(expected)


def test_two_traces_together_say_step_by_step_what_each_says():
    one, other = parse_trace("&&abc;{d;1;!d}"), parse_trace("g;e;{|ef;1}")
    assert trace_to_prefix(one & other) == "&a&b&cg;&de;{|ef;!d;&d|ef;1;&!d|ef;d}"
    assert trace_to_prefix(one & parse_trace("{1}")) == "&&abc;{d;1;!d}"
    with pytest.raises(TypeError, match="unsupported operand"):
        one & parse_prefix("a")
