"""Share of each verdict on witnesses for formulas of linear temporal logic, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference itself), `correct` (another trace that satisfies the formula),
`incorrect`, `invalid` (no trace, or a trace that no word fits), `timeout` and `error` (not decided). Papers count
`exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_symbinv.metrics.notations import TRACES
from hf_symbinv.metrics.verdicts import compute_verdicts
from hf_symbinv.solvers import Checker


def compute_ltl_witness(
    predictions: Sequence[str], formulas: Sequence[str], references: Sequence[str | None] | None = None, **options: Any
) -> dict[str, Any]:
    """Verify every predicted trace against its formula with Spot and count the verdicts.

    Arguments, result and errors are those of `hf_symbinv.metrics.verdicts.compute_verdicts`.
    """
    return compute_verdicts(Checker, TRACES, predictions, formulas, references, **options)
