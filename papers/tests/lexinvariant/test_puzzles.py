"""Puzzles have one answer, which their own prompts say."""

import re

import pytest

from papers.lexinvariant.characters import ALPHABETS
from papers.lexinvariant.puzzles import PUZZLES, look_up, permutation

PRINTABLE = ALPHABETS["printable"]


def test_the_answer_to_look_up_is_the_value_of_the_key_that_is_asked_for():
    for prompt, answer in look_up(PRINTABLE, 200, seed=0):
        *table, question = prompt.split(" ")
        values = dict(entry.split("->") for entry in table)
        assert len(values) == 5 and answer == (values[question.removesuffix("->")],)


def test_permutations_do_what_their_demonstrations_do():
    for prompt, answer in permutation(PRINTABLE, 200, seed=0):
        *shown, question = prompt.split(", ")
        assert len(shown) == 3
        before, after = shown[0].split("->")
        places = [before.split(" ").index(symbol) for symbol in after.split(" ")]
        for line, symbols in [*(part.split("->") for part in shown), (question[:-2], " ".join(answer))]:
            assert symbols.split(" ") == [line.split(" ")[place] for place in places]


@pytest.mark.parametrize("make", PUZZLES.values(), ids=PUZZLES)
def test_prompts_are_as_long_as_each_other_and_drawn_with_the_seed(make):
    found = make(PRINTABLE, 50, seed=3)
    assert len({len(prompt) for prompt, _ in found}) == 1 and len(set(found)) == 50
    assert found == make(PRINTABLE, 50, seed=3) != make(PRINTABLE, 50, seed=4)
    drawn = {symbol for prompt, _ in make(PRINTABLE, 2000, seed=0) for symbol in re.sub("->|[, ]", "", prompt)}
    assert drawn == set(PRINTABLE) - set("->, \n")


@pytest.mark.parametrize("make", PUZZLES.values(), ids=PUZZLES)
def test_symbols_may_be_drawn_as_often_as_a_text_has_them(make):
    frequencies = {**dict.fromkeys("abcdefghij", 1.0), "z": 30.0, "-": 500.0}
    found = make(PRINTABLE, 500, seed=0, frequencies=frequencies)
    drawn = [re.sub("->|[, ]", "", prompt) for prompt, _ in found]
    assert set("".join(drawn)) == set("abcdefghijz")
    assert sum("z" in prompt for prompt in drawn) > 490
    assert found == make(PRINTABLE, 500, seed=0, frequencies=frequencies) != make(PRINTABLE, 500, seed=0)


def test_alphabets_that_cannot_ask_are_refused():
    with pytest.raises(ValueError, match="',' is missing, which separates; use printable ASCII"):
        permutation("abc-> ", 1, seed=0)
    with pytest.raises(ValueError, match="a puzzle needs 10 besides separators; use more characters"):
        look_up("abc->, ", 1, seed=0)
