"""How large everything is: data, models and training of the tables whose models answer questions, at each scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.grid import Box
from papers.harness.tables import TASKS, Row, Table, Training

if TYPE_CHECKING:
    from hf_symbinv.training import Recipe

SCALES = ("smoke", "cpu", "paper")
GPU = "gpu"  # what an hour of one GPU can show of text; only some experiments have it


class ScaleError(UserError):
    """A scale that does not exist, or that a table has not."""


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    Attributes:
        name: Of `SCALES`, or `gpu`, at which there are no tasks.
        about: What it is, in a sentence.
        tasks: For each task its data, models (with the trainer arguments that are theirs), trainer arguments and
            numbers of rows; how `renamed` data are made if not as the package does; and a sentence `about` it where the
            scale's does not hold.
        tables: For some tables the rows that are made, each by its last labels; all rows of the others.
    """

    name: str
    about: str
    tasks: dict[str, dict[str, Any]]
    tables: dict[str, list[list[Any]]]

    @classmethod
    def load(cls, folder: Path, name: str) -> Scale:
        """Reads a scale.

        Args:
            folder: Of the files `SCALE.yaml`.
            name: Of the scale.

        Raises:
            ScaleError: If there is none of this name.
        """
        if name == GPU:
            return cls(name, "", {}, {})
        if name not in SCALES:
            raise ScaleError(f"scale={name!r}: unknown; use one of {', '.join(SCALES)}")
        content = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
        return cls(name, content.pop("about"), tables=content.pop("tables", {}), tasks=content)

    def rows_of(self, table: Table) -> list[Row]:
        """The rows of a table that this scale makes."""
        wanted = [tuple(map(str, labels)) for labels in self.tables.get(table.name, [[]])]
        rows = [
            row for row in table.rows if any(row.labels[len(row.labels) - len(labels) :] == labels for labels in wanted)
        ]
        return [
            replace(row, training=self._spared(row.training), search=tuple(map(self._spared, row.search)))
            for row in rows
        ]

    def _spared(self, training: Training) -> Training:
        """A training with the same weights on data that are there already: renamed ones, if symbols stay apart, are the
        same tensors to streams and canonical names."""
        same = training.data == "renamed" and training.model in ("streams", "canonical")
        apart = "renamed" not in self.tasks[training.task]
        return replace(training, data="normal") if same and apart else training

    def about_of(self, rows: Sequence[Row]) -> str:
        """What a table with these rows shows: the sentences of their tasks, the scale's for those that have none."""
        abouts = {row.training.task: self.tasks[row.training.task].get("about", self.about) for row in rows}
        if len(set(abouts.values())) == 1:
            return abouts.popitem()[1]
        own = [f"{TASKS[task].capitalize()}: {about}" for task, about in abouts.items() if about != self.about]
        return " ".join([self.about] * (self.about in abouts.values()) + own)

    def box(self, task: str) -> Box:
        """The largest number of symbols and the largest size in training, but for models trained on `wide` data."""
        normal = self.tasks[task]["data"]["normal"]
        return Box(normal["num_symbols"], normal["max_size"])

    def recipe(self, training: Training, seed: int) -> Recipe:
        """The recipe of a training."""
        from hf_symbinv.training import Recipe  # torch only where it is needed

        sizes = self.tasks[training.task]
        trainer = {**sizes["trainer"], "seed": seed}
        batch = trainer["per_device_train_batch_size"] * trainer.get("gradient_accumulation_steps", 1)
        data = "wide" if training.data == "wide" else "normal"
        train_rows = 0.8 * sizes["data"][data]["rows"]
        if training.data == "reduced":
            trainer["max_steps"] = sizes["reduced"]["max_steps"]
        if training.epochs is not None:
            trainer["max_steps"] = math.ceil(training.epochs * train_rows / batch)
        if training.tuned:
            trainer |= sizes["search"].get("trainer", {})
        if training.trial:
            trainer["max_steps"] = sizes["search"]["max_steps"]
        trainer["warmup_steps"] = min(trainer["warmup_steps"], trainer["max_steps"] // 10)
        kind = training.model
        fields = {key: list(value) if isinstance(value, tuple) else value for key, value in training.fields}
        symbols = sizes["data"]["wide" if training.wide else "normal"]["num_symbols"]
        if training.start is not None:  # the shape is the converted model's
            kind, fields = training.start.model, {**fields, "symbol_embedding": "streams"}
        model = {**sizes["models"][kind], "num_symbols": symbols, **fields}
        trainer |= model.pop("trainer", {})
        if training.learning_rate is not None:
            trainer["learning_rate"] = training.learning_rate
        return Recipe(
            task=training.asked, data=sizes["data"][data], model=model, trainer=trainer,
            evaluation_rows=sizes["rows"]["validation"], test_rows=1,
        )  # fmt: skip
