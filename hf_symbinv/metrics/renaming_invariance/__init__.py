"""Does a model's answer change when symbols are renamed? Shares with intervals, for any model and any texts."""

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
        predictions: For each example its answers with the names given back: first that to the text as it was written,
            then those to its renamings.
        references: The right answer to each.
        minified: The answer to each under short names, also with the names given back.
        symbols: The number of symbols of each.

    Returns:
        `count`; `changed`, the share of examples whose answer some renaming changes; `alpha_covariance`; with
        references the accuracies `written`, `renamed`, `worst`, where every answer to an example must be right, and
        `minified`. `changed_interval` and its like are 95 % intervals: Wilson's of shares, normal ones of the means
        `alpha_covariance` and `renamed`, which one example does not have. `by_symbols` has the same for each number.

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
        shares = {"changed": [len({*own}) > 1 for own in answers]}
        means = {"alpha_covariance": [covariance_of(own) or 0.0 for own in answers]}
        if references is not None:
            right = [[answer == references[row] for answer in predictions[row]] for row in rows]
            shares |= {"written": [own[0] for own in right], "worst": [all(own) for own in right]}
            means["renamed"] = [fmean(own[1:]) for own in right]
            if minified is not None:
                shares["minified"] = [minified[row] == references[row] for row in rows]
        found: dict[str, Any] = {"count": len(rows)}
        for name, hits in shares.items():
            found |= {name: fmean(hits), f"{name}_interval": list(wilson_interval(sum(hits), len(hits)))}
        for name, values in means.items():
            found |= {name: fmean(values), f"{name}_interval": [*(mean_interval(values) or ())] or None}
        return found

    whole = measured(range(len(predictions)))
    if symbols is not None:
        groups = {number: [row for row, own in enumerate(symbols) if own == number] for number in sorted({*symbols})}
        whole["by_symbols"] = [{"symbols": number, **measured(rows)} for number, rows in groups.items()]
    return whole
