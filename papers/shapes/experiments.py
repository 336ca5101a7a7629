"""Every shape of model with streams beside canonical names, alpha-renaming and learned rows.

No paper has these tables. Each asks the same three things: are answers right as in training, with more symbols than in
training, and under names that training never had?

A table with rows of its own, such as that of new symbols, is a module here, whose experiments `EXPERIMENTS` lists.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure
from papers.shapes.columns import MODELS, MORE, NEW, USUAL
from papers.shapes.fresh import EXPERIMENTS as FRESH
from papers.shapes.plots import draw_by_symbols

FAMILY = Family("shapes", Path(__file__).parent / "scales.yaml")


def measure_rows(job: Job, shape: str) -> dict[Measure, Result]:
    """Rows of a shape that a kind of model has right, in each part of the test."""
    from papers.shapes import models

    return models.measure(job, models.SHAPES[shape])


def measure_pairs(job: Job) -> dict[Measure, Result]:
    """Exact answers to questions of a user's own pairs, in each part of the test."""
    from papers.shapes.pairs import measure

    return measure(job)


# `pairs` is the shape of a user's own pairs, which have a measure of their own.
KINDS = ("views", "pointing", "tokens", "pairs")


def _experiment(shape: str) -> Experiment:
    return Experiment(
        name=f"shape-{shape}",
        family=FAMILY,
        measures=(USUAL, MORE, NEW),
        rows=tuple(Setting((label,), {"model": kind}) for kind, label in MODELS.items()),
        measure=measure_pairs if shape == "pairs" else partial(measure_rows, shape=shape),
        compared=(USUAL, MORE, NEW),
        best="highest",
        draw=partial(draw_by_symbols, name=f"shape-{shape}"),
    )


EXPERIMENTS: tuple[Experiment, ...] = (*map(_experiment, KINDS), *FRESH)
