"""Edit distance in tokens as a module of Hugging Face's `evaluate`."""

from typing import Any

import evaluate

from hf_symbinv.metrics import modules
from hf_symbinv.metrics.edit_distance import compute_edit_distance

_DESCRIPTION = """\
Mean number of tokens to insert, delete or replace to turn a predicted text in prefix notation into the known one, and
the share of predictions that need none.
"""
_INPUTS = """\
Args:
    predictions: texts in prefix notation, such as "abca" or "p3 p27 p3"
    references: the known texts; for copying, the strings to copy
Returns:
    count: number of predictions
    edit_distance: mean over the predictions, in tokens
    exact: share of predictions at distance 0
    exact_interval: its 95 % interval [low, high]
    per_example: distance of each prediction
Examples:
    >>> metric = evaluate.load("edit_distance")
    >>> metric.compute(predictions=["abca", "abc"], references=["abca", "abca"])["edit_distance"]
    0.5
"""
_CITATION = """\
Levenshtein, Binary codes capable of correcting deletions, insertions, and reversals (1966)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class EditDistance(modules.TextMetric):
    texts = (_DESCRIPTION, _INPUTS, _CITATION)

    def _compute(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
        return {**compute_edit_distance(predictions, references)}
