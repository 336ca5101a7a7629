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
from statistics import fmean, variance

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

    For a pair `t = (R_i / n_i − R_j / n_j) / sqrt(S² (N − 1 − H) / (N − k) (1 / n_i + 1 / n_j))` with N − k degrees of
    freedom, S² being the variance of all ranks.
    Values that are all equal give p-values of 1; p-values of pairs are not corrected for their number.

    Args:
        groups: Name → values, at least two of each, such as one per seed.

    Raises:
        ValueError: For fewer than two groups, or fewer than two values in one.
    """
    small = [name for name, values in groups.items() if len(values) < 2]
    if len(groups) < 2 or small:
        raise ValueError(f"{small[0] if small else len(groups)}: a comparison needs two groups of two values each")
    from scipy import stats

    values = list(itertools.chain.from_iterable(groups.values()))
    ranked = iter(stats.rankdata(values).tolist())
    ranks = {name: list(itertools.islice(ranked, len(own))) for name, own in groups.items()}
    pairs = list(itertools.combinations(groups, 2))
    if len(set(values)) == 1:
        return Comparison(0.0, 1.0, dict.fromkeys(pairs, 1.0))
    statistic, p_value = map(float, stats.kruskal(*groups.values()))
    freedom = len(values) - len(groups)
    spread = max(variance(itertools.chain(*ranks.values())) * (len(values) - 1 - statistic) / freedom, 0.0)
    found = {}
    for one, other in pairs:
        distance = abs(fmean(ranks[one]) - fmean(ranks[other]))
        scale = math.sqrt(spread * (1 / len(ranks[one]) + 1 / len(ranks[other])))
        found[one, other] = 2 * float(stats.t.sf(distance / scale, freedom)) if scale else float(distance == 0)
    return Comparison(statistic, p_value, found)
