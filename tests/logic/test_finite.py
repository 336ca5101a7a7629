"""The embedding of finite traces agrees with Spot's."""

import spot
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, to_infix
from hf_symbinv.logic.finite import embed_finite, finite_trace

from .strategies import formulas


@settings(max_examples=100, deadline=None)
@given(formulas(names=st.sampled_from("ab"), max_leaves=5))
def test_the_embedding_is_equivalent_to_spot_s(formula):
    alive = Formula.ap("alive")
    ours = embed_finite(formula, alive) & finite_trace(alive)
    assert spot.are_equivalent(spot.formula(to_infix(ours)), spot.from_ltlf(spot.formula(to_infix(formula))))
