"""Experiments of Lexinvariant Language Models (2023)."""

from __future__ import annotations

from hf_symbinv.evaluation.experiments import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
