"""The papers' tables, made again: trains or resumes what a table names, measures it, and prints it beside the paper.

Everything lies in one folder, `FOLDER/SCALE/`: `data/`, `runs/` (one per training and seed), `results/` (one file per
training, seed and kind of measurement), `experiments/` (one folder per experiment, row and seed) and `tables/`. What is
there is not made again; a call that was stopped, or ran out of its time, goes on where it was when it is repeated.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hf_symbinv.evaluation.checkpoints import load_checkpoint
from hf_symbinv.evaluation.experiments import Experiment, Job, MissingDataError, OutOfTimeError, Setting, experiments
from hf_symbinv.evaluation.heatmap import Grid
from hf_symbinv.evaluation.measurements import MEASUREMENTS, Measurement
from hf_symbinv.evaluation.tables import TABLES, Row, Table, Training
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, wilson_interval
from hf_symbinv.tasks import load_task

if TYPE_CHECKING:
    from hf_symbinv.training import Recipe

SCALES = ("smoke", "cpu", "paper")
PICTURES = ("sit-heatmap", "ite-ablation")  # the papers show them
# Our choice: the shortest time in which resuming a run and taking a useful number of steps is worth while.
SHORTEST_PIECE = 30.0


class ScaleError(ValueError):
    """A scale or a table that does not exist."""


@dataclass(frozen=True)
class Number:
    """A measured number: in percent if it is a share or an alpha-covariance.

    Attributes:
        value: The number.
        low, high: Its 95 % interval: Wilson's for shares, the normal one for means; None where there is none.
        count: Samples behind it.
    """

    value: float
    low: float | None = None
    high: float | None = None
    count: int = 1

    @classmethod
    def share(cls, correct: float, count: int) -> Number:
        """A share of `count` samples."""
        low, high = wilson_interval(round(correct), count)
        return cls(100 * correct / count, 100 * low, 100 * high, count)

    @classmethod
    def mean(cls, values: Sequence[float]) -> Number:
        """A mean of values between 0 and 1."""
        middle = math.fsum(values) / len(values)
        spread = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / max(len(values) - 1, 1))
        side = NORMAL_QUANTILE * spread / math.sqrt(len(values))
        return cls(100 * middle, 100 * max(middle - side, 0), 100 * min(middle + side, 1), len(values))

    @classmethod
    def average(cls, values: Sequence[float]) -> Number:
        """A mean of values of any size; without an interval if there is only one."""
        middle = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(middle)
        spread = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
        side = NORMAL_QUANTILE * spread / math.sqrt(len(values))
        return cls(middle, middle - side, middle + side, len(values))


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    Attributes:
        name: `smoke`, `cpu` or `paper`.
        about: What it is, in a sentence.
        tasks: For each task its data, models (with the trainer arguments that are theirs), trainer arguments and
            numbers of rows.
        tables: For some tables the rows that are made, each by the end of its labels; all rows of the others.
    """

    name: str
    about: str
    tasks: dict[str, dict[str, Any]]
    tables: dict[str, list[str]]

    @classmethod
    def load(cls, name: str) -> Scale:
        """Reads a scale of this package.

        Raises:
            ScaleError: If there is none of this name.
        """
        if name not in SCALES:
            raise ScaleError(f"scale={name!r}: unknown; use one of {', '.join(SCALES)}")
        text = (resources.files("hf_symbinv.evaluation") / "scales" / f"{name}.yaml").read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        return cls(name, content.pop("about"), tables=content.pop("tables", {}), tasks=content)

    def rows_of(self, table: Table) -> list[Row]:
        """The rows of a table that this scale makes."""
        wanted = self.tables.get(table.name)
        if wanted is None:
            return list(table.rows)
        return [row for row in table.rows if any(" / ".join(row.labels).endswith(part) for part in wanted)]

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
        trainer["warmup_steps"] = min(trainer["warmup_steps"], trainer["max_steps"] // 10)
        kind = training.model.removesuffix("-wide")
        fields = {key: list(value) if isinstance(value, tuple) else value for key, value in training.fields}
        symbols = sizes["data"]["wide" if training.model.endswith("-wide") else "normal"]["num_symbols"]
        if training.start is not None:  # the shape is the converted model's
            kind, fields = training.start.model, {**fields, "symbol_embedding": "streams"}
        model = {**sizes["models"][kind], "num_symbols": symbols, **fields}
        trainer |= model.pop("trainer", {})
        return Recipe(
            task=training.task, data=sizes["data"][data], model=model, trainer=trainer,
            evaluation_rows=sizes["rows"]["validation"], test_rows=1,
        )  # fmt: skip


class Workspace:
    """A folder in which one scale's data, runs and results lie; makes what is missing.

    Args:
        folder: Where everything lies; made if it does not exist.
        scale: How large everything is.
        max_seconds: Time for this object's work; None for no limit.
        say: Takes lines that tell what is being done.
    """

    def __init__(
        self,
        folder: Path,
        scale: Scale,
        *,
        max_seconds: float | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.folder, self.scale, self.say = folder / scale.name, scale, say
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds

    def time_left(self) -> float | None:
        """Seconds, None if there is no limit.

        Raises:
            OutOfTimeError: If too few are left for anything.
        """
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left < SHORTEST_PIECE:
            raise OutOfTimeError
        return left

    def data(self, task: str, variant: str) -> Path:
        """The folder of a data set: `grid`, or a name of training data; see `Training`."""
        from hf_symbinv.datasets_scripts import builder, grid, transforms

        sizes, folder = self.scale.tasks[task], self.folder / "data" / f"{task}-{variant}"
        if (folder / "README.md").exists():  # the card, which is written last
            return folder
        if variant in ("renamed", "reduced", "supplemented"):
            change: dict[str, Any] = {"renamed": True}
            if variant == "reduced":
                change = {"reduce": sizes["reduced"]["rows"]}
            elif variant == "supplemented":
                change = {"supplement": str(self.data(task, "wide"))}
            source = self.data(task, "normal")
            self.say(f"data {folder.name}: from {source.name}")
            transforms.transform(source, folder, load_task(task), change)
            return folder
        self.time_left()
        self.say(f"data {folder.name}: {sizes['data'][variant]}")
        if variant == "grid":
            grid.prepare(grid.QuestionGridConfig(name="grid", task=task, **sizes["data"]["grid"]), folder, None)
        else:
            config = builder.RandomQuestionsConfig(name=variant, task=task, **sizes["data"][variant])
            builder.prepare(config, folder, None)
        return folder

    def run(self, training: Training, seed: int) -> Path:
        """The folder of a trained model; trains or goes on training it.

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """
        from hf_symbinv.datasets_scripts.loading import load_data
        from hf_symbinv.training import train

        folder = self.folder / "runs" / f"{training.name}_seed{seed}"
        if (folder / "run.json").exists():
            return folder
        recipe = self.scale.recipe(training, seed)
        if training.start is not None:
            recipe = replace(recipe, start=str(self.converted(training.start, seed)))
        data = load_data(training.task, recipe.data, str(self.data(training.task, training.data)))
        self.say(f"run {folder.name}: {recipe.trainer['max_steps']} steps")
        record = train(recipe, data, folder, max_seconds=self.time_left())
        if not record["finished"]:
            self.say(f"run {folder.name}: stopped at step {record['step']} of {record['max_steps']}")
            raise OutOfTimeError
        return folder

    def converted(self, training: Training, seed: int) -> Path:
        """The folder of a trained model converted to streams."""
        from hf_symbinv.training.conversion import save_converted, to_streams

        source = self.run(training, seed)
        folder = source.with_name(f"{source.name}_converted")
        if not (folder / "README.md").exists():  # the card, which is written last
            checkpoint = load_checkpoint(str(source), device="cpu")
            how = "Rows of two symbols became the actual and the placeholder row."
            save_converted(to_streams(checkpoint.model), checkpoint.tokenizer, folder, source=source.name, how=how)
        return folder

    def numbers(self, training: Training, seed: int, kind: str) -> dict[str, Any]:
        """The result of one kind of measurement of `MEASUREMENTS`, as plain values."""
        path = self.folder / "results" / f"{training.name}_seed{seed}_{kind}.json"
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        checkpoint = load_checkpoint(str(self.run(training, seed)))
        self.time_left()
        self.say(f"measure {path.stem}")
        path.parent.mkdir(parents=True, exist_ok=True)
        measurement = Measurement(self, training, checkpoint, kind, path.with_suffix(".pieces"))
        content = MEASUREMENTS[kind.partition("-")[0]](measurement)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content) + "\n", encoding="utf-8")
        unfinished.replace(path)
        measurement.pieces.unlink(missing_ok=True)
        return content

    def experiment(self, experiment: Experiment, row: Setting, seed: int) -> dict[str, Any]:
        """The results of one row of an experiment, by measure; makes them if they are not there."""
        home = self.folder / "experiments"
        folder = home / experiment.name / f"{row.name}_seed{seed}"
        path = folder / "result.json"
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        self.time_left()
        self.say(f"experiment {experiment.name}: {' / '.join(row.labels)}, seed {seed}")
        folder.mkdir(parents=True, exist_ok=True)
        shared = home / f"{experiment.family}-data"
        shared.mkdir(exist_ok=True)
        sizes = experiment.sizes(self.scale.name)
        content = experiment.measure(Job(folder, shared, row.values, sizes, seed, self.time_left, self.say))
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content) + "\n", encoding="utf-8")
        unfinished.replace(path)
        return content


