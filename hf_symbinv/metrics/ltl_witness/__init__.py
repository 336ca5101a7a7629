"""Share of each verdict on witnesses for formulas of linear temporal logic, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference itself), `correct` (another trace that satisfies the formula),
`incorrect`, `invalid` (no trace, or a trace that no word fits), `timeout` and `error` (not decided). Papers count
`exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_symbinv.metrics.verdicts import check_all
from hf_symbinv.solvers import Checker


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
        As `hf_symbinv.metrics.verdicts.summarize_verdicts` does.

    Raises:
        ValueError: If the numbers of predictions, formulas and references differ or are 0.
        SpotMissingError: If Spot is not installed.
    """
    with Checker(workers=workers, timeout=timeout) as checker:
        return check_all(checker, predictions, formulas, references, progress)
