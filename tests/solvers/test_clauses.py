"""Verdicts on clauses agree with truth tables, and Tseitin's clauses stand for every formula."""

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hf_symbinv.logic import to_prefix
from hf_symbinv.logic.clauses import clauses_to_prefix, parse_clauses
from hf_symbinv.logic.formula import PROPOSITIONAL_OPERATORS
from hf_symbinv.solvers.clauses import judge, normalized_clauses, tseitin_clauses

from ..logic.strategies import formulas
from .test_prop import completions, holds

small = formulas(PROPOSITIONAL_OPERATORS, st.sampled_from("abc"), max_leaves=5)
literals = st.tuples(st.sampled_from("abcxy"), st.booleans())
clause_lists = st.lists(st.lists(literals, min_size=1, max_size=3).map(tuple), min_size=1, max_size=6).map(tuple)
NAMES = [f"new_{place}" for place in range(100)]


def satisfied(clauses, values):
    return all(any(values[name] == positive for name, positive in clause) for clause in clauses)


def stand_for(clauses, formula):
    """The definition, row by row of the truth table."""
    new = sorted({name for clause in clauses for name, _ in clause} - set(formula.symbols()))
    for valuation in completions(formula, {}):
        rows = [dict(zip(new, row, strict=True)) for row in itertools.product((False, True), repeat=len(new))]
        if holds(formula, valuation) != any(satisfied(clauses, {**valuation, **row}) for row in rows):
            return False
    return True


@settings(max_examples=300)
@given(small, clause_lists)
def test_the_verdict_is_that_of_the_truth_table(formula, clauses):
    verdict, message = judge(to_prefix(formula), clauses_to_prefix(clauses), 5)
    assert verdict == ("correct" if stand_for(clauses, formula) else "incorrect")
    assert bool(message) == (verdict == "incorrect")


@settings(max_examples=200)
@given(formulas(PROPOSITIONAL_OPERATORS, st.sampled_from("abcde"), max_leaves=8))
def test_tseitins_clauses_stand_for_the_formula_with_a_symbol_for_each_gate(formula):
    answer = tseitin_clauses(to_prefix(formula), iter(NAMES))
    assert judge(to_prefix(formula), answer, 100) == ("correct", "")
    gates = sum(node.name is None and node.operator != "!" for node in formula.preorder())
    new = dict.fromkeys(name for clause in parse_clauses(answer) for name, _ in clause if name.startswith("new_"))
    assert list(new) == NAMES[:gates]
    assert tseitin_clauses(to_prefix(formula), iter(NAMES[:gates])) == answer
    assert not gates or tseitin_clauses(to_prefix(formula), iter(NAMES[: gates - 1])) is None


@settings(max_examples=200)
@given(small, st.randoms(use_true_random=False))
def test_damaged_clauses_are_judged_by_what_is_left_of_them(formula, generator):
    clauses = [list(clause) for clause in parse_clauses(tseitin_clauses(to_prefix(formula), iter("xyztuvwpqrs")))]
    clause = generator.choice(clauses)
    place = generator.randrange(len(clause))
    name, positive = clause[place]
    kind = generator.choice(("turn", "drop", "leave out"))
    if kind == "turn":
        clause[place] = name, not positive
    elif kind == "drop" and len(clause) > 1:
        del clause[place]
    else:
        assume(len(clauses) > 1)
        clauses.remove(clause)
    damaged = tuple(map(tuple, clauses))
    assume(len({name for clause in damaged for name, _ in clause}) < 10)
    verdict, _ = judge(to_prefix(formula), clauses_to_prefix(damaged), 100)
    assert verdict == ("correct" if stand_for(damaged, formula) else "incorrect")


@pytest.mark.parametrize(
    ("formula", "clauses", "message"),
    [
        ("&ab", "a", "the clauses can be satisfied with a=1, b=0, where the formula is false"),
        ("&ab", "a;b;!a", "the clauses cannot be satisfied with a=1, b=1, where the formula is true"),
        ("&ab", "cx", "the clauses have 2 new symbols; they may have 1"),
        ("0", "a", "the clauses can be satisfied, where the formula is false"),
        ("1", "a;!a", "the clauses cannot be satisfied, where the formula is true"),
    ],
)
def test_a_wrong_answer_is_told_where_it_is_wrong(formula, clauses, message):
    assert judge(formula, clauses, 1) == ("incorrect", message)


@pytest.mark.parametrize("text", ["", "!", "a;", "&ab", "a b c ;"])
def test_a_text_that_is_no_list_of_clauses_is_invalid(text):
    verdict, message = judge("&ab", text, 9)
    assert verdict == "invalid" and "expected a symbol" in message
    assert normalized_clauses(text) == text
