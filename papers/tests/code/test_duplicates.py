"""Copies of functions are found, all of them, and no others."""

import textwrap
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given

from papers.code.duplicates import _apart, originals
from papers.code.functions import read_functions


def functions(*sources: str):
    return [read_functions(textwrap.dedent(source))[0][0] for source in sources]


LONG = (
    "def f(a, b):\n    for c in a:\n        b.append(c.strip().lower())\n    b.sort(key=len)\n    "
    "return sum(map(int, b))"
)


def test_a_renamed_function_is_a_copy_and_another_one_is_not():
    renamed = LONG.replace("a", "x").replace("xppend", "append").replace("mxp", "map")
    given = functions(LONG, renamed.replace("in x", "in  x"), "def g(a): return a")
    kept, counts = originals(given, 0.8)
    assert kept == [given[0], given[2]]
    assert counts == {"the same as another up to renaming": 1, "nearly the same as another": 0}


def test_a_function_with_little_changed_is_a_near_copy_by_the_share():
    given = functions(LONG, LONG.replace("return sum", "return max"))
    for share, kept in ((0.99, 2), (0.5, 1)):
        found, counts = originals(given, share)
        assert found == given[:kept]
        assert counts["nearly the same as another"] == 2 - kept


def test_another_use_of_variables_makes_a_near_copy():
    given = functions(LONG, LONG.replace("map(int, b)", "map(int, a)"))
    assert originals(given, 1.0)[0] == given[:1]


@given(
    st.lists(st.frozensets(st.integers(0, 9), min_size=1, max_size=8), max_size=25),
    st.sampled_from(["0.3", "0.5", "0.6", "0.75", "0.8", "1"]),
)
def test_the_search_finds_what_comparing_all_pairs_finds(numbers, share):
    sets, limit = [frozenset((str(number),) for number in one) for one in numbers], Fraction(share)
    kept = []
    for index, one in enumerate(sets):
        if all(Fraction(len(one & sets[other]), len(one | sets[other])) < limit for other in kept):
            kept.append(index)
    assert _apart(sets, limit) == kept


@pytest.mark.parametrize("share", [0.1, 0.8, 1.0])
def test_the_first_of_equals_stays(share):
    given = functions(LONG, LONG)
    assert originals(given, share)[0] == given[:1]
