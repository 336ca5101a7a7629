"""Metrics: plain functions, and the same as modules of Hugging Face's `evaluate`.

Every folder here is laid out as `evaluate` expects metrics: it has a card and a script of the folder's name. The
functions live in each folder's `__init__.py` and need no `evaluate`.
"""

from hf_symbinv.metrics.intervals import mean_interval, normal_interval, wilson_interval

__all__ = ["mean_interval", "normal_interval", "wilson_interval"]
