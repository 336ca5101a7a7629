"""Training: recipes, batches, trainer, and runs that can be resumed and say how they were made.

The public names stand in `__init__.pyi` and are imported when they are first used: decoding needs torch and
transformers only, training the `train` extra.
"""

from hf_symbinv.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
