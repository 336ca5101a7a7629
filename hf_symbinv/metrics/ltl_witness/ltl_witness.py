"""Verdicts on LTL witnesses as a module of Hugging Face's `evaluate`."""

from typing import Any

import datasets
import evaluate

from hf_symbinv.metrics.ltl_witness import compute_ltl_witness

_DESCRIPTION = """\
Share of predicted traces that satisfy their formula of linear temporal logic, verified by Spot, and of every other
verdict, with Wilson's 95 % intervals.
"""
_INPUTS = """\
Args:
    predictions: traces, such as "a;{&ab}" or "a; cycle{a & b}"
    formulas: formulas, such as "&aXb" or "a & X b"
    references: known witnesses (optional); a prediction equal to its reference gets the verdict "exact"
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
    >>> metric = evaluate.load("ltl_witness")
    >>> metric.compute(predictions=["a;{b}", "cycle{b}"], formulas=["&aXb", "a & X b"])["accuracy"]
    0.5
"""
_CITATION = """\
Hahn et al., Teaching temporal logics to neural networks (2021); Symbol-Invariant Transformer, section 5.1
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class LTLWitness(evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": text, "formulas": text}),
        )

    # evaluate knows no optional input: an empty text, which is no trace, stands for a missing reference.
    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Add a batch of predictions, formulas and, optionally, references."""
        references = [""] * len(predictions) if references is None else [reference or "" for reference in references]
        super().add_batch(predictions=predictions, references=references, **inputs)

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Add one prediction, its formula and, optionally, its reference."""
        super().add(prediction=prediction, reference=reference or "", **inputs)

    def _compute(
        self,
        predictions: list[str],
        references: list[str],
        formulas: list[str],
        timeout: float = 10.0,
        workers: int | None = None,
        notation: str = "auto",
        details: bool = False,
    ) -> dict[str, Any]:
        known = [reference or None for reference in references]
        return compute_ltl_witness(
            predictions, formulas, known, timeout=timeout, workers=workers, notation=notation, details=details
        )