def measure(place: Workspace, training: Training, seeds: Sequence[int], name: str) -> Number | None:
    """A number of a table, over all seeds together; None where the test data have nothing to measure it on.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
        ScaleError: If no table has such a measure.
    """
    shares = {
        "correct": ("verdicts-test-normal", "correct"),
        "exact": ("verdicts-test-normal", "exact"),
        "validation": ("verdicts-validation-normal", "correct"),
        "validation, wide": ("verdicts-validation-wide", "correct"),
    }
    if name in shares:
        kind, key = shares[name]
        found = [place.numbers(training, seed, kind) for seed in seeds]
        return Number.share(sum(part[key] for part in found), sum(part["count"] for part in found))
    if "alpha-covariance" in name:
        symbols = name.rpartition(", ")[2].partition(" ")[0]
        kind = "renamings-wide" if name.startswith("wide") else "renamings-normal"
        values = [
            value for seed in seeds for value in place.numbers(training, seed, kind)["by_symbols"].get(symbols, [])
        ]
        return Number.mean(values) if values else None
    if name == "parameters":
        return Number(place.numbers(training, seeds[0], "parameters")["parameters"])
    if name in ("heat map", "edit distance") or name.startswith("top-"):
        kind = "grid" if not name.startswith("top-") else f"grid-{name.removeprefix('top-')}"
        grids = [Grid.from_dict(place.numbers(training, seed, kind)) for seed in seeds]
        total = sum(cell.total for grid in grids for cell in grid.cells)
        count = sum(cell.count for grid in grids for cell in grid.cells)
        return Number(total / count, count=count) if name == "edit distance" else Number.share(total, count)
    raise ScaleError(f"measure={name!r}: unknown; use one that a table of TABLES has")


