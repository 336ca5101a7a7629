"""Tables of models that answer questions: which models they compare, what they measure, what the papers report.

A table is data. `reproduction` trains what its rows name, measures, and prints our numbers beside the papers'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from papers.harness.measures import Measure, ModelMeasure

# Task → what tables call it; propositional logic has two sizes, copying three.
TASKS = {
    "ltl": "LTL",
    "prop": "propositional logic",
    "prop-long": "propositional logic",
    "copy": "copying",
    "copy-symbols": "copying more symbols",
    "copy-long": "copying long strings",
}


@dataclass(frozen=True)
class Training:
    """A model to be trained, the same at every scale but for sizes.

    Attributes:
        task: `ltl`, `prop` or `copy`; at other sizes `prop-long`, `copy-symbols` or `copy-long`.
        data: Training data: `normal`; `renamed` and `reduced` (SIT section 5.3); `wide`, with as many symbols as the
            widest test set; `supplemented`, with the rows of `wide` that have 0 or 1 symbols (SIT Appendix F).
        model: `streams`, `learned`, `canonical`, `renamed` or `random`; of LTL also `streams-adacos`, streams that are
            trained as the authors' release does.
        wide: Whether the model has a row for every symbol of the widest test set.
        fields: Configuration fields that differ from the scale's, as pairs.
        start: A model that is converted to streams and trained further.
        epochs: Passes over the data; None for the scale's number of steps.
        learning_rate: None for the scale's.
        tuned: Whether it has the trainer arguments that the scale gives to searches, trials and full lengths alike.
        trial: Whether it is a short one of a search, with the scale's number of steps for these.
    """

    task: str
    data: str = "normal"
    model: str = "streams"
    wide: bool = False
    fields: tuple[tuple[str, Any], ...] = ()
    start: Training | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    tuned: bool = False
    trial: bool = False

    @property
    def asked(self) -> str:
        """The task's name in the package."""
        return self.task.partition("-")[0]

    @property
    def name(self) -> str:
        """A name for files: equal for equal trainings only."""
        parts = [self.task, self.data, f"{self.model}-wide" if self.wide else self.model]
        for key, value in self.fields:
            shown = "-".join(value) if isinstance(value, tuple) else str(value)
            parts.append(f"{key}={shown}")
        if self.start is not None:
            parts.append(f"from-{self.start.model}")
        if self.epochs is not None:
            parts.append(f"{self.epochs}epochs")
        if self.learning_rate is not None:
            parts.append(f"learning_rate={self.learning_rate:g}")
        if self.tuned:
            parts.append("tuned")
        if self.trial:
            parts.append("trial")
        return "_".join(parts)


@dataclass(frozen=True)
class Row:
    """One model of a table.

    Attributes:
        labels: What it is called there.
        training: The model.
        paper: The paper's numbers by measure, in percent where the table says nothing else.
        measures: What is measured of it, where that is not all that the table measures.
        search: Trials, of which the best on validation data says how the model is trained; none if `training` does.
    """

    labels: tuple[str, ...]
    training: Training
    paper: Mapping[Measure, float] = field(default_factory=dict)
    measures: tuple[ModelMeasure, ...] | None = None
    search: tuple[Training, ...] = ()

    @property
    def name(self) -> str:
        """A name for files."""
        return self.training.name


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        name: What `python -m papers` calls it.
        title, source: What it shows, and where it stands in the papers.
        heads: Heads of the columns with labels.
        measures: The columns with numbers.
        rows: The models.
        unit: What the numbers and their intervals are, without a full stop.
        note: How the paper's numbers came about where ours did otherwise: sentences.
        compared: Measures of which rows that differ in their last label are compared over seeds, by the tests of
            `rank_tests`.
    """

    name: str
    title: str
    source: str
    heads: tuple[str, ...]
    measures: tuple[ModelMeasure, ...]
    rows: tuple[Row, ...]
    unit: str
    note: str = ""
    compared: tuple[ModelMeasure, ...] = ()

    @property
    def trains(self) -> bool:
        """Its rows are trained models."""
        return True

    def measures_of(self, row: Row) -> tuple[ModelMeasure, ...]:
        """What is measured of a row."""
        return self.measures if row.measures is None else row.measures
