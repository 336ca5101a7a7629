"""Formulas and traces as frozen values, and the notations they are read and written in."""

from hf_symbinv.logic.formula import Formula, FormulaSizeError, FormulaSyntaxError
from hf_symbinv.logic.infix import parse_infix, to_infix
from hf_symbinv.logic.notation import parse_lbt, parse_prefix, to_lbt, to_prefix
from hf_symbinv.logic.trace import Trace, parse_trace, trace_to_infix, trace_to_prefix

parse = parse_infix

__all__ = [
    "Formula",
    "FormulaSizeError",
    "FormulaSyntaxError",
    "Trace",
    "parse",
    "parse_infix",
    "parse_lbt",
    "parse_prefix",
    "parse_trace",
    "to_infix",
    "to_lbt",
    "to_prefix",
    "trace_to_infix",
    "trace_to_prefix",
]
