"""Formulas, traces, assignments and clauses read back what they write, and are written as people and papers do."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import logic
from hf_symbinv.logic import Assignment, Trace
from hf_symbinv.logic.clauses import clauses_to_infix, clauses_to_prefix, parse_clauses, read_clauses

from .strategies import formulas, names, steps

traces = st.builds(Trace, st.lists(steps, max_size=3).map(tuple), st.lists(steps, min_size=1, max_size=3).map(tuple))
assignments = st.dictionaries(names, st.booleans(), min_size=1, max_size=5).map(lambda d: Assignment(tuple(d.items())))
literals = st.tuples(names, st.booleans())
clause_lists = st.lists(st.lists(literals, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4).map(tuple)
# Kind of value → values, and what writes and reads them: prefix notation first, then infix, then others.
NOTATIONS = {
    "formula": (
        formulas(),
        [(logic.to_prefix, logic.parse_prefix), (logic.to_infix, logic.parse_infix), (logic.to_infix, logic.parse),
         (logic.to_lbt, logic.parse_lbt)],
    ),
    "trace": (
        traces,
        [(logic.trace_to_prefix, logic.parse_trace), (logic.trace_to_infix, logic.read_trace),
         (logic.trace_to_prefix, logic.read_trace)],
    ),
    "assignment": (
        assignments,
        [(logic.assignment_to_prefix, logic.parse_assignment),
         (logic.assignment_to_infix, logic.parse_assignment_infix),
         (logic.assignment_to_prefix, logic.read_assignment), (logic.assignment_to_infix, logic.read_assignment)],
    ),
    "clauses": (
        clause_lists,
        [(clauses_to_prefix, parse_clauses), (clauses_to_infix, read_clauses), (clauses_to_prefix, read_clauses)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOTATIONS)
@given(data=st.data())
def test_what_is_written_or_pickled_reads_back_as_the_same_value(kind, data):
    values, notations = NOTATIONS[kind]
    value = data.draw(values)
    copies = [*(read(write(value)) for write, read in notations), pickle.loads(pickle.dumps(value))]
    assert all(copy == value and hash(copy) == hash(value) for copy in copies)


@pytest.mark.parametrize(
    ("kind", "prefix", "infix"),
    [
        ("formula", "G -> request F grant_1", "G(request -> F grant_1)"),
        ("formula", "&&abc", "a & b & c"),
        ("formula", "&a&bc", "a & (b & c)"),
        ("formula", "UaUbc", "a U (b U c)"),
        ("formula", "^a!&bc", "a xor !(b & c)"),
        ("formula", "XXX!a", "X X X !a"),
        ("formula", '& "U" "a b"', '"U" & "a b"'),
        ("formula", "& true Fx", '"true" & "Fx"'),
        ("formula", "<-> 1 0", "1 <-> 0"),
        ("formula", "&^aWbFc0", "(a xor (b W F c)) & 0"),
        ("formula", "& a bc", "a & bc"),
        ("formula", '"bc"', "bc"),
        ("formula", '"A"', "A"),
        ("formula", "& a X2", 'a & "X2"'),
        ("trace", "a;&ab;{b}", "a; a & b; cycle{b}"),
        ("trace", "&a!b;{|ab;0}", "a & !b; cycle{a | b; 0}"),
        ("trace", "request ; & request grant_1 ; { grant_1 }", "request; request & grant_1; cycle{grant_1}"),
        ("trace", "{ request }", "cycle{request}"),
        ("trace", '{ "a b" ; c }', 'cycle{"a b"; c}'),
        ("assignment", "a1b0", "a=1, b=0"),
        ("assignment", "request 1 grant 0", "request=1, grant=0"),
        ("assignment", '"a b" 0 U2 1', '"a b"=0, U2=1'),
        ("assignment", '"U" 1', '"U"=1'),
        ("clauses", "c!a!b;!ca;c", "(c | !a | !b) & (!c | a) & (c)"),
        ("clauses", "! request a ; a", "(!request | a) & (a)"),
        ("clauses", '"request"', "(request)"),
        ("clauses", '! "a b" U2', '(!"a b" | U2)'),
    ],
)
def test_prefix_is_compact_where_every_token_is_one_character_and_infix_has_the_users_names(kind, prefix, infix):
    (to_prefix, parse_prefix), (to_infix, parse_infix), *_ = NOTATIONS[kind][1]
    assert to_prefix(parse_prefix(prefix)) == to_prefix(parse_infix(infix)) == prefix
    assert to_infix(parse_prefix(prefix)) == infix


def test_assignments_are_renamed_and_sorted():
    assignment = logic.parse_assignment("b0a1")
    assert assignment.symbols() == ("b", "a")
    assert logic.assignment_to_prefix(assignment.sorted()) == "a1b0"
    assert logic.assignment_to_prefix(assignment.rename({"a": "b", "b": "a"})) == "a0b1"
    with pytest.raises(ValueError, match="'b' and 'a' would both become 'a'"):
        assignment.rename({"b": "a"})


def test_brackets_may_be_left_out_where_infix_notation_needs_none():
    assert read_clauses("a & (b | !c) & !d") == parse_clauses("a;b!c;!d")


@pytest.mark.parametrize(
    ("text", "operator"), [("a | b & c", "&"), ("(a ^ b) & c", "^"), ("a & !!b", "!"), ("(1)", "1")]
)
def test_a_formula_that_is_no_conjunction_of_disjunctions_of_literals_is_refused(text, operator):
    with pytest.raises(logic.FormulaSyntaxError, match="stands inside a clause; write clauses as") as refused:
        read_clauses(text)
    assert refused.value.reason.startswith(repr(operator))
