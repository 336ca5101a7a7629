"""Verdicts on assignments for propositional formulas as a module of Hugging Face's `evaluate`."""

import evaluate

from hf_symbinv.metrics import modules
from hf_symbinv.metrics.prop_assignment import compute_prop_assignment

_DESCRIPTION = """\
Share of predicted partial assignments that make their propositional formula true, verified by py-aiger, and of every
other verdict, with Wilson's 95 % intervals.
"""
_INPUTS = modules.INPUTS.format(
    name="prop_assignment",
    predictions='assignments, such as "a1b0" or "a=1, b=0"',
    formulas='formulas, such as "&a!b" or "a & !b"',
    references='known assignments (optional); the same pairs in any order get the verdict "exact"',
    example='predictions=["b0a1", "a=1"], formulas=["&a!b", "a & !b"]',
)
_CITATION = """\
Hahn et al., Teaching temporal logics to neural networks (2021); Interchangeable Token Embeddings, appendix G.1
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class PropAssignment(modules.VerdictMetric):
    texts = (_DESCRIPTION, _INPUTS, _CITATION)
    verify = staticmethod(compute_prop_assignment)
