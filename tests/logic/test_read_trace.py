"""Traces that users wrote, in two notations."""

from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, Trace, read_trace, trace_to_infix, trace_to_prefix

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
