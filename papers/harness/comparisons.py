"""Which rows of a table differ over seeds, as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal

from papers.harness.rank_tests import compare

Best = Literal["lowest", "highest"]


def comparisons(
    numbers: Mapping[str, Mapping[tuple[str, ...], Sequence[float]]], seeds: int, best: Best = "lowest"
) -> Iterator[str]:
    """For each measure a sentence on the rows that differ in their last label, where all seeds of two are there.

    Args:
        numbers: Heading of a measure → labels of a row → its number with each seed.
        seeds: How many; with one there is nothing to compare.
        best: Which numbers are the best.
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
                yield _sentence(", ".join([*group, heading]), same, best)


def _sentence(where: str, numbers: Mapping[str, Sequence[float]], best: Best) -> str:
    """On rows that all have a number for each of at least two seeds."""
    means = {label: fmean(values) for label, values in numbers.items()}
    errors = {label: stdev(values) / math.sqrt(len(values)) for label, values in numbers.items()}
    shown = "; ".join(f"{label} {mean:.3g} ± {errors[label]:.2g}" for label, mean in means.items())
    first = (min if best == "lowest" else max)(means, key=means.__getitem__)
    found = compare(numbers)
    alike = ", ".join(found.alike(first))
    told = f"; no significant difference to {alike} (Conover, 0.05)" if alike else ", alone (Conover, 0.05)"
    seeds = len(numbers[first])
    return (
        f"Over {seeds} seeds, {where}, means and standard errors: {shown}; Kruskal-Wallis p = {found.p_value:.3g}; "
        f"{best}: {first}{told}."
    )
