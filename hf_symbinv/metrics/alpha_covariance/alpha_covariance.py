"""Alpha-covariance as a module of Hugging Face's `evaluate`."""

from collections.abc import Collection
from typing import Any

import evaluate
from datasets import List

from hf_symbinv.metrics import modules
from hf_symbinv.metrics.alpha_covariance import compute_alpha_covariance

_DESCRIPTION = """\
How far a model's answers follow a renaming of the interchangeable symbols in its inputs: with U the set of predictions
whose renamings were undone and P the set of alpha-equivalent inputs, 1 - (|U| - 1) / (|P| - 1), averaged over examples.
"""
_INPUTS = """\
Args:
    predictions: for each example, a list with the prediction for each of its alpha-equivalent inputs: a trace such as
        "a;{b}" or "a; cycle{b}", an assignment such as "a1b0" or "a=1, b=0", or any text in prefix notation
    renamings: for each example, a list with the renaming that made each of these inputs: a dictionary from old to new
        name, or a list of pairs [old, new]
    base_tokens: words that look like symbols and are none; none by default
    notation: "prefix" to take every text word by word; by default traces and assignments in infix notation are read too
Returns:
    alpha_covariance: mean over the examples with at least two renamings, None if there are none
    examples: number of examples in this mean
    excluded: number of examples with no or only one renaming
    predictions: number of predictions compared
    per_example: the alpha-covariance of each example, None for those excluded
Examples:
    >>> metric = evaluate.load("alpha_covariance")
    >>> metric.compute(predictions=[["{a}", "cycle{b}"]], renamings=[[{"a": "a"}, {"a": "b"}]])["alpha_covariance"]
    1.0
"""
_CITATION = """\
Symbol-Invariant Transformer, section 5.1.1; Interchangeable Token Embeddings, section 5.2.2
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class AlphaCovariance(modules.TextMetric):
    texts = (_DESCRIPTION, _INPUTS, _CITATION)
    columns = {"predictions": List(modules.TEXT), "renamings": List(List(List(modules.TEXT)))}

    # Arrow has no type for dictionaries with any keys, so renamings are stored as pairs.
    def add_batch(self, *, predictions: Any = None, references: Any = None, renamings: Any = None) -> None:
        """Add the predictions and renamings of a batch of examples."""
        super().add_batch(predictions=predictions, renamings=[_as_pairs(example) for example in renamings or []])

    def add(self, *, prediction: Any = None, reference: Any = None, renamings: Any = None) -> None:
        """Add the predictions and renamings of one example."""
        super().add(prediction=prediction, renamings=_as_pairs(renamings or []))

    def _compute(
        self,
        predictions: list[list[str]],
        renamings: list[list[list[list[str]]]],
        base_tokens: Collection[str] = (),
        notation: str = "auto",
    ) -> dict[str, Any]:
        mappings = [[dict(pairs) for pairs in example] for example in renamings]
        return dict(compute_alpha_covariance(predictions, mappings, base_tokens=base_tokens, notation=notation))


def _as_pairs(renamings: Any) -> list[list[list[str]]]:
    return [
        [list(pair) for pair in (renaming.items() if isinstance(renaming, dict) else renaming)]
        for renaming in renamings
    ]
