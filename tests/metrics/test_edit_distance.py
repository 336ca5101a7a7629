"""Edit distances equal those of the textbook's recursion, token by token, and are summed up with an interval."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.metrics import wilson_interval
from hf_symbinv.metrics.edit_distance import compute_edit_distance, edit_distance

WORDS = st.lists(st.sampled_from(["a", "b", "grant", "&", "<->"]), max_size=7)


def textbook(left, right):
    """Levenshtein's distance by its definition."""

    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (left[i - 1] != right[j - 1])
        )

    return distance(len(left), len(right))


def spaced(words):
    return " ".join(words) + " "


@given(WORDS, WORDS)
def test_the_distance_is_the_textbooks(left, right):
    assert edit_distance(spaced(left), spaced(right)) == textbook(tuple(left), tuple(right))


@given(st.text("abc&1", max_size=8), st.text("abc&1", max_size=8))
def test_compact_texts_are_compared_character_by_character(left, right):
    assert edit_distance(left, right) == textbook(left, right)
    assert edit_distance(left, spaced(left)) == 0


def test_a_name_counts_once_however_long_it_is():
    assert edit_distance("request grant", "request acknowledge grant") == 1
    assert edit_distance('"next state" a', "a a") == 1


def test_the_mean_and_the_exact_share_are_over_all_predictions():
    result = compute_edit_distance(["abca", "a b c", "", "ab"], ["abca", "abca", "abc", "ab"])
    exact = {"exact": 0.5, "exact_interval": list(wilson_interval(2, 4))}
    assert result == {"count": 4, "edit_distance": 1.0, **exact, "per_example": [0, 1, 3, 0]}


def test_nothing_to_compare_and_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="no predictions: a mean needs at least one"):
        compute_edit_distance([], [])
    with pytest.raises(ValueError, match="1 predictions, 2 references: must be equal"):
        compute_edit_distance(["a"], ["a", "b"])
