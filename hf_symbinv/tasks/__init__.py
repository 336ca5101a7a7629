"""The tasks, one module each: base tokens and arities, notations, checker and metric of a kind of question."""

from hf_symbinv.tasks.ltl import LTL, LTLTask

__all__ = ["LTL", "LTLTask"]
