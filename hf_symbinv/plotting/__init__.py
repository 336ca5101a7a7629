"""Pictures drawn from values: heat maps, curves and traces. The public names stand in `__init__.pyi`."""

from hf_symbinv.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
