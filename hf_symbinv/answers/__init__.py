"""Specifications get answers that were checked or proved, by a portfolio of solvers; nothing here imports torch.

The public names stand in `__init__.pyi`. Each is imported when it is first used, because the processes of solvers
need few of them.
"""

from hf_symbinv.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
