"""Clauses read back what they write in both notations, and say what is wrong with every other text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import FormulaSyntaxError
from hf_symbinv.logic.clauses import clauses_to_infix, clauses_to_prefix, parse_clauses, read_clauses

from .strategies import names

literals = st.tuples(names, st.booleans())
clause_lists = st.lists(st.lists(literals, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4).map(tuple)


@given(clause_lists)
def test_what_is_written_reads_back_as_the_same_clauses(clauses):
    assert parse_clauses(clauses_to_prefix(clauses)) == clauses
    assert read_clauses(clauses_to_prefix(clauses)) == clauses
    assert read_clauses(clauses_to_infix(clauses)) == clauses


@pytest.mark.parametrize(
    ("prefix", "infix"),
    [
        ("c!a!b;!ca;c", "(c | !a | !b) & (!c | a) & (c)"),
        ("! request a ; a", "(!request | a) & (a)"),
        ('"request"', "(request)"),
        ('! "a b" U2', '(!"a b" | U2)'),
    ],
)
def test_notations(prefix, infix):
    assert clauses_to_infix(parse_clauses(prefix)) == infix
    assert clauses_to_prefix(read_clauses(infix)) == clauses_to_prefix(read_clauses(prefix)) == prefix


def test_brackets_may_be_left_out_where_infix_notation_needs_none():
    assert read_clauses("a & (b | !c) & !d") == parse_clauses("a;b!c;!d")


@pytest.mark.parametrize(
    ("text", "operator"), [("a | b & c", "&"), ("(a ^ b) & c", "^"), ("a & !!b", "!"), ("(1)", "1")]
)
def test_a_formula_that_is_no_conjunction_of_disjunctions_of_literals_is_refused(text, operator):
    with pytest.raises(FormulaSyntaxError, match="stands inside a clause; write clauses as") as refused:
        read_clauses(text)
    assert refused.value.reason.startswith(repr(operator))
