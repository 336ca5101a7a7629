"""A measured number with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hf_symbinv.evaluation.grid import Mean
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, wilson_interval


@dataclass(frozen=True)
class Number:
    """A measured number: in percent if it is a share or an alpha-covariance.

    Attributes:
        value: The number.
        low, high: Its 95 % interval: Wilson's for shares, the normal one for means; of milliseconds the smallest and
            the largest. None where there is none.
        count: Samples behind it.
    """

    value: float
    low: float | None = None
    high: float | None = None
    count: int = 1

    @classmethod
    def share(cls, correct: float, count: int) -> Number:
        """A share of `count` samples."""
        low, high = wilson_interval(round(correct), count)
        return cls(100 * correct / count, 100 * low, 100 * high, count)

    @classmethod
    def mean(cls, values: Sequence[float]) -> Number:
        """A mean of values between 0 and 1, in percent; without an interval if there is only one."""
        number = cls.average([100 * value for value in values])
        if number.low is None or number.high is None:
            return number
        return cls(number.value, max(number.low, 0.0), min(number.high, 100.0), number.count)

    @classmethod
    def average(cls, values: Sequence[float]) -> Number:
        """A mean of values of any size; without an interval if there is only one."""
        middle = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(middle)
        spread = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
        side = NORMAL_QUANTILE * spread / math.sqrt(len(values))
        return cls(middle, middle - side, middle + side, len(values))

    @classmethod
    def perplexity(cls, losses: Sequence[float]) -> Number:
        """exp of the mean of losses in nats, the geometric mean of perplexities, and exp of its interval."""
        mean = cls.average(losses)
        low, high = (None if side is None else math.exp(side) for side in (mean.low, mean.high))
        return cls(math.exp(mean.value), low, high, mean.count)

    @classmethod
    def of_cells(cls, mean: Mean, factor: float) -> Number | None:
        """A mean over cells of a grid, times `factor`; None if they have no samples."""
        if mean.count == 0:
            return None
        if math.isnan(mean.low):
            return cls(factor * mean.value, count=mean.count)
        return cls(factor * mean.value, factor * mean.low, factor * mean.high, mean.count)
