"""Share of each verdict on assignments for propositional formulas, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference's symbols and values, in any order), `correct` (another assignment
that makes the formula true whatever the symbols are that it leaves open), `incorrect`, `invalid` (no assignment),
`timeout` and `error` (not decided). Papers count `exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_symbinv.metrics.verdicts import check_all
from hf_symbinv.solvers import Checker
from hf_symbinv.solvers.prop import judge, load_aiger, normalized_assignment


def compute_prop_assignment(
    predictions: Sequence[str],
    formulas: Sequence[str],
    references: Sequence[str | None] | None = None,
    *,
    timeout: float = 10.0,
    workers: int | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Verify every predicted assignment against its formula with py-aiger and count the verdicts.

    Args:
        predictions: Assignments in prefix notation.
        formulas: As many formulas in prefix notation.
        references: As many known assignments, or None where there is none; without them no verdict is `exact`.
        timeout: Hard limit for one check in seconds.
        workers: Number of processes; None takes one for each core.
        progress: Show a progress bar on stderr.

    Returns:
        As `hf_symbinv.metrics.verdicts.summarize_verdicts` does.

    Raises:
        ValueError: If the numbers of predictions, formulas and references differ or are 0.
        AigerMissingError: If py-aiger-sat is not installed.
    """
    checker = Checker(judge, normalized=normalized_assignment, initializer=load_aiger, workers=workers, timeout=timeout)
    with checker:
        return check_all(checker, predictions, formulas, references, progress)