@dataclass(frozen=True)
class Reproduction:
    """A table with our numbers; `missing` says what the time of a call was too short for.

    Attributes:
        table: What is made again.
        scale, about: How large, by its name and in a sentence.
        unit: What its numbers are.
        seeds: Of the trainings.
        rows: Our numbers by measure.
        missing: The rows that are not finished.
    """

    table: Table | Experiment
    scale: str
    about: str
    unit: str
    seeds: tuple[int, ...]
    rows: tuple[tuple[Row | Setting, dict[str, Number | None]], ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        rows = [
            {
                "labels": list(row.labels),
                "training": row.name,
                "numbers": {name: number and asdict(number) for name, number in numbers.items()},
                "paper": row.paper,
            }
            for row, numbers in self.rows
        ]
        return {
            "table": self.table.name, "scale": self.scale, "seeds": list(self.seeds),
            "rows": rows, "missing": list(self.missing),
        }  # fmt: skip

    def markdown(self) -> str:
        """The table as Markdown, each number with its interval, and the paper's in the column after it."""
        table, measures = self.table, self._measures()
        heads = [*table.heads, *(head for name in measures for head in (name, "paper"))]
        lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for row, numbers in self.rows:
            cells = [*row.labels, *(cell for name in measures for cell in _cells(name, numbers.get(name), row))]
            lines.append(f"| {' | '.join(cells)} |")
        counts = sorted({number.count for _, found in self.rows for number in found.values() if number})
        notes = [
            f"{table.title} ({table.source}), scale {self.scale}: {self.about}",
            f"{self.unit}, with 95 % intervals (Wilson for shares, normal for means)"
            + (f"; {_span(counts)} samples behind a number" if counts else "")
            + f"; seeds {', '.join(map(str, self.seeds))}.",
            f"Command: `symbinv reproduce {table.name} --scale {self.scale}"
            + (f" --seeds {len(self.seeds)}`." if len(self.seeds) > 1 else "`."),
        ]
        if self.missing:
            notes.append(f"Missing: {', '.join(self.missing)}. Repeat the command to go on.")
        return "\n".join(["\n\n".join(notes), "", *lines]) + "\n"

    def _measures(self) -> list[str]:
        """The measures of which there is a number, ours or the paper's; those of ours come in the table's order."""
        found = {name for _, numbers in self.rows for name, number in numbers.items() if number is not None}
        found |= {name for row, _ in self.rows for name in row.paper}
        order = list(dict.fromkeys([*self.table.measures, *(name for _, numbers in self.rows for name in numbers)]))
        return [name for name in order if name in found]


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]:,}" if counts[0] == counts[-1] else f"{counts[0]:,} to {counts[-1]:,}"


