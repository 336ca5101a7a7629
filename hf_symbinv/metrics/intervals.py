"""Confidence intervals for shares and for means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

# The 97.5 % quantile of the standard normal distribution: a two-sided 95 % interval.
NORMAL_QUANTILE = 1.959963984540054


def wilson_interval(successes: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % score interval for the probability behind `successes` out of `count`.

    The probabilities p with `|successes/count - p| <= z sqrt(p (1 - p) / count)`, z = 1.96.

    Args:
        successes: 0 to `count`; trials may count with a part of 1, and the interval then is too wide rather than too
            narrow.
        count: Number of independent trials, at least 1.

    Raises:
        ValueError: If `count` is below 1 or `successes` is not between 0 and `count`.

    Source: Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if count < 1 or not 0 <= successes <= count:
        raise ValueError(f"{successes} successes of {count} trials: need at least 1 trial and 0 to all successes")
    share, square = successes / count, NORMAL_QUANTILE**2
    centre = share + square / (2 * count)
    spread = NORMAL_QUANTILE * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    scale = 1 + square / count
    # Rounding would leave the bounds of 0 and of all successes a hair away from 0 and 1.
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == count else (centre + spread) / scale
    return low, high


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The normal 95 % interval of the mean behind values between 0 and 1: mean ± 1.96 s / sqrt(n), cut to [0, 1].

    Where all values are equal it has no width; None for fewer than two values.
    """
    found = normal_interval(values)
    return None if found is None else (max(found[0], 0.0), min(found[1], 1.0))


def normal_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The normal 95 % interval of the mean behind values, mean ± 1.96 s / sqrt(n); None for fewer than two."""
    if len(values) < 2:
        return None
    middle, side = fmean(values), NORMAL_QUANTILE * stdev(values) / math.sqrt(len(values))
    return middle - side, middle + side
