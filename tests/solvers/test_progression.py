"""What is left of a formula after some steps: against the checker, on the words that go on in any way."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, Trace, parse_infix
from hf_symbinv.solvers.lasso import conjunction, truth
from hf_symbinv.solvers.progression import remainder

from ..logic.strategies import formulas

FORMULAS = formulas(names=st.sampled_from("ab"), max_leaves=8)
STEPS = st.lists(st.fixed_dictionaries({"a": st.booleans(), "b": st.booleans()}), max_size=6)


@given(formula=FORMULAS, steps=STEPS, cycle=STEPS.filter(bool))
def test_a_formula_holds_if_what_is_left_of_it_holds_of_the_rest(formula, steps, cycle):
    rest = tuple(map(conjunction, cycle))
    left = remainder(formula, steps)
    assert left is not None
    assert truth(left, Trace((), rest)) == truth(formula, Trace(tuple(map(conjunction, steps)), rest))


def test_few_formulas_come_up_on_many_steps():
    alike = [{"a": bool(place % 2), "b": not place % 2} for place in range(2)]
    formula = parse_infix("G(a -> F b) & G F a & X X !b")
    left = remainder(formula, [alike[place % 2] for place in range(300_001)])
    assert left == Formula.false()
    left = remainder(parse_infix("G(a -> F b) & G(F a | X b U a)"), [alike[place % 2] for place in range(300_001)])
    assert left is not None and left.size <= 30


@given(
    formula=FORMULAS,
    steps=st.lists(st.fixed_dictionaries({}, optional={"a": st.booleans(), "b": st.booleans()}), max_size=4),
    cycle=STEPS.filter(bool),
)
def test_values_that_steps_lack_may_be_any(formula, steps, cycle):
    """All ways to fill them in give all ways to fill in what is left."""
    lacking = [(place, name) for place, step in enumerate(steps) for name in formula.symbols() if name not in step]
    rest, left = tuple(map(conjunction, cycle)), remainder(formula, steps)
    unknown = [f"{name} in step {place}" for place, name in lacking]
    for values in product((False, True), repeat=min(len(lacking), 6)):
        values += (True,) * (len(lacking) - len(values))
        filled = [dict(step) for step in steps]
        for (place, name), value in zip(lacking, values, strict=True):
            filled[place][name] = value
        own = conjunction({**cycle[0], **dict(zip(unknown, values, strict=True))})
        whole = Trace(tuple(map(conjunction, filled)), rest)
        assert truth(left, Trace((own, *rest[1:]), rest)) == truth(formula, whole)
