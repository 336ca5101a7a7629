"""How many answers change under renaming, as a module of Hugging Face's `evaluate`."""

from typing import Any

import datasets
import evaluate

from hf_symbinv.metrics.renaming_invariance import compute_renaming_invariance

_DESCRIPTION = """\
How many of a model's answers change when the symbols of its inputs are renamed, with intervals; alpha-covariance; and
accuracy as written, renamed, and by the worst renaming.
"""
_INPUTS = """\
Args:
    predictions: for each example, a list of answers with the names given back: to the text as written, then to renamings
    references: for each example, the right answer
    minified: for each example, the answer to the text under short names; none by default
    symbols: for each example, its number of symbols; none by default
Returns:
    count, changed, changed_answers, alpha_covariance, written, renamed, worst, minified: number and shares
    changed_interval, ...: the 95 % interval [low, high] of each share
    by_symbols: with symbols, the same for each number of symbols
Examples:
    >>> metric = evaluate.load("renaming_invariance")
    >>> metric.compute(predictions=[["x", "x"], ["yes", "no"]], references=["x", "yes"])["changed"]
    0.5
"""
_CITATION = """\
Symbol-Invariant Transformer, section 5.1.1
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class RenamingInvariance(evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        features = datasets.Features({"predictions": datasets.List(text), "references": text})
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation=_CITATION, inputs_description=_INPUTS, features=features
        )

    def _compute(self, predictions: list[list[str]], references: list[str], **options: Any) -> dict[str, Any]:
        return compute_renaming_invariance(predictions, references, **options)
