"""Do models differ over the seeds of their trainings? The Kruskal-Wallis test, and Conover's of pairs after it.

Both look at ranks only: all values of all groups are ranked together, equal ones with the mean of their ranks.

Letters: k groups, n_i values of group i, N values in all, R_i the sum of a group's ranks.

Source: Kruskal and Wallis 1952, Use of ranks in one-criterion variance analysis; Conover and Iman 1979, On
multiple-comparisons procedures. Renamer, section 5, uses both, with a level of 0.05.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """What the tests say of groups.

    Attributes:
        statistic: H of Kruskal and Wallis.
        p_value: How likely so large an H is if all groups are alike, by the chi-squared distribution.
        pairs: The p-value of Conover's test for each two groups.
    """

    statistic: float
    p_value: float
    pairs: Mapping[tuple[str, str], float]

    def alike(self, one: str) -> list[str]:
        """The groups that cannot be told from `one` at the level of 0.05."""
        if self.p_value >= LEVEL:
            return sorted({name for pair in self.pairs for name in pair} - {one})
        near = [pair for pair, p_value in self.pairs.items() if one in pair and p_value >= LEVEL]
        return [first if second == one else second for first, second in near]


def compare(groups: Mapping[str, Sequence[float]]) -> Comparison:
    """Ranks the values of at least two groups, and tests whether the groups differ.

    `H = (Σ R_i² / n_i − C) / S²` with `C = N (N + 1)² / 4` and `S² = (Σ ranks² − C) / (N − 1)`, and for a pair
    `t = (R_i / n_i − R_j / n_j) / sqrt(S² (N − 1 − H) / (N − k) (1 / n_i + 1 / n_j))` with N − k degrees of freedom.
    Values that are all equal give p-values of 1; p-values of pairs are not corrected for their number.

    Args:
        groups: Name → values, at least two of each, such as one per seed.

    Raises:
        ValueError: For fewer than two groups, or fewer than two values in one.
    """
    small = [name for name, values in groups.items() if len(values) < 2]
    if len(groups) < 2 or small:
        raise ValueError(f"{small[0] if small else len(groups)}: a comparison needs two groups of two values each")
    ranks = dict(zip(groups, _ranks(list(groups.values())), strict=True))
    every = list(itertools.chain.from_iterable(ranks.values()))
    count, centre = len(every), len(every) * (len(every) + 1) ** 2 / 4
    variance = (math.fsum(rank**2 for rank in every) - centre) / (count - 1)
    pairs = list(itertools.combinations(groups, 2))
    if variance == 0:
        return Comparison(0.0, 1.0, dict.fromkeys(pairs, 1.0))
    statistic = (math.fsum(sum(own) ** 2 / len(own) for own in ranks.values()) - centre) / variance
    freedom = count - len(groups)
    spread = max(variance * (count - 1 - statistic) / freedom, 0.0)
    found = {}
    for one, other in pairs:
        first, second = ranks[one], ranks[other]
        distance = abs(sum(first) / len(first) - sum(second) / len(second))
        scale = math.sqrt(spread * (1 / len(first) + 1 / len(second)))
        found[one, other] = student_tails(distance / scale, freedom) if scale else float(distance == 0)
    return Comparison(statistic, chi_squared_tail(statistic, len(groups) - 1), found)


def _ranks(groups: Sequence[Sequence[float]]) -> list[list[float]]:
    ordered = sorted(itertools.chain.from_iterable(groups))
    first: dict[float, int] = {}
    for place, value in enumerate(ordered):
        first.setdefault(value, place)
    return [[first[value] + (ordered.count(value) + 1) / 2 for value in values] for values in groups]


def chi_squared_tail(value: float, freedom: int) -> float:
    """How likely a chi-squared variable with so many degrees of freedom is larger.

    Source: Abramowitz and Stegun, 26.4.4 and 26.4.5.
    """
    half, odd = value / 2, freedom % 2
    terms = [half ** (step + odd / 2) / math.gamma(step + 1 + odd / 2) for step in range(freedom // 2)]
    return (math.erfc(math.sqrt(half)) if odd else 0.0) + math.exp(-half) * math.fsum(terms)


def student_tails(value: float, freedom: int) -> float:
    """How likely the size of a Student variable with so many degrees of freedom is larger.

    Source: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan(abs(value) / math.sqrt(freedom))
    square, odd = math.cos(angle) ** 2, freedom % 2
    total = term = math.cos(angle) if odd else 1.0
    for step in range(1, freedom // 2):
        term *= square * (2 * step / (2 * step + 1) if odd else (2 * step - 1) / (2 * step))
        total += term
    if not odd:
        return 1 - math.sin(angle) * total
    return 1 - 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0.0))
