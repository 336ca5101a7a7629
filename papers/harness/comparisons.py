"""Which rows of a table differ over seeds, as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev

from hf_symbinv.metrics.rank_tests import compare


def comparisons(numbers: Mapping[str, Mapping[tuple[str, ...], Sequence[float]]], seeds: int) -> Iterator[str]:
    """For each measure a sentence on the rows that differ in their last label, where all seeds of two are there.

    Args:
        numbers: Heading of a measure, the less of which the better → labels of a row → its number with each seed.
        seeds: How many; with one there is nothing to compare.
    """
    if seeds < 2:
        return
    for heading, rows in numbers.items():
        for group in dict.fromkeys(labels[:-1] for labels in rows):
            same = {
                labels[-1]: list(values)
                for labels, values in rows.items()
                if labels[:-1] == group and len(values) == seeds
            }
            if len(same) > 1:
                yield _sentence(", ".join([*group, heading]), same)


def _sentence(where: str, numbers: Mapping[str, Sequence[float]]) -> str:
    """On rows that all have a number for each of at least two seeds."""
    means = {label: fmean(values) for label, values in numbers.items()}
    errors = {label: stdev(values) / math.sqrt(len(values)) for label, values in numbers.items()}
    shown = "; ".join(f"{label} {mean:.3g} ± {errors[label]:.2g}" for label, mean in means.items())
    best = min(means, key=means.__getitem__)
    found = compare(numbers)
    alike = ", ".join(found.alike(best))
    told = f"not told from {alike} (Conover, 0.05)" if alike else "alone (Conover, 0.05)"
    seeds = len(numbers[best])
    return (
        f"Over {seeds} seeds, {where}, means and standard errors: {shown}; Kruskal-Wallis p = {found.p_value:.3g}; "
        f"lowest: {best}, {told}."
    )
