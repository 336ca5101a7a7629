"""The tasks, one module each: base tokens and arities, notations, generator, solver and judge of a kind of question."""

from hf_symbinv.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
