"""Makes a table of the papers again: trains, measures and collects what it lists, in a workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_symbinv.evaluation.grid import Grid
from hf_symbinv.files import write_atomically
from papers.harness.comparisons import comparisons
from papers.harness.experiments import Experiment, Findings, MissingDataError, OutOfTimeError, Setting
from papers.harness.measurements import HeatMap
from papers.harness.measures import Measure, ModelMeasure, Solved, Spent, Spread
from papers.harness.numbers import Number
from papers.harness.rendering import Made, Reproduction
from papers.harness.scales import SCALES, ScaleError
from papers.harness.searching import chosen, write_search
from papers.harness.tables import TASKS, Row, Table, Training
from papers.harness.workspace import Workspace


def scales_of(table: Table | Experiment) -> tuple[str, ...]:
    """The scales that a table has."""
    return SCALES if isinstance(table, Table) else table.scales()


def reproduce(place: Workspace, table: Table | Experiment, seeds: Sequence[int] = (0,)) -> Reproduction:
    """Trains, measures and collects a table, and writes it; what there is no time for stays out.

    Args:
        place: Where everything lies, and how large it is.
        table: What to make.
        seeds: Of the trainings; numbers are over all of them together.

    Raises:
        ScaleError: If the table has no such scale.
    """
    if place.scale.name not in scales_of(table):
        raise ScaleError(
            f"table={table.name!r}: has no scale {place.scale.name}; use one of {', '.join(scales_of(table))}"
        )
    folder = place.folder / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(table, Table):
        result = _reproduce_table(place, table, seeds)
    else:
        result = _reproduce_experiment(place, table, seeds)
    write_atomically(folder / f"{table.name}.md", result.markdown())
    write_atomically(folder / f"{table.name}.json", json.dumps(result.to_dict(), indent=2) + "\n")
    if isinstance(table, Table):
        draw(place, table, seeds[0], folder)
    if isinstance(table, Table) and any(row.search for row in table.rows):
        write_search(place, table, seeds[0], folder)
    return result


def measured(place: Workspace, training: Training, seeds: Sequence[int], measure: ModelMeasure) -> Number | None:
    """A number of a table, over all seeds together; None where the test data have nothing to measure it on.

    With several seeds its interval has the training as its unit.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    used = seeds[:1] if measure.first_seed_only else seeds
    found, box = [place.found(training, seed, measure.measurement) for seed in used], place.scale.box(training.task)
    number = measure.number(found, box)
    singles = [measure.number([part], box) for part in found] if len(found) > 1 else []
    values = [single.value for single in singles if single is not None]
    if number is None or measure.whole or len(values) < 2:
        return number
    return number.over_trainings(values, is_share=measure.is_share, at_most=measure.at_most)


def _reproduce_table(place: Workspace, table: Table, seeds: Sequence[int]) -> Reproduction:
    rows, missing = place.scale.rows_of(table), []
    done, finished = [], []
    for number, row in enumerate(rows, start=1):
        place.at = f"row {number} of {len(rows)}, "
        numbers: dict[Measure, Number | None] = {}
        measures = table.measures_of(row)
        try:
            row = replace(row, training=chosen(place, row, seeds[0]))
            for measure in measures:
                numbers[measure] = measured(place, row.training, seeds, measure)
            finished.append(row)
        except OutOfTimeError:
            missing.append(" / ".join(row.labels))
        records = place.records(row.training, seeds, [measure.measurement for measure in measures])
        done.append(Made(row, numbers, records))
    return Reproduction(
        table, place.scale.name, place.scale.about_of(rows), table.unit, tuple(seeds), tuple(done), tuple(missing),
        (*_notes(place, table, rows), *_compared(place, table, finished, seeds)),
    )  # fmt: skip


def _compared(place: Workspace, table: Table, rows: Sequence[Row], seeds: Sequence[int]) -> Iterator[str]:
    """How rows of a table differ over seeds."""
    singles: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for measure in table.compared:
        for row in rows:
            numbers = [measured(place, row.training, (seed,), measure) for seed in seeds]
            values = [number.value for number in numbers if number is not None]
            singles.setdefault(measure.heading, {})[row.labels] = values
    return comparisons(singles, len(seeds), "highest")


