"""Experiments of When can transformers reason with abstract symbols? (2024)."""

from __future__ import annotations

from hf_symbinv.evaluation.experiments import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
