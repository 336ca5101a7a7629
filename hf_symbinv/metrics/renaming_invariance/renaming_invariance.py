"""How many answers change under renaming, as a module of Hugging Face's `evaluate`."""

from typing import Any

import datasets
import evaluate

from hf_symbinv.metrics import modules
from hf_symbinv.metrics.renaming_invariance import compute_renaming_invariance

_DESCRIPTION = """\
How many of a model's answers change when the symbols of its inputs are renamed; alpha-covariance; and accuracy as
written, renamed, by the worst renaming and minified, with 95 % intervals.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, compute_renaming_invariance.__doc__)
class RenamingInvariance(modules.TextMetric):
    texts = (_DESCRIPTION, compute_renaming_invariance.__doc__ or "", "Symbol-Invariant Transformer, section 5.1.1")
    columns = {"predictions": datasets.List(modules.TEXT), "references": modules.TEXT}

    def _compute(self, predictions: list[list[str]], references: list[str], **options: Any) -> dict[str, Any]:
        return compute_renaming_invariance(predictions, references, **options)