def _notes(place: Workspace, table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """What a reader must know of a table beside its numbers."""
    if any(isinstance(measure, Solved) and measure.region for measure in table.measures):
        boxes = {row.training.task: place.scale.box(row.training.task) for row in rows}
        shown = [f"{TASKS[task]} {box.symbols} symbols and {box.size} tokens" for task, box in boxes.items()]
        yield f"The box: {', '.join(shown)}."
    tasks = {row.training.task for row in rows}
    if any(isinstance(one.measurement, HeatMap) for one in table.measures):
        twins = any(place.scale.tasks[task]["data"]["grid"].get("twins", False) for task in tasks)
        yield (
            "Questions of the heat map may be training questions under other names."
            if twins
            else "No question of the heat map is a training question under other names."
        )
    if any(getattr(measure, "new", False) for measure in table.measures):
        yield "A renamed twin of a question is a training question that differs from it only in names."
    if any(getattr(measure, "free", False) for measure in table.measures):
        yield "Decoding writes only answers of the task's grammar, except in the columns that say no grammar."
    elif not all(task.startswith("copy") for task in tasks):
        yield "Decoding writes only answers of the task's grammar."
    if any(isinstance(measure, Spread) for measure in table.measures):
        yield "The spread is the standard deviation of the shares of the heat map's cells, in percentage points."
    if any(isinstance(measure, Spent) for measure in table.measures):
        yield "Steps, examples and seconds are those of one training, as means over seeds."
    if table.note:
        yield table.note
    yield from _left_out(len(table.rows), len(rows))


def _left_out(rows: int, made: int) -> Iterator[str]:
    if made < rows:
        yield f"Of {rows} rows {rows - made} {'is' if rows - made == 1 else 'are'} not made at this scale."


def _reproduce_experiment(place: Workspace, table: Experiment, seeds: Sequence[int]) -> Reproduction:
    rows, done = table.rows_of(place.scale.name), []
    drawn: list[tuple[Setting, Findings]] = []
    results: dict[tuple[str, ...], list[Findings]] = {}
    reasons: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        place.at = f"row {number} of {len(rows)}, "
        parts = results.setdefault(row.labels, [])
        try:
            for seed in seeds:
                parts.append(place.experiment(table, row, seed))
                drawn.append((row, parts[-1]))
        except (MissingDataError, OutOfTimeError) as error:
            reasons.setdefault(str(error), []).append(" / ".join(row.labels))
        numbers = {measure: number_of(parts, measure) for measure in table.measures}
        done.append(Made(row, numbers, place.experiment_records(table, row, seeds)))
    missing = reasons.pop("", []) + [f"{'; '.join(same)} ({reason})" for reason, same in reasons.items()]
    if table.draw is not None and drawn:
        table.draw(drawn, place.folder / "tables")
    about = table.sizes(place.scale.name)["about"]
    unit = f"{table.unit}, with 95 % intervals (Wilson for shares, normal for means)"
    notes = list(comparisons(single_numbers(results, table.compared), len(seeds), table.best))
    notes += _left_out(len(table.rows), len(rows))
    return Reproduction(table, place.scale.name, about, unit, tuple(seeds), tuple(done), tuple(missing), tuple(notes))


def single_numbers(
    results: Mapping[tuple[str, ...], Sequence[Findings]], measures: Sequence[Measure]
) -> dict[str, dict[tuple[str, ...], list[float]]]:
    """For each measure the numbers of each row, one for each seed that has it."""
    found: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for measure in measures:
        rows = found.setdefault(measure.heading, {})
        for labels, parts in results.items():
            numbers = [number_of([part], measure) for part in parts]
            rows[labels] = [number.value for number in numbers if number is not None]
    return found


def number_of(parts: Sequence[Findings], measure: Measure) -> Number | None:
    """The number of a measure over all seeds that have it; None if none has.

    With several seeds its interval has the training as its unit.
    """
    found: list[dict[str, Any]] = [part[measure.heading] for part in parts if measure.heading in part]
    if not found:
        return None
    number, is_loss = _pooled(found), "losses" in found[0]
    if len(found) > 1:
        values, at_most = [_pooled([part]).value for part in found], 100.0 if "shares" in found[0] else None
        number = number.over_trainings(values, is_share="correct" in found[0], at_most=at_most)
    return number.exp() if is_loss else number


def _pooled(found: Sequence[dict[str, Any]]) -> Number:
    """A number over all samples of what was found; of losses their mean, not its perplexity."""
    if "shares" in found[0]:
        return Number.mean([value for part in found for value in part["shares"]])
    for kind in ("losses", "values"):
        if kind in found[0]:
            return Number.average([value for part in found for value in part[kind]])
    return Number.share(sum(part["correct"] for part in found), sum(part["count"] for part in found))


def draw(place: Workspace, table: Table, seed: int, folder: Path) -> None:
    """The heat maps that are there of a table: for each task a picture of all side by side, in two formats, and their
    tables, as Markdown.
    """
    from hf_symbinv.plotting.heatmap import save_heatmaps

    grids: dict[str, list[Grid]] = {}
    for row in place.scale.rows_of(table):
        name = ", ".join(label for label in row.labels if label != TASKS[row.training.task])
        maps = [measure.measurement for measure in table.measures_of(row)]
        for one in dict.fromkeys(one for one in maps if isinstance(one, HeatMap) and not one.free):
            if place.result(row.training, seed, one).exists():
                grid = Grid.from_dict(place.found(row.training, seed, one))
                best = f", best of {one.candidates}" if one.candidates > 1 else ""
                grids.setdefault(row.training.task, []).append(replace(grid, model=name + best))
    for task, same in grids.items():
        file = folder / f"{table.name}-{task}"
        write_atomically(file.with_suffix(".md"), "\n\n".join(grid.table(markdown=True) for grid in same) + "\n")
        for suffix in (".png", ".svg"):
            save_heatmaps(same, file.with_suffix(suffix))
