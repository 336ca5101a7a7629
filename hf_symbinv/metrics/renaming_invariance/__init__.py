"""Does a model's answer change when symbols are renamed? Shares with intervals, for any model and any texts."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from statistics import fmean
from typing import Any

from hf_symbinv.metrics.alpha_covariance import covariance_of
from hf_symbinv.metrics.intervals import wilson_interval


def compute_renaming_invariance(
    predictions: Sequence[Sequence[str]],
    references: Sequence[str] | None = None,
    minified: Sequence[str] | None = None,
    symbols: Sequence[int] | None = None,
) -> dict[str, Any]:
    """How many answers change under renaming, alpha-covariance, and what renaming does to accuracy.

    Args:
        predictions: For each example its answers with the names given back: first that to the text as it was written,
            then those to its renamings.
        references: The right answer to each.
        minified: The answer to each under short names, also with the names given back.
        symbols: The number of symbols of each.

    Returns:
        `count`; `changed`, the share of examples whose answer some renaming changes; `alpha_covariance`; with
        references the accuracies `written`, `renamed`, `worst`, where every answer to an example must be right, and
        `minified`. `changed_interval` and its like are Wilson's 95 % intervals over examples, of which each counts with
        its part of 1 for `alpha_covariance` and `renamed`. `by_symbols` has the same for each number.

    Raises:
        ValueError: If there are no examples, one has no renaming, or the numbers of examples differ.
    """
    if not predictions or min(map(len, predictions)) < 2:
        raise ValueError("predictions: each example needs the answers to its text and to a renaming; give two or more")
    for name, values in (("references", references), ("minified", minified), ("symbols", symbols)):
        if values is not None and len(values) != len(predictions):
            raise ValueError(f"{len(values)} {name} for {len(predictions)} predictions: give one for each")

    def measured(rows: Sequence[int]) -> dict[str, Any]:
        answers = [predictions[row] for row in rows]
        parts: dict[str, list[float]] = {
            "changed": [len({*own}) > 1 for own in answers],
            "alpha_covariance": [covariance_of(own) or 0.0 for own in answers],
        }
        if references is not None:
            right = [[answer == references[row] for answer in predictions[row]] for row in rows]
            parts |= {"written": [own[0] for own in right], "renamed": [fmean(own[1:]) for own in right]}
            parts["worst"] = [all(own) for own in right]
            if minified is not None:
                parts["minified"] = [minified[row] == references[row] for row in rows]
        found: dict[str, Any] = {"count": len(rows)}
        for name, values in parts.items():
            found |= {name: fmean(values), f"{name}_interval": list(wilson_interval(fsum(values), len(values)))}
        return found

    whole = measured(range(len(predictions)))
    if symbols is not None:
        groups = {number: [row for row, own in enumerate(symbols) if own == number] for number in sorted({*symbols})}
        whole["by_symbols"] = [{"symbols": number, **measured(rows)} for number, rows in groups.items()]
    return whole
