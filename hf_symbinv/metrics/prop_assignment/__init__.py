"""Share of each verdict on assignments for propositional formulas, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference's symbols and values, in any order), `correct` (another assignment
that makes the formula true whatever the symbols are that it leaves open), `incorrect`, `invalid` (no assignment),
`timeout` and `error` (not decided). Papers count `exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_symbinv.metrics.notations import ASSIGNMENTS
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
    notation: str = "auto",
    details: bool = False,
) -> dict[str, Any]:
    """Verify every predicted assignment against its formula with py-aiger and count the verdicts.

    Args:
        predictions: Assignments in prefix or infix notation, each in its own.
        formulas: As many formulas in prefix or infix notation.
        references: As many known assignments, or None where there is none; without them no verdict is `exact`.
        timeout: Hard limit for one check in seconds.
        workers: Number of processes; None takes one for each core.
        progress: Show a progress bar on stderr.
        notation: `prefix`, `infix` or `lbt` (formulas only) if all texts are in it; `auto` for the rule of
            `hf_symbinv.metrics.notations`.
        details: Add the lists `verdicts` and `messages`, one entry for each prediction: a message says why a prediction
            is not correct.

    Returns:
        As `hf_symbinv.metrics.verdicts.summarize_verdicts` does.

    Raises:
        NotationError: If a formula or a reference cannot be read, or nothing says in which notation it is.
        ValueError: If the numbers of predictions, formulas and references differ or are 0.
        AigerMissingError: If py-aiger-sat is not installed.
    """
    checker = Checker(
        judge,
        normalized=lambda _, assignment: normalized_assignment(assignment),
        initializer=load_aiger,
        workers=workers,
        timeout=timeout,
    )
    with checker:
        return check_all(
            checker, ASSIGNMENTS, predictions, formulas, references,
            notation=notation, details=details, progress=progress,
        )  # fmt: skip
