"""Spot and the bounded search agree, and both are right by the definition of LTL."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.answers import automata, unrolling
from hf_symbinv.answers.finding import settled
from hf_symbinv.logic import Formula, parse_infix, read_trace, trace_to_infix
from hf_symbinv.solvers.lasso import concrete, literals

from ..logic.strategies import formulas as any_formulas
from ..solvers.semantics import Lasso, holds

pytest.importorskip("spot")


def formulas(*texts):
    return tuple(map(parse_infix, texts))


def is_satisfied(conjuncts, trace):
    """By the definition, on one word of the trace."""
    symbols = tuple(dict.fromkeys(name for formula in conjuncts for name in formula.symbols()))
    word = concrete(trace, symbols)
    lasso = Lasso(tuple(map(literals, word.prefix)), tuple(map(literals, word.cycle)))
    return all(holds(formula, lasso) for formula in conjuncts)


@settings(max_examples=60)
@given(st.lists(any_formulas(names=st.sampled_from("abc"), max_leaves=5), min_size=1, max_size=3).map(tuple))
def test_both_find_witnesses_of_the_same_questions(conjuncts):
    finding = automata.find(conjuncts)
    if finding.unsatisfiable:
        search = unrolling._Search(conjuncts)
        for _ in range(6):
            search.extend()
            assert search.lasso() is None
        return
    assert is_satisfied(conjuncts, finding.witness)
    other = unrolling.find(conjuncts)
    assert is_satisfied(conjuncts, other.witness)
    assert automata.judge_each(conjuncts, other.witness) == ("correct", "")


@pytest.mark.parametrize(
    ("conjuncts", "core"),
    [
        (formulas("X X X a", "b", "X[3] !a"), (0, 2)),
        (formulas("G a", "F b", "X !a"), (0, 2)),
        (formulas("0"), (0,)),
        (formulas("G(a -> X !a)", "G(!a -> X a)", "X a <-> a"), (0, 1, 2)),
    ],
)
def test_a_contradiction_in_the_first_steps_is_proved_by_the_conjuncts_that_make_it(conjuncts, core):
    finding = unrolling.find(conjuncts)
    assert finding.unsatisfiable and finding.core == core
    assert automata.find(conjuncts).unsatisfiable


def test_a_counter_needs_a_lasso_of_all_its_values():
    finding = unrolling.find(formulas("!x & !y & G(X x <-> !x) & G(X y <-> (y xor x))"))
    assert (finding.witness.prefix, len(finding.witness.cycle)) == ((), 4)
    assert finding.how == "lassos of up to 4 steps"


def test_a_trace_is_settled_only_if_it_satisfies_the_formula():
    formula = parse_infix("G(a | b) & F c")
    assert settled(formula, read_trace("cycle{a}")) is None
    assert trace_to_infix(settled(formula, read_trace("a & b; cycle{(a | b) & (c | d)}"))) in (
        "a; cycle{a & c}", "b; cycle{a & c}", "a; cycle{b & c}", "b; cycle{b & c}",
    )  # fmt: skip


def test_what_spot_has_no_room_for_is_left_to_the_others_in_a_line():
    conjuncts = formulas(*(f"G F p{i} | F G q{i}" for i in range(40)))
    finding = automata.find(conjuncts)
    assert finding.witness is None and not finding.unsatisfiable
    assert finding.how == "Too many acceptance sets used"
    assert is_satisfied(conjuncts, unrolling.find(conjuncts).witness)


def test_shared_parts_stay_small():
    """Written as a tree it would have 2^40 nodes."""
    formula = Formula.ap("a")
    for _ in range(40):
        formula = formula & Formula("X", (formula,))
    assert unrolling.find((formula,)).witness is not None
