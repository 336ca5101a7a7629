"""What modules of Hugging Face's `evaluate` share whose predictions a solver judges.

Scripts name the class by its module: `evaluate` takes the first metric among the names of a script for the script's.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import datasets
import evaluate

INPUTS = """\
Args:
    predictions: {predictions}
    formulas: {formulas}
    references: {references}
    timeout: hard limit for one check in seconds, 10 by default
    workers: number of processes, one for each core by default
    notation: "prefix", "infix" or "lbt" if all texts are in it; by default each text is in its own, and a formula that
        means something else in each notation is in that of its prediction, or refused
    details: if True, also return verdicts and messages
Returns:
    count: number of predictions
    accuracy: share of "exact" and "correct" together
    exact, correct, incorrect, invalid, timeout, error: share of each verdict
    accuracy_interval, exact_interval, ...: the 95 % interval [low, high] of each share
    verdicts, messages: with details, the verdict on each prediction and why it is not correct
Examples:
    >>> metric = evaluate.load("{name}")
    >>> metric.compute({example})["accuracy"]
    0.5
"""


TEXT = datasets.Value("string")


class TextMetric(evaluate.Metric):
    """A metric with texts about it: `texts` are description, inputs and citation, `columns` its features."""

    texts: ClassVar[tuple[str, str, str]]
    columns: ClassVar[dict[str, Any]] = {"predictions": TEXT, "references": TEXT}

    def _info(self) -> evaluate.MetricInfo:
        description, inputs, citation = self.texts
        features = datasets.Features(self.columns)
        return evaluate.MetricInfo(
            description=description, citation=citation, inputs_description=inputs, features=features
        )


class VerdictMetric(TextMetric):
    """Shares of verdicts; `verify` is a function of predictions, formulas, references and the options."""

    columns = {**TextMetric.columns, "formulas": TEXT}
    verify: ClassVar[Callable[..., dict[str, Any]]]

    # evaluate knows no optional input: an empty text, which is no answer, stands for a missing reference.
    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Add a batch of predictions, formulas and, optionally, references."""
        references = [""] * len(predictions) if references is None else [reference or "" for reference in references]
        super().add_batch(predictions=predictions, references=references, **inputs)

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Add one prediction, its formula and, optionally, its reference."""
        super().add(prediction=prediction, reference=reference or "", **inputs)

    def _compute(
        self, predictions: list[str], references: list[str], formulas: list[str], **options: Any
    ) -> dict[str, Any]:
        return self.verify(predictions, formulas, [reference or None for reference in references], **options)
