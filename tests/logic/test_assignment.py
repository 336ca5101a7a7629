"""Assignments read back what they write in both notations, and say what is wrong with every other text."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import (
    Assignment,
    assignment_to_infix,
    assignment_to_prefix,
    parse_assignment,
    parse_assignment_infix,
    read_assignment,
)

from .strategies import names

assignments = st.dictionaries(names, st.booleans(), min_size=1, max_size=5).map(lambda d: Assignment(tuple(d.items())))


@given(assignments)
def test_what_is_written_reads_back_as_the_same_assignment(assignment):
    assert parse_assignment(assignment_to_prefix(assignment)) == assignment
    assert parse_assignment_infix(assignment_to_infix(assignment)) == assignment
    assert read_assignment(assignment_to_prefix(assignment)) == assignment
    assert read_assignment(assignment_to_infix(assignment)) == assignment
    assert pickle.loads(pickle.dumps(assignment)) == assignment
    assert hash(parse_assignment(assignment_to_prefix(assignment))) == hash(assignment)


@pytest.mark.parametrize(
    ("prefix", "infix"),
    [
        ("a1b0", "a=1, b=0"),
        ("request 1 grant 0", "request=1, grant=0"),
        ('"a b" 0 U2 1', '"a b"=0, U2=1'),
        ('"U" 1', '"U"=1'),
    ],
)
def test_notations(prefix, infix):
    assert assignment_to_prefix(parse_assignment(prefix)) == prefix
    assert assignment_to_infix(parse_assignment(prefix)) == infix
    assert assignment_to_prefix(parse_assignment_infix(infix)) == prefix


def test_renaming_and_sorting():
    assignment = parse_assignment("b0a1")
    assert assignment.symbols() == ("b", "a")
    assert assignment_to_prefix(assignment.sorted()) == "a1b0"
    assert assignment_to_prefix(assignment.rename({"a": "b", "b": "a"})) == "a0b1"
    with pytest.raises(ValueError, match="'b' and 'a' would both become 'a'"):
        assignment.rename({"b": "a"})
