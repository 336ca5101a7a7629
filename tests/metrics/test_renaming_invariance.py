"""Shares of answers that change, counted by hand."""

import pytest

from hf_symbinv.metrics import wilson_interval
from hf_symbinv.metrics.renaming_invariance import compute_renaming_invariance

ANSWERS = [["a", "a", "a"], ["a", "b", "a"], ["b", "a", "a"], ["a", "b", "c"]]


def test_shares_are_those_counted_by_hand():
    found = compute_renaming_invariance(ANSWERS, ["a"] * 4, ["a", "b", "a", "a"], [1, 1, 2, 2])
    assert (found["count"], found["changed"], found["alpha_covariance"]) == (4, 0.75, (1 + 0.5 + 0.5 + 0) / 4)
    assert (found["written"], found["renamed"], found["worst"], found["minified"]) == (
        0.75, (1 + 0.5 + 1 + 0) / 4, 0.25, 0.75
    )  # fmt: skip
    assert found["changed_interval"] == list(wilson_interval(3, 4))
    assert found["renamed_interval"] == list(wilson_interval(2.5, 4))
    assert [(part["symbols"], part["changed"]) for part in found["by_symbols"]] == [(1, 0.5), (2, 1.0)]


def test_equal_parts_of_all_examples_have_an_interval_with_a_width():
    found = compute_renaming_invariance([["a", "a", "b"]] * 3, ["a"] * 3)
    low, high = found["renamed_interval"]
    assert low < 0.2 < found["renamed"] == 0.5 < 0.8 < high


def test_without_references_there_are_no_accuracies():
    found = compute_renaming_invariance(ANSWERS[1:2])
    assert found == {
        "count": 1, "changed": 1.0, "changed_interval": list(wilson_interval(1, 1)), "alpha_covariance": 0.5,
        "alpha_covariance_interval": list(wilson_interval(0.5, 1)),
    }  # fmt: skip


@pytest.mark.parametrize("answers", [[], [["a", "a"], ["a"]]])
def test_examples_without_a_renaming_are_refused(answers):
    with pytest.raises(ValueError, match="each example needs the answers to its text and to a renaming; give two"):
        compute_renaming_invariance(answers)


@pytest.mark.parametrize("name", ["references", "minified", "symbols"])
def test_another_number_of_values_is_refused(name):
    with pytest.raises(ValueError, match=f"1 {name} for 4 predictions: give one for each"):
        compute_renaming_invariance(ANSWERS, **{name: ["a"]})
