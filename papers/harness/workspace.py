"""The folder in which data, trained models and results lie: makes what is missing, and takes what is there.

Everything lies in one folder, `FOLDER/SCALE/`: `data/`, `runs/` (one per training and seed), `results/` (one file per
training, seed and measurement), `experiments/` (one folder per experiment, row and seed) and `tables/`. What is there
is not made again; a call that was stopped, or ran out of its time, goes on where it was when it is repeated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from hf_symbinv.evaluation.checkpoints import load_checkpoint
from hf_symbinv.files import write_atomically
from hf_symbinv.tasks import load_task
from papers.harness.experiments import Experiment, Job, OutOfTimeError, Setting
from papers.harness.measurements import Measurement, ModelUnderTest
from papers.harness.provenance import read_record, timed
from papers.harness.scales import Scale
from papers.harness.tables import Training

# Our choice: the shortest time in which resuming a run and taking a useful number of steps is worth while.
SHORTEST_PIECE = 30.0
RECORD = ".made.json"


class Workspace:
    """A folder in which one scale's data, runs and results lie; makes what is missing.

    Args:
        folder: Where everything lies; made if it does not exist.
        scale: How large everything is.
        max_seconds: Time for this object's work; None for no limit.
        say: Takes lines that tell what is being done.

    Attributes:
        at: What such lines begin with, if a table is made: `row 3 of 22, `.
    """

    at = ""

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
        self._classes: dict[tuple[str, str], set[str]] = {}

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
        asked = Training(task).asked
        if (folder / "README.md").exists():  # the card, which is written last
            return folder
        if variant in ("renamed", "reduced", "supplemented"):
            change: dict[str, Any] = {"renamed": True, **sizes.get("renamed", {})}
            if variant == "reduced":
                change = {"reduce": sizes["reduced"]["rows"]}
            elif variant == "supplemented":
                change = {"supplement": str(self.data(task, "wide"))}
            source = self.data(task, "normal")
            self.say(f"data {folder.name}: from {source.name}")
            transforms.transform(source, folder, load_task(asked), change)
            return folder
        self.time_left()
        self.say(
            f"data {folder.name}: {', '.join(f'{name} {value}' for name, value in sizes['data'][variant].items())}"
        )
        if variant == "grid":
            options = {**sizes["data"]["grid"]}
            if not options.pop("twins", False):
                options["novel"] = tuple(str(self.data(task, other)) for other in ("normal", "wide"))
            builder.prepare(grid.QuestionGridConfig(name="grid", task=asked, **options), folder, None)
        else:
            config = builder.RandomQuestionsConfig(name=variant, task=asked, **sizes["data"][variant])
            builder.prepare(config, folder, None)
        return folder

    def training_classes(self, training: Training) -> set[str]:
        """A model's training questions up to a renaming; read once, because many measurements need them."""
        from hf_symbinv.evaluation.report import training_classes

        key = training.task, training.data
        if key not in self._classes:
            self._classes[key] = training_classes(load_task(training.asked), str(self.data(*key)))
        return self._classes[key]

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
        data = load_data(training.asked, recipe.data, str(self.data(training.task, training.data)))
        self.say(f"{self.at}run {folder.name}: {recipe.trainer['max_steps']} steps")
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
        with FileLock(folder.with_name(f".{folder.name}.lock")):
            if not (folder / "README.md").exists():  # the card, which is written last
                checkpoint = load_checkpoint(str(source), device="cpu")
                how = "Rows of two symbols became the actual and the placeholder row."
                save_converted(to_streams(checkpoint.model), checkpoint.tokenizer, folder, source=source.name, how=how)
        return folder

    def result(self, training: Training, seed: int, measurement: Measurement) -> Path:
        """The file of what a measurement found; beside it lies a record of how it was made."""
        return self.folder / "results" / f"{training.name}_seed{seed}_{measurement.name}.json"

    def found(self, training: Training, seed: int, measurement: Measurement) -> dict[str, Any]:
        """What a measurement finds of a model, as plain values; trains and measures what is not there.

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """
        path = self.result(training, seed, measurement)
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        checkpoint = load_checkpoint(str(self.run(training, seed)))
        self.time_left()
        self.say(f"{self.at}measure {path.stem}")
        path.parent.mkdir(parents=True, exist_ok=True)
        model = ModelUnderTest(self, training, checkpoint, path.with_suffix(".pieces"))
        with timed(path.with_suffix(RECORD)):
            content = measurement.carry_out(model)
        write_atomically(path, json.dumps(content) + "\n")
        model.pieces.unlink(missing_ok=True)
        return content

    def records(
        self, training: Training, seeds: Sequence[int], measurements: Iterable[Measurement]
    ) -> dict[str, dict[str, Any]]:
        """How a model was trained, and how the results that are there were measured; empty where it is not known."""
        runs = [self.run_folder(training, seed) / "run.json" for seed in seeds]
        different = list(dict.fromkeys(measurements))
        results = [self.result(training, seed, measurement) for seed in seeds for measurement in different]
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
        """What was found of one row of an experiment, by the headings of measures; makes it if it is not there.

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
            MissingDataError: If it needs data that this machine does not have.
        """
        path = self.experiment_result(experiment, row, seed)
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        self.time_left()
        self.say(f"{self.at}experiment {experiment.name}: {' / '.join(row.labels)}, seed {seed}")
        path.parent.mkdir(parents=True, exist_ok=True)
        shared = self.folder / "experiments" / f"{experiment.family.name}-data"
        shared.mkdir(exist_ok=True)
        sizes = experiment.sizes(self.scale.name)
        with timed(path.with_suffix(RECORD)):
            found = experiment.measure(Job(path.parent, shared, row.values, sizes, seed, self.time_left, self.say))
        content = {measure.heading: result for measure, result in found.items()}
        write_atomically(path, json.dumps(content) + "\n")
        return content
