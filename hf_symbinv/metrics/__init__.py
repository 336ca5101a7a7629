"""Metrics: plain functions, and the same as modules of Hugging Face's `evaluate`.

`alpha_covariance/` and `ltl_witness/` are laid out as `evaluate` expects metrics: a folder with a card and a script of
the same name. The functions live in each folder's `__init__.py` and need no `evaluate`.
"""

from hf_symbinv.metrics.intervals import wilson_interval

__all__ = ["wilson_interval"]
