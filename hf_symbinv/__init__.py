"""Models whose answers do not depend on the names of the symbols in the question.

Importing this package makes its classes known to transformers' Auto classes, its pipelines to `transformers.pipeline`
and its metrics to `evaluate.load`. That costs next to nothing: every public name is imported when it is first used, so
logic and solvers never load torch. The public names stand in `__init__.pyi`.
"""

import sys

from .auto_classes import register_auto_classes, register_pipelines
from .lazy import attach_stub
from .metrics.registration import register_metrics

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

register_auto_classes(sys.modules[__name__])
register_pipelines()
register_metrics()
