"""What is counted over checked answers: the share of each verdict, and what the task's own metric adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hf_symbinv.metrics.edit_distance import compute_edit_distance
from hf_symbinv.metrics.verdicts import summarize_verdicts
from hf_symbinv.tasks.base import SymbolTask


def _edit_distance(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    return {"edit_distance": compute_edit_distance(predictions, references)["edit_distance"]}


# Metric → the numbers that it has besides the shares of verdicts, from predictions and references.
_MORE_THAN_VERDICTS: dict[str, Callable[[Sequence[str], Sequence[str]], dict[str, float]]] = {
    "edit_distance": _edit_distance
}


def score_answers(
    task: SymbolTask, verdicts: Iterable[str], predictions: Sequence[str], references: Sequence[str | None]
) -> dict[str, Any]:
    """Sums up checked answers.

    Args:
        task: what was asked.
        verdicts: of the answers.
        predictions: the answers.
        references: as many known answers, or None where there is none.

    Returns:
        As `summarize_verdicts`, and the numbers that `task.metric` adds where every reference is known.
    """
    summary = summarize_verdicts(verdicts)
    known = [reference for reference in references if reference is not None]
    if task.metric in _MORE_THAN_VERDICTS and len(known) == len(predictions):
        summary |= _MORE_THAN_VERDICTS[task.metric](predictions, known)
    return summary
