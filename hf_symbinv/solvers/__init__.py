"""Solvers behind a pool of processes: answers to questions and verdicts on answers, with hard time limits.

The public names stand in `__init__.pyi`. Each is imported when it is first used, because the processes themselves need
few of them.
"""

from hf_symbinv.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
