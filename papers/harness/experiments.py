"""Tables whose models answer no questions: language models, templates, basic blocks, derivatives.

Such a table is an `Experiment`: rows, and a function that makes and measures one row with one seed. A paper's folder
has what its rows train and how they are measured; here is what experiments share with each other. Sizes are in the
folder's `scales.yaml`, by scale and by name of the experiment, with a sentence `about` them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from papers.harness.comparisons import Best
from papers.harness.measures import Measure

if TYPE_CHECKING:
    from transformers import PreTrainedModel


TEXTS = Path(__file__).parents[1] / "experiments.yaml"


class OutOfTimeError(Exception):
    """The time of this call is used up; what was done is kept."""


class MissingDataError(Exception):
    """Data that the user has to name; the message says how. Rows that need none are made without them."""


@dataclass(frozen=True)
class Family:
    """The experiments of one paper, which share data and models.

    Attributes:
        name: A name for files.
        scales: The file with the sizes of its experiments.
    """

    name: str
    scales: Path

    def sizes(self) -> dict[str, dict[str, Any]]:
        """What the file says, by scale and by name of the experiment."""
        return _read(self.scales)


@cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


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
    paper: Mapping[Measure, float] = field(default_factory=dict)

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

    def train(self, model: PreTrainedModel, folder: Path, arguments: Mapping[str, Any], **options: Any) -> None:
        """Trains a model in the time that is left, or goes on, or only loads what is finished.

        Args:
            model, folder, arguments, options: As `hf_symbinv.training.fitting.fit` takes them.

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """
        from hf_symbinv.training.fitting import fit  # torch only where it is needed

        if not fit(model, folder, arguments, max_seconds=self.time_left(), **options):
            raise OutOfTimeError


Result = dict[str, Any]
# What was found of a row with one seed, as files keep it: by the headings of measures.
Findings = Mapping[str, Result]


@dataclass(frozen=True)
class Experiment:
    """A table. What it shows is in `papers/experiments.yaml`, under its name.

    Attributes:
        name: What `python -m papers` calls it.
        family: The paper that has it.
        measures: The columns with numbers.
        rows: The models.
        measure: Makes and measures a row with one seed. For each measure either `{"correct": 90, "count": 100}`, a
            share that is printed in percent, `{"shares": [0.5, 1.0]}`, whose mean is printed in percent, `{"values":
            [1.68, 1.72]}`, whose mean is printed, or `{"losses": [1.1, 0.9]}`, of which the perplexity is; and measures
            that are only drawn. JSON must be able to hold all.

            Raises:
                OutOfTimeError: If there was no time to finish; the next call with the same `folder` goes on.
                MissingDataError: If it needs data that this machine does not have.
        compared: Measures of which rows that differ in their last label are compared over seeds, by the tests of
            `rank_tests`.
        best: Which numbers of these measures are the best.
        trains: Whether its rows are trained models.
        draw: Draws the table's pictures into a folder, from the results of each row and seed that are there; None if
            it has none.
    """

    name: str
    family: Family
    measures: tuple[Measure, ...]
    rows: tuple[Setting, ...]
    measure: Callable[[Job], dict[Measure, Result]]
    compared: tuple[Measure, ...] = ()
    best: Best = "lowest"
    trains: bool = True
    draw: Callable[[list[tuple[Setting, Findings]], Path], None] | None = None

    @property
    def title(self) -> str:
        """What it shows."""
        return str(_read(TEXTS)[self.name]["title"])

    @property
    def source(self) -> str:
        """Where it stands in the papers."""
        return str(_read(TEXTS)[self.name]["source"])

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads of the columns with labels."""
        return tuple(_read(TEXTS)[self.name]["heads"])

    @property
    def unit(self) -> str:
        """A sentence on the numbers: what is a share in percent, what else."""
        return str(_read(TEXTS)[self.name]["unit"])

    def scales(self) -> tuple[str, ...]:
        """The scales that it has."""
        return tuple(scale for scale, tables in self.family.sizes().items() if self.name in tables)

    def sizes(self, scale: str) -> dict[str, Any]:
        """What the family's file says for a scale: `about`, what `measure` needs, and perhaps `only`.

        `only` names values of rows, such as `{size: [mini]}`; rows with others are not made at this scale.
        """
        return dict(self.family.sizes()[scale][self.name])

    def rows_of(self, scale: str) -> list[Setting]:
        """The rows that are made at a scale."""
        only = self.sizes(scale).get("only", {})
        return [row for row in self.rows if all(row.values.get(name) in kept for name, kept in only.items())]
