"""Tests of ranks, against the textbook's formula and against counting all arrangements."""

import itertools

import pytest

from papers.harness.rank_tests import compare


def test_h_without_ties_is_the_textbooks_formula():
    groups = {"a": [1.0, 2.0, 5.0], "b": [3.0, 4.0, 7.0, 9.0], "c": [6.0, 8.0]}
    ranks = {"a": 1 + 2 + 5, "b": 3 + 4 + 7 + 9, "c": 6 + 8}
    expected = 12 / (9 * 10) * sum(ranks[name] ** 2 / len(groups[name]) for name in groups) - 3 * 10
    assert compare(groups).statistic == pytest.approx(expected)


def test_h_with_ties_orders_all_arrangements_as_the_share_of_larger_ones_does():
    """The share of arrangements of nine values with at least this H comes near the p-value."""
    values = [1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 7.0, 8.0, 9.0]
    found = compare({"a": values[:3], "b": values[3:6], "c": values[6:]})
    statistics = []
    for first in itertools.combinations(range(9), 3):
        rest = [place for place in range(9) if place not in first]
        for second in itertools.combinations(rest, 3):
            third = [place for place in rest if place not in second]
            parts = {str(group): [values[place] for place in places] for group, places in
                     enumerate((first, second, third))}  # fmt: skip
            statistics.append(compare(parts).statistic)
    share = sum(statistic >= found.statistic - 1e-9 for statistic in statistics) / len(statistics)
    assert share < 0.05 and found.p_value == pytest.approx(share, abs=0.03)


def test_groups_far_apart_differ_and_those_that_mix_are_alike():
    low, near, high = [1.0, 1.2, 1.4, 1.6, 1.8], [1.1, 1.3, 1.5, 1.7, 1.9], [3.0, 3.1, 3.2, 3.3, 3.4]
    found = compare({"low": low, "near": near, "high": high})
    assert found.p_value < 0.05 and found.alike("low") == ["near"] and found.alike("high") == []
    assert found.pairs["low", "high"] < 0.001 < 0.05 < found.pairs["low", "near"]
    one = compare({"low": low, "near": near})
    assert one.p_value > 0.05 and one.alike("near") == ["low"]


def test_equal_values_differ_in_nothing_and_names_or_order_do_not_matter():
    found = compare({"a": [2.0, 2.0], "b": [2.0, 2.0]})
    assert (found.statistic, found.p_value, found.alike("a")) == (0.0, 1.0, ["b"])
    one, other = compare({"a": [1.0, 4.0], "b": [2.0, 3.0]}), compare({"b": [3.0, 2.0], "a": [4.0, 1.0]})
    assert one.p_value == other.p_value and one.pairs["a", "b"] == other.pairs["b", "a"]


@pytest.mark.parametrize(
    ("groups", "what"), [({"a": [1.0, 2.0]}, "1"), ({"a": [1.0, 2.0], "b": [3.0]}, "b")]
)  # fmt: skip
def test_too_few_groups_or_values_are_refused(groups, what):
    with pytest.raises(ValueError, match=f"^{what}: a comparison needs two groups of two values each"):
        compare(groups)
