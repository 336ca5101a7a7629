"""Traces that users wrote, in two notations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, FormulaSyntaxError, Trace, read_trace, trace_to_infix, trace_to_prefix

names = st.sampled_from(
    ["a", "b", "request", "cycle", "a b", ";", "{", "}", "cycle{", 'say "a"', "back\\slash", "U", "é"]
)
atoms = names.map(Formula.ap) | st.sampled_from([Formula.true(), Formula.false()])
steps = st.recursive(atoms, lambda s: st.builds(lambda a, b: a & b, s, s) | s.map(lambda a: ~a), max_leaves=4)
traces = st.builds(Trace, st.lists(steps, max_size=3).map(tuple), st.lists(steps, min_size=1, max_size=3).map(tuple))


class TestWitness:
    @given(traces)
    def test_it_is_read_in_either_notation(self, trace):
        assert read_trace(trace_to_infix(trace)) == trace
        assert read_trace(trace_to_prefix(trace)) == trace

    @pytest.mark.parametrize(
        ("text", "position", "reason"),
        [
            ("", 0, "expected a cycle, such as cycle{1}, or {1} in prefix notation"),
            ("a; b", 4, "expected a cycle"),
            ("a; cycle{b", 10, "expected '}'"),
            ("a; cycle{}", 9, "expected a formula"),
            ("a; ; cycle{b}", 3, "expected a formula"),
            ("a; b cycle{1}", 5, "expected ';' between a step and the cycle"),
            ("a; {1}", 0, "(this is prefix notation; in infix the cycle is written cycle{...})"),
            ("a}; cycle{b}", 1, "no cycle is open; it starts with 'cycle{'"),
            ("cycle{a}; cycle{b}", 8, "expected nothing more"),
            ("cycle{a} b", 8, "expected nothing more"),
            ("cycle{a; cycle{b}}", 14, "a trace has exactly one cycle"),
            ("a; cycle{b & }", 13, "expected a formula"),
            ("cycle{a U b}", 0, "holds the temporal operator U; steps are propositional"),
            ("ab;{1}", 1, "the formula is complete here"),
        ],
    )
    def test_anything_else_is_refused_with_its_position(self, text, position, reason):
        with pytest.raises(FormulaSyntaxError) as refusal:
            read_trace(text)
        assert reason in str(refusal.value) and refusal.value.position == position
