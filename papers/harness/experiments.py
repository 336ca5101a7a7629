"""Tables of the papers whose models answer no questions: language models, templates, basic blocks, derivatives.

Such a table is an `Experiment`: rows, and a function that makes and measures one row with one seed. What rows train and
how they are measured is the business of `lexinvariant.py`, `identity.py` and `renamer.py`; here is what these share
with each other and with `python -m papers`. Sizes are in `FAMILY/scales.yaml`, by scale and by name of the
experiment, with a sentence `about` them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

# Module of this package → its experiments are its EXPERIMENTS.
FAMILIES = ("lexinvariant", "identity", "renamer")


class OutOfTimeError(Exception):
    """The time of this call is used up; what was done is kept."""


class MissingDataError(Exception):
    """Data that the user has to name; the message says how. Rows that need none are made without them."""


@dataclass(frozen=True)
class Setting:
    """One row of an experiment.

    Attributes:
        labels: What it is called in the table.
        values: What `Experiment.measure` has to know of it.
        paper: The paper's numbers by measure.
    """

    labels: tuple[str, ...]
    values: Mapping[str, Any]
    paper: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for files, different for the rows of an experiment."""
        return "_".join(f"{key}={value}" for key, value in self.values.items())


@dataclass(frozen=True)
class Job:
    """One row with one seed, to be made and measured.

    Attributes:
        folder: Of this row and seed, for models, checkpoints and parts of results: a call that was stopped finds there
            what it left.
        shared: Of all rows of the family at this scale: data that they share.
        values: Of the row.
        sizes: Of the experiment at this scale.
        seed: Of everything random.
        time_left: Seconds that are left, None without a limit.

            Raises:
                OutOfTimeError: If too few are left for anything.
        say: Takes lines that tell what is being done.
    """

    folder: Path
    shared: Path
    values: Mapping[str, Any]
    sizes: Mapping[str, Any]
    seed: int
    time_left: Callable[[], float | None]
    say: Callable[[str], None]


@dataclass(frozen=True)
class Experiment:
    """A table.

    Attributes:
        name: What `python -m papers` calls it.
        family: The module of this package that has it.
        title, source: What it shows, and where it stands in the papers.
        heads: Heads of the columns with labels.
        measures: Heads of the columns with numbers.
        unit: A sentence on the numbers: what is a share in percent, what else.
        rows: The models.
        measure: Makes and measures a row with one seed. For each measure either `{"correct": 90, "count": 100}`, a
            share that is printed in percent, `{"values": [1.68, 1.72]}`, whose mean is printed, or `{"losses": [1.1,
            0.9]}`, of which the perplexity is; and what `draw` needs. JSON must be able to hold it.

            Raises:
                OutOfTimeError: If there was no time to finish; the next call with the same `folder` goes on.
                MissingDataError: If it needs data that this machine does not have.
        compared: Measures of which rows that differ in their last label are compared over seeds, by the tests of
            `rank_tests`: the less the better.
        draw: Draws the table's pictures into a folder, from the results of each row and seed that are there; None if
            it has none.
    """

    name: str
    family: str
    title: str
    source: str
    heads: tuple[str, ...]
    measures: tuple[str, ...]
    unit: str
    rows: tuple[Setting, ...]
    measure: Callable[[Job], dict[str, dict[str, Any]]]
    compared: tuple[str, ...] = ()
    draw: Callable[[list[tuple[Setting, dict[str, Any]]], Path], None] | None = None

    def scales(self) -> tuple[str, ...]:
        """The scales that it has."""
        return tuple(scale for scale, tables in _sizes_of(self.family).items() if self.name in tables)

    def sizes(self, scale: str) -> dict[str, Any]:
        """What `FAMILY/scales.yaml` says for a scale: `about`, what `measure` needs, and perhaps `only`.

        `only` names values of rows, such as `{size: [mini]}`; rows with others are not made at this scale.
        """
        return dict(_sizes_of(self.family)[scale][self.name])

    def rows_of(self, scale: str) -> list[Setting]:
        """The rows that are made at a scale."""
        only = self.sizes(scale).get("only", {})
        return [row for row in self.rows if all(row.values.get(name) in kept for name, kept in only.items())]


@cache
def _sizes_of(family: str) -> dict[str, dict[str, Any]]:
    text = (resources.files(f"papers.{family}") / "scales.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name."""
    modules = [importlib.import_module(f"papers.{family}.experiments") for family in FAMILIES]
    return {experiment.name: experiment for module in modules for experiment in module.EXPERIMENTS}
