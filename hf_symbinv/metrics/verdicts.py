"""Counting verdicts: the share of each, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference itself), `correct` (another right answer), `incorrect`, `invalid`
(no answer at all), `timeout` and `error` (not decided). Papers count `exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.solvers import Checker, Verdict

VERDICTS: tuple[str, ...] = get_args(Verdict)


def summarize_verdicts(verdicts: Iterable[str]) -> dict[str, Any]:
    """Share of each verdict with its 95 % interval.

    Returns:
        `count`; `accuracy`, the share of `exact` and `correct` together; each verdict's share under its name; and for
        each of these shares its interval `[low, high]` under the name with `_interval` appended.

    Raises:
        ValueError: If there are no verdicts, or one is unknown.
    """
    counts = dict.fromkeys(VERDICTS, 0)
    for verdict in verdicts:
        if verdict not in counts:
            raise ValueError(f"verdict {verdict!r}: unknown; use one of {' '.join(VERDICTS)}")
        counts[verdict] += 1
    count = sum(counts.values())
    if not count:
        raise ValueError("no predictions: a share needs at least one")
    summary: dict[str, Any] = {"count": count}
    for name, number in {"accuracy": counts["exact"] + counts["correct"], **counts}.items():
        summary[name] = number / count
        summary[f"{name}_interval"] = list(wilson_interval(number, count))
    return summary


def check_all(
    checker: Checker,
    predictions: Sequence[str],
    formulas: Sequence[str],
    references: Sequence[str | None] | None,
    progress: bool,
) -> dict[str, Any]:
    """`summarize_verdicts` of what `checker` says about every prediction.

    Raises:
        ValueError: If the numbers of predictions, formulas and references differ or are 0.
    """
    for name, column in (("formulas", formulas), ("references", references)):
        if column is not None and len(column) != len(predictions):
            raise ValueError(f"{len(predictions)} predictions, {len(column)} {name}: must be equal")
    results = checker.check(list(zip(formulas, predictions, strict=True)), references, progress=progress)
    return summarize_verdicts(result.verdict for result in results)
