"""Experiments of Renamer: A Transformer Architecture Invariant to Variable Renaming."""

from __future__ import annotations

from hf_symbinv.evaluation.experiments import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
