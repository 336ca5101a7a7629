"""A measured number with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import stdev

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
        trainings: How many trainings the interval has as its units; 1 where its units are samples.
    """

    value: float
    low: float | None = None
    high: float | None = None
    count: int = 1
    trainings: int = 1

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
        return cls.average(losses).exp()

    @classmethod
    def of_cells(cls, mean: Mean, factor: float) -> Number | None:
        """A mean over cells of a grid, times `factor`; None if they have no samples."""
        if mean.count == 0:
            return None
        if math.isnan(mean.low):
            return cls(factor * mean.value, count=mean.count)
        return cls(factor * mean.value, factor * mean.low, factor * mean.high, mean.count)

    def over_trainings(self, values: Sequence[float], *, is_share: bool, at_most: float | None = None) -> Number:
        """This number of several trainings, with an interval that has the training as its unit.

        It is Student's interval of the trainings' own numbers. Trainings answer the same questions, so their answers
        are not independent; where the interval of as many samples as one training has is wider, it is that one.

        Args:
            values: The number of each training, at least two.
            is_share: Whether it is a share, whose interval is Wilson's; else it is a mean.
            at_most: The largest that a mean can be if it has limits, of which the other is 0; of a share 100.
        """
        if self.low is None or self.high is None:
            return self
        from scipy import stats

        trainings = len(values)
        side = float(stats.t.ppf(0.975, trainings - 1)) * stdev(values) / math.sqrt(trainings)
        if is_share:
            count = max(round(self.count / trainings), 1)
            one = Number.share(self.value / 100 * count, count)
            low, high = one.low or 0.0, one.high or 0.0
        else:
            factor = math.sqrt(trainings)
            low, high = (self.value + factor * (end - self.value) for end in (self.low, self.high))
        low, high = min(low, self.value - side), max(high, self.value + side)
        if limit := 100.0 if is_share else at_most:
            low, high = max(low, 0.0), min(high, limit)
        return replace(self, low=low, high=high, trainings=trainings)

    def exp(self) -> Number:
        """exp of the number and of its interval."""
        low, high = (None if side is None else math.exp(side) for side in (self.low, self.high))
        return replace(self, value=math.exp(self.value), low=low, high=high)
