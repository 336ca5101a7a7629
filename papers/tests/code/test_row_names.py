"""Rows under other names are the same rows."""

import random

import pytest

from papers.code.functions import read_functions
from papers.code.row_names import at_random, minified, names_in

POOL = ["alpha", "beta", "gamma", "delta", "append", "result", "x"]


def canonical(text):
    [function] = read_functions(text)[0]
    return function.canonical()


@pytest.mark.parametrize("change", [lambda row: at_random(row, POOL, random.Random(1)), minified, dict])
def test_a_renamed_row_means_the_same(rows, exchanged, change):
    for row in [*rows, *exchanged]:
        new = change(row)
        assert canonical(new["text"]) == canonical(row["text"])
        assert [new["text"][one["start"] : one["end"]] for one in new["symbols"]] == [
            one["name"] for one in new["symbols"]
        ]
        for one, other in zip(row.get("arguments", ()), new.get("arguments", ()), strict=True):
            # What stands there is the same argument, under other names.
            names = {old["name"]: now["name"] for old, now in zip(row["symbols"], new["symbols"], strict=True)}
            text = row["text"][one["start"] : one["end"]]
            assert new["text"][other["start"] : other["end"]] == names.get(text, text)


def test_names_that_the_text_has_are_not_given(rows):
    row = rows[2]  # calls found.append and make
    for seed in range(20):
        names = {one["name"] for one in at_random(row, POOL, random.Random(seed))["symbols"]}
        assert "append" not in names
        assert len(names) == len({one["name"] for one in row["symbols"]})


def test_minified_names_are_letters_in_the_order_of_appearance(rows):
    assert minified(rows[0])["text"].startswith("def total(a, b):\n    c = 0\n    for d in a:")


def test_names_of_few_rows_are_left_out(rows):
    assert "self" not in names_in(rows, least=3)
    assert names_in(rows, least=2) == sorted({one["name"] for row in rows for one in row["symbols"]})
