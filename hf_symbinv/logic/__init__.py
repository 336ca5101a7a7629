"""Formulas and traces as frozen values, and the notations they are read and written in."""

from hf_symbinv.logic.formula import Formula, FormulaSizeError, FormulaSyntaxError
from hf_symbinv.logic.notation import parse_prefix, to_prefix
from hf_symbinv.logic.trace import Trace, parse_trace, trace_to_prefix

__all__ = [
    "Formula",
    "FormulaSizeError",
    "FormulaSyntaxError",
    "Trace",
    "parse_prefix",
    "parse_trace",
    "to_prefix",
    "trace_to_prefix",
]
