"""The embedding of finite traces agrees with Spot's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, to_infix
from hf_symbinv.logic.finite import embed_finite, finite_trace

spot = pytest.importorskip("spot")

FORMULAS = st.recursive(
    st.sampled_from([Formula.ap("a"), Formula.ap("b"), Formula.true(), Formula.false()]),
    lambda inner: st.one_of(
        st.builds(lambda operator, operand: Formula(operator, (operand,)), st.sampled_from("!XFG"), inner),
        st.builds(
            lambda operator, left, right: Formula(operator, (left, right)),
            st.sampled_from(["&", "|", "^", "->", "<->", "U", "R", "W", "M"]),
            inner,
            inner,
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(FORMULAS)
def test_the_embedding_is_equivalent_to_spot_s(formula):
    alive = Formula.ap("alive")
    ours = embed_finite(formula, alive) & finite_trace(alive)
    assert spot.are_equivalent(spot.formula(to_infix(ours)), spot.from_ltlf(spot.formula(to_infix(formula))))