def _cells(name: str, number: Number | None, row: Row | Setting) -> tuple[str, str]:
    """Our number and the paper's."""
    paper = f"{row.paper[name]:g}" if name in row.paper else ""
    if number is None:
        return "", paper
    if name == "parameters":
        return f"{number.value:,.0f}", paper
    if number.low is None or number.high is None:
        return f"{number.value:.2f}" if abs(number.value) >= 1 else f"{number.value:.2g}", paper
    places = 2 if abs(number.value) < 10 else 1
    return f"{number.value:.{places}f} ({number.low:.{places}f} - {number.high:.{places}f})", paper


def reproduce(place: Workspace, name: str, seeds: Sequence[int] = (0,)) -> Reproduction:
    """Trains, measures and collects a table; what there is no time for stays out.

    Args:
        place: Where everything lies, and how large it is.
        name: Of a table in `tables()`.
        seeds: Of the trainings; numbers are over all of them together.

    Raises:
        ScaleError: If there is no such table.
    """
    if name not in tables():
        raise ScaleError(f"table={name!r}: unknown; use one of {', '.join(tables())}")
    table, folder = tables()[name], place.folder / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(table, Table):
        result = _reproduce_table(place, table, seeds)
    else:
        result = _reproduce_experiment(place, table, seeds)
    (folder / f"{name}.md").write_text(result.markdown(), encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(result.to_dict(), indent=2) + "\n", encoding="utf-8")
    return result


def tables() -> dict[str, Table | Experiment]:
    """Everything that can be made again, by name."""
    return {**TABLES, **experiments()}


def _reproduce_table(place: Workspace, table: Table, seeds: Sequence[int]) -> Reproduction:
    done, missing = [], []
    for row in place.scale.rows_of(table):
        numbers: dict[str, Number | None] = {}
        try:
            for measured in _measured(place, table, row, seeds):
                numbers.update(measured)
        except OutOfTimeError:
            missing.append(" / ".join(row.labels))
        done.append((row, numbers))
    if table.name in PICTURES and not missing:
        draw(place, table, seeds[0], place.folder / "tables")
    unit = "Shares and alpha-covariances in percent"
    return Reproduction(table, place.scale.name, place.scale.about, unit, tuple(seeds), tuple(done), tuple(missing))


def _reproduce_experiment(place: Workspace, table: Experiment, seeds: Sequence[int]) -> Reproduction:
    done, found, reasons = [], [], dict[str, list[str]]()
    for row in table.rows:
        parts: list[dict[str, Any]] = []
        try:
            for seed in seeds:
                parts.append(place.experiment(table, row, seed))
                found.append((row, parts[-1]))
        except (MissingDataError, OutOfTimeError) as error:
            reasons.setdefault(str(error), []).append(" / ".join(row.labels))
        done.append((row, {name: _together([part[name] for part in parts if name in part]) for name in table.measures}))
    missing = reasons.pop("", []) + [f"{', '.join(rows)} ({reason})" for reason, rows in reasons.items()]
    if table.draw is not None and not missing:
        table.draw(found, place.folder / "tables")
    about = table.sizes(place.scale.name)["about"]
    return Reproduction(table, place.scale.name, about, table.unit, tuple(seeds), tuple(done), tuple(missing))


def _together(parts: Sequence[dict[str, Any]]) -> Number | None:
    """The number of a measure over all seeds."""
    if not parts:
        return None
    if "values" in parts[0]:
        return Number.average([value for part in parts for value in part["values"]])
    return Number.share(sum(part["correct"] for part in parts), sum(part["count"] for part in parts))


def draw(place: Workspace, table: Table, seed: int, folder: Path) -> None:
    """The heat maps of a table side by side, a picture for each task; in two formats."""
    from hf_symbinv.evaluation.heatmap import save_heatmaps

    grids: dict[str, list[Grid]] = {}
    for row in place.scale.rows_of(table):
        grid = Grid.from_dict(place.numbers(row.training, seed, "grid"))
        grids.setdefault(row.training.task, []).append(replace(grid, model=row.labels[-1]))
    for task, same in grids.items():
        for suffix in ("png", "svg"):
            save_heatmaps(same, folder / f"{table.name}-{task}.{suffix}")


def _measured(place: Workspace, table: Table, row: Row, seeds: Sequence[int]) -> Iterator[dict[str, Number | None]]:
    if table.name == "sit-cost":
        costs = place.numbers(row.training, seeds[0], "cost")["costs"]
        for unit in ("ms", "MB"):
            yield {f"{unit}, {cost['symbols']} symbols": Number(cost[unit], count=cost["count"]) for cost in costs}
        return
    # A vocabulary that ends with the symbols of training has no answers beyond: SIT Table 4.
    closed = row.training.model in ("learned", "renamed")
    for name in table.measures:
        if closed and table.name == "sit-4" and name != "validation":
            continue
        yield {name: measure(place, row.training, seeds, name)}
