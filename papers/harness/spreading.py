"""What tables need is trained and measured on the machines of a Ray cluster, and left where `reproduce` finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from hf_symbinv.solvers import Cluster
from papers.harness.experiments import Experiment, MissingDataError, OutOfTimeError, Setting
from papers.harness.jobs import run_jobs
from papers.harness.measurements import Costs, Measurement
from papers.harness.measures import TRIED
from papers.harness.scales import Scale
from papers.harness.searching import chosen, finalists, next_trials
from papers.harness.tables import Row, Table, Training
from papers.harness.workspace import Workspace


def spread(place: Workspace, tables: Sequence[Table | Experiment], seeds: Sequence[int], cluster: Cluster) -> None:
    """Trains and measures what is missing of tables.

    A model is trained and measured by one job, and so is a row of an experiment. What there is no time for, or no data,
    stays out. Time and memory of decoding are not measured, because other jobs would run beside.

    Args:
        place: Where everything lies, under the same path on all machines.
        tables: What to make.
        seeds: Of the trainings.
        cluster: Where.

    Raises:
        ClusterError: If the cluster cannot be used.
        UserError: As `reproduce`.
    """
    cluster.connect()  # or what is missing would be found after data are made
    rows = [(table, row) for table in tables if isinstance(table, Table) for row in place.scale.rows_of(table)]
    tried: set[Training] = set()
    while waiting := {trial for _, row in rows for trial in next_trials(place, row, seeds[0])} - tried:
        tried |= waiting  # one for which there is no time is not tried twice
        run_jobs(_models(place, {(one, seeds[0]): {TRIED.measurement: None} for one in waiting}), cluster, place.say)
    best = [(one, seeds[0]) for _, row in rows if row.search for one in _several_finalists(place, row, seeds[0])]
    run_jobs(_models(place, {one: {TRIED.measurement: None} for one in best}), cluster, place.say)
    models: dict[tuple[Training, int], dict[Measurement, None]] = {}
    for made, row in rows:
        try:
            training = chosen(place, row, seeds[0])
        except OutOfTimeError:
            continue
        for measure in made.measures_of(row):
            for seed in seeds[:1] if measure.first_seed_only else seeds:
                models.setdefault((training, seed), {})[measure.measurement] = None
    jobs = _models(place, models)
    for table in tables:
        if isinstance(table, Experiment):
            pairs = [(row, seed) for row in table.rows_of(place.scale.name) for seed in seeds]
            missing = [(row, seed) for row, seed in pairs if not place.experiment_result(table, row, seed).exists()]
            jobs += [partial(_measure_row, *_where(place), table, row, seed) for row, seed in missing]
    run_jobs(jobs, cluster, place.say)


def _several_finalists(place: Workspace, row: Row, seed: int) -> list[Training]:
    """Those of a search that are measured to choose one of them; none if there is only one, or trials are missing."""
    try:
        found = finalists(place, row, seed)
    except OutOfTimeError:
        return []
    return found if len(found) > 1 else []


def _models(
    place: Workspace, models: Mapping[tuple[Training, int], Mapping[Measurement, None]]
) -> list[Callable[[], None]]:
    """A job for each model and seed of which a measurement is missing; their data are made."""
    jobs: list[Callable[[], None]] = []
    for (training, seed), measurements in models.items():
        left = [
            one for one in measurements
            if not isinstance(one, Costs) and not place.result(training, seed, one).exists()
        ]  # fmt: skip
        if left:
            place.data(training.task, training.data)  # with all machines, before the first training needs them
            jobs.append(partial(_measure_model, *_where(place), training, seed, left))
    return jobs


def _where(place: Workspace) -> tuple[Path, Scale, float | None]:
    return place.folder.parent, place.scale, place.deadline


def _measure_model(
    folder: Path, scale: Scale, deadline: float | None, training: Training, seed: int, measurements: list[Measurement]
) -> None:
    place = _workspace(folder, scale, deadline)
    try:
        for measurement in measurements:
            place.found(training, seed, measurement)
    except OutOfTimeError:
        return


def _measure_row(
    folder: Path, scale: Scale, deadline: float | None, experiment: Experiment, row: Setting, seed: int
) -> None:
    try:
        _workspace(folder, scale, deadline).experiment(experiment, row, seed)
    except (MissingDataError, OutOfTimeError):
        return


def _workspace(folder: Path, scale: Scale, deadline: float | None) -> Workspace:
    return Workspace(folder, scale, max_seconds=None if deadline is None else deadline - time.time())
