"""Models whose answers do not depend on the names of the symbols in the question.

Importing this package makes its classes known to transformers' Auto classes, its pipelines to `transformers.pipeline`
and its metrics to `evaluate.load`; `auto_classes.py` says where it leaves the first two out. Every public name is
imported when it is first used, so logic and solvers by themselves never load torch. The public names stand in
`__init__.pyi`.
"""

import os

from .auto_classes import register_auto_classes, register_pipelines
from .lazy import attach_stub
from .metrics.registration import register_metrics

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

if not os.environ.get("HF_SYMBINV_LIGHT"):
    register_auto_classes()
    register_pipelines()
register_metrics()
