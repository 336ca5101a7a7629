"""Intervals: Wilson's holds exactly the probabilities that its definition names, the normal one follows its formula."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.metrics import wilson_interval
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, mean_interval, normal_interval


def is_inside(probability: float, successes: int, count: int, slack: float) -> bool:
    deviation = abs(successes / count - probability)
    return deviation <= NORMAL_QUANTILE * math.sqrt(probability * (1 - probability) / count) + slack


@given(st.integers(1, 10_000).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_the_interval_ends_where_the_definition_stops_to_hold(trials):
    successes, count = trials
    low, high = wilson_interval(successes, count)
    assert 0 <= low <= successes / count <= high <= 1
    assert is_inside(low, successes, count, 1e-12)
    assert is_inside(high, successes, count, 1e-12)
    assert low == 0 or not is_inside(low * (1 - 1e-6), successes, count, 0)
    assert high == 1 or not is_inside(1 - (1 - high) * (1 - 1e-6), successes, count, 0)


def test_the_quantile_makes_the_interval_one_of_95_percent():
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == NORMAL_QUANTILE


@pytest.mark.parametrize(("successes", "count"), [(0, 0), (2, 1), (-1, 1)])
def test_impossible_counts_are_refused(successes, count):
    with pytest.raises(ValueError, match=f"{successes} successes of {count} trials: need at least 1 trial"):
        wilson_interval(successes, count)


def test_the_interval_of_a_mean_is_as_wide_as_the_values_are_spread():
    side = NORMAL_QUANTILE * 0.2 / math.sqrt(3)
    assert mean_interval([0.2, 0.4, 0.6]) == pytest.approx((0.4 - side, 0.4 + side))
    assert mean_interval([1.0, 1.0, 1.0]) == (1.0, 1.0)
    assert mean_interval([0.0, 1.0]) == (0.0, 1.0), "shares end there"
    assert normal_interval([2.0, 4.0, 6.0]) == pytest.approx((4 - 10 * side, 4 + 10 * side))


@pytest.mark.parametrize("values", [[], [0.5]])
def test_without_a_spread_there_is_no_interval_of_the_mean(values):
    assert mean_interval(values) is None and normal_interval(values) is None
