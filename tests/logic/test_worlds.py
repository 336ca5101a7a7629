"""Truth values in worlds, against Spot and truth tables."""

import itertools

import pytest
from hypothesis import given, settings

from hf_symbinv.logic import parse_prefix, to_prefix
from hf_symbinv.logic.formula import ARITY, PROPOSITIONAL_OPERATORS
from hf_symbinv.logic.notation import read_words
from hf_symbinv.logic.worlds import Worlds, heights
from hf_symbinv.solvers.ltl import judge

from .strategies import formulas, letters

LASSOS = Worlds([(2, 0, 1), (3, 0, 2), (2, 1, 3)], symbols=5, seed=1)


def words_of(formula):
    """The words of a formula over a to e, symbols as numbers, and the text of the part that each begins."""
    words = [word if name is None else ord(name) - ord("a") for _, word, name in read_words(to_prefix(formula))]
    parts = []
    for start, word in enumerate(words):
        end, missing = start, 1
        while missing:
            missing += (0 if isinstance(words[end], int) else ARITY[words[end]]) - 1
            end += 1
        parts.append(" ".join(chr(ord("a") + word) if isinstance(word, int) else word for word in words[start:end]))
    return words, parts


def lassos(worlds):
    """For each position of each world, the bit and the trace from there on, in prefix notation."""
    values = worlds.truth
    offset = 0
    for count, start, positions in worlds.shapes:
        for world in range(count):
            steps = []
            for position in range(positions):
                bit = offset + position * count + world
                literals = [
                    name if values([number])[0] >> bit & 1 else f"! {name}" for number, name in enumerate("abcde")
                ]
                steps.append("& & & & " + " ".join(literals))
            for position in range(positions):
                cycle = steps[start:] if position <= start else steps[position:] + steps[start:position]
                trace = [*steps[position:start], "{ " + " ; ".join(cycle) + " }"]
                yield offset + position * count + world, " ; ".join(trace)
        offset += count * positions


@given(formulas(frozenset(ARITY), letters, max_leaves=8))
@settings(max_examples=60, deadline=None)
def test_each_part_is_true_where_spot_says_so(formula):
    words, parts = words_of(formula)
    found = LASSOS.truth(words)
    for bit, trace in lassos(LASSOS):
        for value, part in zip(found, parts, strict=True):
            assert (judge(part, trace)[0] == "correct") == bool(value >> bit & 1), (part, trace)


@given(formulas(PROPOSITIONAL_OPERATORS, letters))
def test_worlds_of_one_position_are_a_truth_table(formula):
    words, _ = words_of(formula)
    whole = Worlds([(32, 0, 1)], symbols=5).truth(words)[0]
    for world, values in enumerate(itertools.product((0, 1), repeat=5)):
        trace = "{ & & & & " + " ".join(
            name if value else f"! {name}" for name, value in zip("edcba", values, strict=True)
        ) + " }"  # fmt: skip
        assert (judge(to_prefix(formula), trace)[0] == "correct") == bool(whole >> world & 1)


def test_symbols_beyond_the_table_have_random_values_that_the_seed_decides():
    first, again, other = (Worlds([(4, 0, 1)], symbols=9, seed=seed) for seed in (0, 0, 1))
    values = [[worlds.truth([symbol])[0] for symbol in range(9)] for worlds in (first, again, other)]
    assert values[0] == values[1] != values[2]
    assert values[0][:2] == values[2][:2] == [0b1010, 0b1100]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["&", 0], "& 0: is no formula"),
        ([0, 1], "0 1: is 2 formulas, and must be one"),
        ([7], "7: is no formula"),
        (["S", 0], "S 0: is no formula"),
        ([], "is 0 formulas"),
    ],
)
def test_what_is_no_formula_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        LASSOS.truth(words)


def test_the_height_of_a_part_is_its_longest_path_of_operators():
    words, _ = words_of(parse_prefix("&!aU0XXb"))
    assert heights(words) == [4, 1, 0, 3, 0, 2, 1, 0]
