"""Share of each verdict on witnesses for formulas of linear temporal logic, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference itself), `correct` (another trace that satisfies the formula),
`incorrect`, `invalid` (no trace, or a trace that no word fits), `timeout` and `error` (not decided). Papers count
`exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.solvers import Checker, Verdict

VERDICTS: tuple[str, ...] = get_args(Verdict)


def compute_ltl_witness(
    predictions: Sequence[str],
    formulas: Sequence[str],
    references: Sequence[str | None] | None = None,
    *,
    timeout: float = 10.0,
    workers: int | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Verify every predicted trace against its formula with Spot and count the verdicts.

    Args:
        predictions: Traces in prefix notation.
        formulas: As many formulas in prefix notation.
        references: As many known witnesses, or None where there is none; without them no verdict is `exact`.
        timeout: Hard limit for one check in seconds.
        workers: Number of processes; None takes one for each core.
        progress: Show a progress bar on stderr.

    Returns:
        As `summarize_verdicts` does.

    Raises:
        ValueError: If the numbers of predictions, formulas and references differ or are 0.
        SpotMissingError: If Spot is not installed.
    """
    for name, column in (("formulas", formulas), ("references", references)):
        if column is not None and len(column) != len(predictions):
            raise ValueError(f"{len(predictions)} predictions, {len(column)} {name}: must be equal")
    with Checker(workers=workers, timeout=timeout) as checker:
        results = checker.check(list(zip(formulas, predictions, strict=True)), references, progress=progress)
        return summarize_verdicts(result.verdict for result in results)


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
