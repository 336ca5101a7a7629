"""Numbers of tables have the intervals that their kind has."""

import math

import pytest

from hf_symbinv.metrics.intervals import wilson_interval
from papers.harness.numbers import Number


def test_a_share_has_wilsons_interval_in_percent():
    number = Number.share(90, 100)
    low, high = wilson_interval(90, 100)
    assert (number.value, number.low, number.high, number.count) == (90.0, 100 * low, 100 * high, 100)


def test_a_mean_has_the_normal_interval():
    number = Number.mean([1.0] * 50 + [0.0] * 50)
    assert number.value == 50.0
    assert number.high - number.value == pytest.approx(100 * 1.96 * math.sqrt(0.25 * 100 / 99 / 100), rel=1e-3)


def test_equal_values_have_no_width():
    assert Number.mean([1.0, 1.0, 1.0]) == Number(100.0, 100.0, 100.0, 3)


def test_a_single_value_has_no_interval():
    assert Number.mean([0.5]) == Number(50.0)


def test_a_perplexity_is_the_geometric_mean_with_its_interval():
    number = Number.perplexity([1.0, 2.0, 3.0])
    side = 1.959964 / 3**0.5
    expected = [math.exp(value) for value in (2, 2 - side, 2 + side)]
    assert [number.value, number.low, number.high] == pytest.approx(expected) and number.count == 3
    assert Number.perplexity([2.0]) == Number(math.exp(2.0))
