"""Bounded operators are written out as Spot does it, and mean what Spot says they mean."""

import pytest

from hf_symbinv.logic import parse_infix, to_infix

spot = pytest.importorskip("spot")


@pytest.mark.parametrize(
    ("text", "written_out"),
    [
        ("X[3] a", "X X X a"),
        ("X[0] a", "a"),
        ("F[2:4] a", "X X(a | X(a | X a))"),
        ("F [ 2 .. 4 ] a", "X X(a | X(a | X a))"),
        ("G[0..2]a", "a & X(a & X a)"),
        ("F[2:] a", "X X F a"),
        ("G[1:$] a", "X G a"),
        ("F[2:2] a", "X X a"),
        ("X[!] a", "!X !a"),
        ("F[0:1!] a", "a | !X !a"),
        ("! X[2] F[1:2] a U b", "!X X X(a | X a) U b"),
        ("F[] a", "F G a"),
    ],
)
def test_a_bounded_operator_is_written_out(text, written_out):
    assert to_infix(parse_infix(text)) == written_out


@pytest.mark.parametrize("text", ["X[3] a", "G[0:3] (a | b)", "F[3:] a", "G[2..2] a U b", "!F[1:2] G[0:1] a"])
def test_spot_reads_the_same(text):
    assert spot.are_equivalent(spot.formula(to_infix(parse_infix(text))), spot.formula(text))


def test_large_bounds_are_written_out_without_recursion():
    assert parse_infix("X[20000] a").size == 20_001
    assert parse_infix("F[0:5000] a").size == 15_001
