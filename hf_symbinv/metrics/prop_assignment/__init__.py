"""Share of each verdict on assignments for propositional formulas, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference's symbols and values, in any order), `correct` (another assignment
that makes the formula true whatever the symbols are that it leaves open), `incorrect`, `invalid` (no assignment),
`timeout` and `error` (not decided). Papers count `exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from hf_symbinv.metrics.notations import ASSIGNMENTS
from hf_symbinv.metrics.verdicts import compute_verdicts
from hf_symbinv.solvers import Checker
from hf_symbinv.solvers.prop import judge, load_aiger, normalized_assignment

_judge = partial(
    Checker, judge, normalized=lambda _, assignment: normalized_assignment(assignment), initializer=load_aiger
)


def compute_prop_assignment(
    predictions: Sequence[str], formulas: Sequence[str], references: Sequence[str | None] | None = None, **options: Any
) -> dict[str, Any]:
    """Verify every predicted assignment against its formula with py-aiger and count the verdicts.

    Arguments, result and errors are those of `hf_symbinv.metrics.verdicts.compute_verdicts`.
    """
    return compute_verdicts(_judge, ASSIGNMENTS, predictions, formulas, references, **options)
