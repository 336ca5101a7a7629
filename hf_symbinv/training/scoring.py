"""What is counted over checked answers: the share of each verdict, and what the task's own metric adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hf_symbinv.metrics.edit_distance import compute_edit_distance
from hf_symbinv.metrics.verdicts import summarize_verdicts
from hf_symbinv.tasks import PAIRS
from hf_symbinv.tasks.base import SymbolTask


def score_answers(
    task: SymbolTask, verdicts: Iterable[str], predictions: Sequence[str], references: Sequence[str | None]
) -> dict[str, Any]:
    """Sums up checked answers as `summarize_verdicts`, with the edit distance if that is the task's metric and every
    reference is known.

    Own pairs have no judge: no answer but the data's own is right, and no verdict takes time.
    """
    summary = summarize_verdicts(verdicts)
    if task.name == PAIRS:
        for verdict in ("correct", "timeout", "error"):
            del summary[verdict], summary[f"{verdict}_interval"]
    known = [reference for reference in references if reference is not None]
    if task.metric == "edit_distance" and len(known) == len(predictions):
        summary["edit_distance"] = compute_edit_distance(predictions, known)["edit_distance"]
    return summary
