"""Numbers of tables have the intervals that their kind has."""

import math
from dataclasses import replace

import pytest
from scipy import stats

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


def test_a_perplexity_is_the_geometric_mean_with_its_interval():
    number = Number.perplexity([1.0, 2.0, 3.0])
    side = 1.959964 / 3**0.5
    expected = [math.exp(value) for value in (2, 2 - side, 2 + side)]
    assert [number.value, number.low, number.high] == pytest.approx(expected) and number.count == 3
    assert Number.perplexity([2.0]) == Number(math.exp(2.0))


def test_an_interval_over_trainings_is_students_where_they_differ():
    values = [60.0, 70.0, 80.0]
    number = Number.share(2100, 3000).over_trainings(values, is_share=True)
    low, high = stats.t.interval(0.95, 2, loc=70.0, scale=stats.sem(values))
    assert [number.value, number.low, number.high] == pytest.approx([70.0, low, high])
    assert (number.count, number.trainings) == (3000, 3)


def test_an_interval_over_trainings_that_agree_is_that_of_the_answers_of_one():
    number = Number.share(2100, 3000).over_trainings([70.0] * 3, is_share=True)
    assert number == replace(Number.share(700, 1000), count=3000, trainings=3)
    assert Number.share(300, 300).over_trainings([100.0] * 3, is_share=True).low == Number.share(100, 100).low


def test_a_share_over_trainings_stays_one():
    number = Number.share(150, 300).over_trainings([0.0, 50.0, 100.0], is_share=True)
    assert (number.low, number.high) == (0.0, 100.0)


def test_a_mean_over_trainings_that_agree_has_the_interval_of_the_samples_of_one():
    one = [1.0, 2.0, 3.0, 4.0] * 500
    pooled, single = Number.average(one * 3), Number.average(one)
    number = pooled.over_trainings([2.5] * 3, is_share=False)
    assert [number.low, number.high] == pytest.approx([single.low, single.high], rel=1e-3)


def test_a_mean_with_limits_keeps_to_them_over_trainings():
    number = Number.mean([0.9, 1.0] * 50).over_trainings([90.0, 100.0], is_share=False, at_most=100.0)
    assert (number.value, number.low > 0, number.high) == (95.0, True, 100.0)
    assert Number.average([90.0, 100.0]).over_trainings([90.0, 100.0], is_share=False).high > 100


def test_what_has_no_interval_has_none_over_trainings():
    assert Number(3.0).over_trainings([2.0, 4.0], is_share=False) == Number(3.0)
