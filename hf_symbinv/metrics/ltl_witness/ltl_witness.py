"""Verdicts on LTL witnesses as a module of Hugging Face's `evaluate`."""

import evaluate

from hf_symbinv.metrics import modules
from hf_symbinv.metrics.ltl_witness import compute_ltl_witness

_DESCRIPTION = """\
Share of predicted traces that satisfy their formula of linear temporal logic, verified by Spot, and of every other
verdict, with Wilson's 95 % intervals.
"""
_INPUTS = modules.INPUTS.format(
    name="ltl_witness",
    predictions='traces, such as "a;{&ab}" or "a; cycle{a & b}"',
    formulas='formulas, such as "&aXb" or "a & X b"',
    references='known witnesses (optional); a prediction equal to its reference gets the verdict "exact"',
    example='predictions=["a;{b}", "cycle{b}"], formulas=["&aXb", "a & X b"]',
)
_CITATION = """\
Hahn et al., Teaching temporal logics to neural networks (2021); Symbol-Invariant Transformer, section 5.1
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class LTLWitness(modules.VerdictMetric):
    texts = (_DESCRIPTION, _INPUTS, _CITATION)
    verify = staticmethod(compute_ltl_witness)
