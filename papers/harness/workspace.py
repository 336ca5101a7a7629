"""The papers' tables, made again: trains or resumes what a table names, measures it, and prints it beside the paper.

Everything lies in one folder, `FOLDER/SCALE/`: `data/`, `runs/` (one per training and seed), `results/` (one file per
training, seed and kind of measurement), `experiments/` (one folder per experiment, row and seed) and `tables/`. What is
there is not made again; a call that was stopped, or ran out of its time, goes on where it was when it is repeated.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import yaml

from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.checkpoints import load_checkpoint
from hf_symbinv.evaluation.cost import REPEATS
from hf_symbinv.evaluation.grid import Box, Grid, mean_of, region_of
from hf_symbinv.files import write_atomically
from hf_symbinv.metrics.rank_tests import compare
from hf_symbinv.tasks import load_task
from papers.harness.experiments import Experiment, Job, MissingDataError, OutOfTimeError, Setting, experiments
from papers.harness.measurements import MEASUREMENTS, Measurement
from papers.harness.provenance import read_record, timed
from papers.harness.rendering import Made, Number, Reproduction
from papers.streams.tables import HEAT_MAP, NAMES, TABLES, Row, Table, Training

if TYPE_CHECKING:
    from hf_symbinv.training import Recipe

SCALES = ("smoke", "cpu", "paper")
GPU = "gpu"  # what an hour of one GPU can show of text; only some experiments have it
PICTURES = ("sit-heatmap", "ite-ablation")  # the papers show them
# Our choice: the shortest time in which resuming a run and taking a useful number of steps is worth while.
SHORTEST_PIECE = 30.0
RECORD = ".made.json"


class ScaleError(UserError):
    """A scale or a table that does not exist."""


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    Attributes:
        name: `smoke`, `cpu`, `paper`, or `gpu`, at which there are no tasks.
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
        if name == GPU:
            return cls(name, "", {}, {})
        if name not in SCALES:
            raise ScaleError(f"scale={name!r}: unknown; use one of {', '.join(SCALES)}")
        text = (resources.files("papers.streams") / "scales" / f"{name}.yaml").read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        return cls(name, content.pop("about"), tables=content.pop("tables", {}), tasks=content)

    def rows_of(self, table: Table) -> list[Row]:
        """The rows of a table that this scale makes."""
        wanted = self.tables.get(table.name)
        if wanted is None:
            return list(table.rows)
        return [row for row in table.rows if any(" / ".join(row.labels).endswith(part) for part in wanted)]

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
        from hf_symbinv.datasets_scripts.questions import builder, grid, transforms

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

    def run_folder(self, training: Training, seed: int) -> Path:
        """Where a model is trained."""
        return self.folder / "runs" / f"{training.name}_seed{seed}"

    def run(self, training: Training, seed: int) -> Path:
        """The folder of a trained model; trains or goes on training it.

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """
        from hf_symbinv.datasets_scripts.loading import load_data
        from hf_symbinv.training import train

        folder = self.run_folder(training, seed)
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

    def result(self, training: Training, seed: int, kind: str) -> Path:
        """The file of a measurement of `MEASUREMENTS`; beside it lies a record of how it was made."""
        return self.folder / "results" / f"{training.name}_seed{seed}_{kind}.json"

    def numbers(self, training: Training, seed: int, kind: str) -> dict[str, Any]:
        """The result of one kind of measurement of `MEASUREMENTS`, as plain values."""
        path = self.result(training, seed, kind)
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        checkpoint = load_checkpoint(str(self.run(training, seed)))
        self.time_left()
        self.say(f"measure {path.stem}")
        path.parent.mkdir(parents=True, exist_ok=True)
        measurement = Measurement(self, training, checkpoint, kind, path.with_suffix(".pieces"))
        with timed(path.with_suffix(RECORD)):
            content = MEASUREMENTS[kind.partition("-")[0]](measurement)
        write_atomically(path, json.dumps(content) + "\n")
        measurement.pieces.unlink(missing_ok=True)
        return content

    def records(self, training: Training, seeds: Sequence[int], kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
        """How a model was trained, and how the results that are there were measured; empty where it is not known."""
        runs = [self.run_folder(training, seed) / "run.json" for seed in seeds]
        results = [self.result(training, seed, kind) for seed in seeds for kind in dict.fromkeys(kinds)]
        return {
            "training": {str(path): read_record(path) for path in runs if path.exists()},
            "measuring": {str(path): read_record(path.with_suffix(RECORD)) for path in results if path.exists()},
        }

    def experiment_result(self, experiment: Experiment, row: Setting, seed: int) -> Path:
        """The file of the results of one row of an experiment; beside it lies a record of how it was made."""
        return self.folder / "experiments" / experiment.name / f"{row.name}_seed{seed}" / "result.json"

    def experiment_records(self, experiment: Experiment, row: Setting, seeds: Sequence[int]) -> dict[str, Any]:
        """How the results that are there were made; empty where it is not known."""
        paths = [self.experiment_result(experiment, row, seed) for seed in seeds]
        records = {str(path): read_record(path.with_suffix(RECORD)) for path in paths if path.exists()}
        return {"training and measuring": records}

    def experiment(self, experiment: Experiment, row: Setting, seed: int) -> dict[str, Any]:
        """The results of one row of an experiment, by measure; makes them if they are not there."""
        home = self.folder / "experiments"
        path = self.experiment_result(experiment, row, seed)
        folder = path.parent
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        self.time_left()
        self.say(f"experiment {experiment.name}: {' / '.join(row.labels)}, seed {seed}")
        folder.mkdir(parents=True, exist_ok=True)
        shared = home / f"{experiment.family}-data"
        shared.mkdir(exist_ok=True)
        sizes = experiment.sizes(self.scale.name)
        with timed(path.with_suffix(RECORD)):
            content = experiment.measure(Job(folder, shared, row.values, sizes, seed, self.time_left, self.say))
        write_atomically(path, json.dumps(content) + "\n")
        return content


# Measure → kind of measurement, and what of it is counted.
_SHARES = {
    "correct": ("verdicts-test-normal", "correct"),
    "exact": ("verdicts-test-normal", "exact"),
    "validation": ("verdicts-validation-normal", "correct"),
    "validation, wide": ("verdicts-validation-wide", "correct"),
}


def kind_of(measure: str) -> str:
    """The kind of measurement that a table's measure is read from.

    Raises:
        ScaleError: If no table has such a measure.
    """
    if measure in _SHARES:
        return _SHARES[measure][0]
    if "alpha-covariance" in measure:
        return "renamings-wide" if measure.startswith("wide") else "renamings-normal"
    if measure in (*HEAT_MAP, "edit distance"):
        return "grid"
    if measure.startswith("top-"):
        return f"grid-{measure.removeprefix('top-')}"
    if measure.startswith(("ms, ", "MB, ")):
        return f"cost-{REPEATS}"
    if measure == "parameters":
        return "parameters"
    raise ScaleError(f"measure={measure!r}: unknown; use one that a table of TABLES has")


def measure(place: Workspace, training: Training, seeds: Sequence[int], name: str) -> Number | None:
    """A number of a table, over all seeds together; None where the test data have nothing to measure it on.

    Parameters and costs are those of the first seed.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
        ScaleError: If no table has such a measure.
    """
    kind = kind_of(name)
    if name == "parameters":
        return Number(place.numbers(training, seeds[0], kind)["parameters"])
    if kind.startswith("cost"):
        return _cost(place.numbers(training, seeds[0], kind)["costs"], name)
    found = [place.numbers(training, seed, kind) for seed in seeds]
    if name in _SHARES:
        key = _SHARES[name][1]
        return Number.share(sum(part[key] for part in found), sum(part["count"] for part in found))
    if kind.startswith("renamings"):
        symbols = name.rpartition(", ")[2].partition(" ")[0]
        values = [value for part in found for value in part["by_symbols"].get(symbols, [])]
        return Number.mean(values) if values else None
    grids = [Grid.from_dict(part) for part in found]
    cells = [cell for grid in grids for cell in grid.cells]
    if name in HEAT_MAP[1:]:
        box = place.scale.box(training.task)
        cells = [cell for cell in cells if region_of(cell, box) == name]
    return Number.of_cells(mean_of(cells, grids[0].metric), 1 if name == "edit distance" else 100)


def _cost(costs: Sequence[dict[str, Any]], name: str) -> Number | None:
    """Milliseconds, or megabytes, for the number of symbols that a measure names."""
    unit, _, symbols = name.removesuffix(" symbols").partition(", ")
    for cost in costs:
        if str(cost["symbols"]) == symbols:
            low, high = cost["ms range"] if unit == "ms" else (None, None)
            return Number(cost[unit], low, high, cost["count"])
    return None


def reproduce(place: Workspace, name: str, seeds: Sequence[int] = (0,)) -> Reproduction:
    """Trains, measures and collects a table; what there is no time for stays out.

    Args:
        place: Where everything lies, and how large it is.
        name: Of a table in `tables()`.
        seeds: Of the trainings; numbers are over all of them together.

    Raises:
        ScaleError: If there is no such table, or it has no such scale.
    """
    if name not in tables():
        raise ScaleError(f"table={name!r}: unknown; use one of {', '.join(tables())}")
    if place.scale.name not in scales_of(name):
        raise ScaleError(f"table={name!r}: has no scale {place.scale.name}; use one of {', '.join(scales_of(name))}")
    table, folder = tables()[name], place.folder / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(table, Table):
        result = _reproduce_table(place, table, seeds)
    else:
        result = _reproduce_experiment(place, table, seeds)
    (folder / f"{name}.md").write_text(result.markdown(), encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(result.to_dict(), indent=2) + "\n", encoding="utf-8")
    if isinstance(table, Table) and table.name in PICTURES:
        draw(place, table, seeds[0], folder)
    return result


def tables() -> dict[str, Table | Experiment]:
    """Everything that can be made again, by name."""
    return {**TABLES, **experiments()}


def scales_of(name: str) -> tuple[str, ...]:
    """The scales that a table has."""
    table = tables()[name]
    return SCALES if isinstance(table, Table) else table.scales()


def _reproduce_table(place: Workspace, table: Table, seeds: Sequence[int]) -> Reproduction:
    rows, missing = place.scale.rows_of(table), []
    done = []
    for row in rows:
        numbers: dict[str, Number | None] = {}
        measures = _measures(table, row)
        try:
            for name in measures:
                numbers[name] = measure(place, row.training, seeds, name)
        except OutOfTimeError:
            missing.append(" / ".join(row.labels))
        done.append(Made(row, numbers, place.records(row.training, seeds, [kind_of(name) for name in measures])))
    return Reproduction(
        table, place.scale.name, place.scale.about, table.unit, tuple(seeds), tuple(done), tuple(missing),
        tuple(_notes(place.scale, table, rows)),
    )  # fmt: skip


def _measures(table: Table, row: Row) -> list[str]:
    """What is measured of a row: in SIT Table 4 nothing beyond a vocabulary that ends with the symbols of training."""
    closed = row.training.model in ("learned", "renamed") and table.name == "sit-4"
    return ["validation"] if closed else list(table.measures)


def _notes(scale: Scale, table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """What a reader must know of a table beside its numbers."""
    if table.measures == HEAT_MAP:
        boxes = {row.training.task: scale.box(row.training.task) for row in rows}
        shown = [f"{NAMES[task]} {box.symbols} symbols and {box.size} tokens" for task, box in boxes.items()]
        yield f"The box: {', '.join(shown)}."
    if table.note:
        yield table.note
    left_out = len(table.rows) - len(rows)
    if left_out:
        yield f"Of the paper's {len(table.rows)} rows {left_out} are not made at this scale."


def _reproduce_experiment(place: Workspace, table: Experiment, seeds: Sequence[int]) -> Reproduction:
    done, found, reasons = [], [], dict[str, list[str]]()
    rows, results = table.rows_of(place.scale.name), dict[tuple[str, ...], list[dict[str, Any]]]()
    for row in rows:
        parts = results.setdefault(row.labels, [])
        try:
            for seed in seeds:
                parts.append(place.experiment(table, row, seed))
                found.append((row, parts[-1]))
        except (MissingDataError, OutOfTimeError) as error:
            reasons.setdefault(str(error), []).append(" / ".join(row.labels))
        numbers = {name: _together([part[name] for part in parts if name in part]) for name in table.measures}
        done.append(Made(row, numbers, place.experiment_records(table, row, seeds)))
    missing = reasons.pop("", []) + [f"{'; '.join(same)} ({reason})" for reason, same in reasons.items()]
    if table.draw is not None and found:
        table.draw(found, place.folder / "tables")
    about = table.sizes(place.scale.name)["about"]
    unit = f"{table.unit}, with 95 % intervals (Wilson for shares, normal for means)"
    notes = list(comparisons(results, table.compared, len(seeds)))
    if len(rows) < len(table.rows):
        notes.append(f"Of {len(table.rows)} rows {len(table.rows) - len(rows)} are not made at this scale.")
    return Reproduction(table, place.scale.name, about, unit, tuple(seeds), tuple(done), tuple(missing), tuple(notes))


def comparisons(
    results: Mapping[tuple[str, ...], Sequence[Mapping[str, Any]]], measures: Sequence[str], seeds: int
) -> Iterator[str]:
    """For each measure a sentence on the rows that differ in their last label, where all seeds of two are there.

    Args:
        results: Labels of a row → what was measured with each seed.
        measures: The less of them the better.
        seeds: How many; with one there is nothing to compare.
    """
    if seeds < 2:
        return
    for measure, group in itertools.product(measures, dict.fromkeys(labels[:-1] for labels in results)):
        means = {
            labels[-1]: [value for part in parts if (value := _mean_of_part(part.get(measure))) is not None]
            for labels, parts in results.items()
            if labels[:-1] == group
        }
        means = {label: values for label, values in means.items() if len(values) == seeds}
        if len(means) < 2:
            continue
        best = min(means, key=lambda label: fmean(means[label]))
        errors = {label: stdev(values) / math.sqrt(seeds) for label, values in means.items()}
        shown = "; ".join(f"{label} {fmean(means[label]):.3g} ± {error:.2g}" for label, error in errors.items())
        found = compare(means)
        alike = ", ".join(found.alike(best))
        where = ", ".join([*group, measure])
        yield (
            f"Over {seeds} seeds, {where}, means and standard errors: {shown}; Kruskal-Wallis p = {found.p_value:.3g}; "
            f"lowest: {best}, " + (f"not told from {alike} (Conover, 0.05)." if alike else "alone (Conover, 0.05).")
        )


def _mean_of_part(part: Mapping[str, Any] | None) -> float | None:
    """What one seed has of a measure."""
    number = None if part is None else _together([dict(part)])
    return None if number is None else number.value


def _together(parts: Sequence[dict[str, Any]]) -> Number | None:
    """The number of a measure over all seeds."""
    if not parts:
        return None
    if "losses" in parts[0]:
        return Number.perplexity([loss for part in parts for loss in part["losses"]])
    if "values" in parts[0]:
        return Number.average([value for part in parts for value in part["values"]])
    return Number.share(sum(part["correct"] for part in parts), sum(part["count"] for part in parts))


def draw(place: Workspace, table: Table, seed: int, folder: Path) -> None:
    """The heat maps that are there of a table: for each task a picture of all side by side, in two formats, and their
    tables, as Markdown.
    """
    from hf_symbinv.plotting.heatmap import save_heatmaps

    grids: dict[str, list[Grid]] = {}
    for row in place.scale.rows_of(table):
        path = place.result(row.training, seed, "grid")
        if path.exists():
            grid = Grid.from_dict(place.numbers(row.training, seed, "grid"))
            grids.setdefault(row.training.task, []).append(replace(grid, model=row.labels[-1]))
    for task, same in grids.items():
        file = folder / f"{table.name}-{task}"
        file.with_suffix(".md").write_text(
            "\n\n".join(grid.table(markdown=True) for grid in same) + "\n", encoding="utf-8"
        )
        for suffix in (".png", ".svg"):
            save_heatmaps(same, file.with_suffix(suffix))
