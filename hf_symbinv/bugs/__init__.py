"""A model that points at bugs of Python functions: what it reads, what it learns, and what it finds in files.

The public names stand in `__init__.pyi`.
"""

from hf_symbinv.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
