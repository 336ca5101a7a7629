"""Formulas, traces and assignments as frozen values, and the notations they are read and written in."""

from hf_symbinv.logic.assignment import (
    Assignment,
    assignment_to_infix,
    assignment_to_prefix,
    parse_assignment,
    parse_assignment_infix,
    read_assignment,
)
from hf_symbinv.logic.formula import Formula, FormulaSizeError, FormulaSyntaxError, nested_to_the_right
from hf_symbinv.logic.infix import parse_infix, to_infix, told_of_names
from hf_symbinv.logic.notation import parse_lbt, parse_prefix, to_lbt, to_prefix
from hf_symbinv.logic.referents import random_renaming
from hf_symbinv.logic.trace import Trace, parse_trace, read_trace, trace_to_infix, trace_to_prefix
from hf_symbinv.logic.worlds import Worlds

parse = parse_infix

__all__ = [
    "Assignment",
    "Formula",
    "FormulaSizeError",
    "FormulaSyntaxError",
    "Trace",
    "Worlds",
    "assignment_to_infix",
    "assignment_to_prefix",
    "nested_to_the_right",
    "parse",
    "parse_assignment",
    "parse_assignment_infix",
    "parse_infix",
    "parse_lbt",
    "parse_prefix",
    "parse_trace",
    "random_renaming",
    "read_assignment",
    "read_trace",
    "to_infix",
    "to_lbt",
    "to_prefix",
    "told_of_names",
    "trace_to_infix",
    "trace_to_prefix",
]
