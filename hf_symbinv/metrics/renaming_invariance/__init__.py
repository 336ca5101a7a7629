"""Does a model's answer change when symbols are renamed? Shares with intervals, for any model and any texts.

Every example is a text as it was written, its renamings, and the answers to all of them with the names given back. An
answer changes if one of a renaming differs from that to the text as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from hf_symbinv.metrics.alpha_covariance import covariance_of
from hf_symbinv.metrics.intervals import mean_interval, wilson_interval


def compute_renaming_invariance(
    predictions: Sequence[Sequence[str]],
    references: Sequence[str] | None = None,
    minified: Sequence[str] | None = None,
    symbols: Sequence[int] | None = None,
) -> dict[str, Any]:
    """How many answers change under renaming, alpha-covariance, and what renaming does to accuracy.

    Args:
        predictions: For each example its answers with the names given back, that to the text as written first.
        references: The right answer to each.
        minified: The answer to each under short names, b for the first symbol, c for the second.
        symbols: The number of symbols of each.

    Returns:
        `count`; `changed`, the share of examples whose answer some renaming changes, and `changed_answers`, the share
        of renamings that change an answer; `alpha_covariance`; with references the accuracies `written`, of texts as
        written, `renamed`, of their renamings, `worst`, of examples with no wrong answer, and `minified`. Each has a
        95 % interval, as `changed_interval`: Wilson's, or for means over examples the normal one, which one example
        does not have. `by_symbols` has the same for each number of `symbols`.

    Raises:
        ValueError: If there are no examples, one has no renaming, or the numbers of examples differ.
    """
    given = {"references": references, "minified": minified, "symbols": symbols}
    for name, values in given.items():
        if values is not None and len(values) != len(predictions):
            raise ValueError(f"{len(values)} {name} for {len(predictions)} predictions: give one for each")
    if not predictions or min(map(len, predictions)) < 2:
        raise ValueError("predictions: every example needs the answer to its text and to a renaming; give two or more")
    whole = _measured(range(len(predictions)), predictions, references, minified)
    if symbols is not None:
        groups = {number: [row for row, own in enumerate(symbols) if own == number] for number in sorted({*symbols})}
        parts = (
            {"symbols": number, **_measured(rows, predictions, references, minified)} for number, rows in groups.items()
        )
        whole["by_symbols"] = list(parts)
    return whole


def _measured(
    rows: Sequence[int],
    predictions: Sequence[Sequence[str]],
    references: Sequence[str] | None,
    minified: Sequence[str] | None,
) -> dict[str, Any]:
    found: dict[str, Any] = {"count": len(rows)}

    def share(name: str, hits: Sequence[bool]) -> None:
        found[name], found[f"{name}_interval"] = fmean(hits), list(wilson_interval(sum(hits), len(hits)))

    def mean(name: str, values: Sequence[float]) -> None:
        interval = mean_interval(values)
        found[name], found[f"{name}_interval"] = fmean(values), interval and list(interval)

    answers = [predictions[row] for row in rows]
    share("changed", [len({*own}) > 1 for own in answers])
    mean("changed_answers", [fmean(answer != written for answer in others) for written, *others in answers])
    mean("alpha_covariance", [covariance_of(own) or 0.0 for own in answers])
    if references is not None:
        right = [[answer == references[row] for answer in predictions[row]] for row in rows]
        share("written", [own[0] for own in right])
        mean("renamed", [fmean(own[1:]) for own in right])
        share("worst", [all(own) for own in right])
        if minified is not None:
            share("minified", [minified[row] == references[row] for row in rows])
    return found
