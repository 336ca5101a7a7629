"""Specifications as people write them are read, and what cannot be read is told with its line and column."""

from contextlib import suppress

import pytest

from hf_symbinv.answers import SpecificationError, read_specification, read_specification_file
from hf_symbinv.logic import parse_infix, to_infix

FILE = """\
# An arbiter.
assume    fair:     G F ready   // the bus
guarantee "granted 1":  G(request ->
    F[0:3] grant)
G !(grant & error)
/* over
   two lines */ a U b; c
property G a &
  F b
  -> c
"""


def read(text, **options):
    return [(item.name, item.role, to_infix(item.formula)) for item in read_specification(text, **options).properties]


def test_a_file_has_named_properties_comments_and_formulas_over_several_lines():
    assert read(FILE) == [
        ("fair", "assume", "G F ready"),
        ("granted 1", "guarantee", "G(request -> (grant | X(grant | X(grant | X grant))))"),
        ("G !(grant & error)", "property", "G !(grant & error)"),
        ("a U b", "property", "a U b"),
        ("c", "property", "c"),
        ("G a & F b -> c", "property", "(G a & F b) -> c"),
    ]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("a;b\nc", ["a", "b", "c"]),
        ("a\n& b", ["a & b"]),
        ("a\nU b\nG c", ["a U b", "G c"]),
        ("a ->\n\n# why\n b", ["a -> b"]),
        ('"x;y // z" & "a#b"', ['"x;y // z" & "a#b"']),
        ("assume", ["assume"]),
        ("assume & b", ["assume & b"]),
        ("guarantee: a", ["a"]),
        ("G\n!a", ["G !a"]),
        ("X[2]\na", ["X X a"]),
        ("cpu.irq & _x", ["cpu.irq & _x"]),
    ],
)
def test_where_a_formula_ends(text, formulas):
    assert [formula for _, _, formula in read(text)] == formulas


def test_formulas_on_finite_traces_have_a_new_proposition_that_ends():
    specification = read_specification("traces finite\nF alive; X[!] b")
    assert specification.finite and specification.alive == parse_infix("alive_")
    assert specification.normal_form() == ("F(alive & alive_) & !X(!b | !alive_) & (alive_ & (alive_ U G !alive_))")
    assert read_specification("F a", finite=True).conjuncts() == read_specification("traces finite; F a").conjuncts()


def test_some_properties_are_a_specification_of_their_own():
    whole = read_specification(FILE)
    part = whole.only(("granted 1", "c"))
    assert part.names == ("granted 1", "c")
    again = read_specification(part.text)
    assert [item.formula for item in again.properties] == [item.formula for item in part.properties]
    assert again.names == part.names


def test_a_file_of_another_kind_is_refused_by_name(tmp_path):
    path = tmp_path / "x.ltl"
    path.write_bytes(b"\xff\xfea")
    with pytest.raises(SpecificationError, match=r"x\.ltl: not text in UTF-8"):
        read_specification_file(path)
    path.write_bytes("\ufeffG a\r\n& F b\r\n".encode())
    assert read_specification_file(path).normal_form() == "G a & F b"


@pytest.mark.parametrize("text", ["X[300] a;" * 5, "a;" * 10_001])
def test_a_specification_is_not_larger_than_solvers_bear(text, monkeypatch):
    monkeypatch.setattr("hf_symbinv.answers.specification.MOST_NODES", 1_000 if "X" in text else 300_000)
    with pytest.raises(SpecificationError, match=r"over 10,000 properties, or [13]0?0?,000 operators and names"):
        read_specification(text)


@pytest.mark.parametrize("line", ["a &\n", "(\n", "\n", "a & // x\n", "a;\n", "( a\n  \n"])
def test_long_texts_take_time_in_their_length_alone(line):
    """A test of seconds would fail on a busy machine; a reader that looks back at all lines would take minutes here."""
    with suppress(SpecificationError):
        read_specification(line * (60_000 // len(line)))
