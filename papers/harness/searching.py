"""Searches on validation data: a row is trained as the best of its trials, and all trials stand in a log.

Trials are short, and what learns fast at first need not be the best in the end. So those whose interval reaches that of
the best trial are trained at full length too, and the best of these is the row's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically
from hf_symbinv.metrics.intervals import wilson_interval
from papers.harness.measures import TRIED
from papers.harness.numbers import Number
from papers.harness.provenance import total_seconds
from papers.harness.tables import Row, Table, Training
from papers.harness.workspace import Workspace

# What trials of a search differ in beside the learning rate.
_SEARCHED = ("loss", "dropout", "random_dim")
FULL = "at full length"


def chosen(place: Workspace, row: Row, seed: int) -> Training:
    """How a row's model is trained: as the best of the `finalists` of its search on validation data.

    Raises:
        OutOfTimeError: If there was no time to finish the search; the next call goes on.
    """
    if not row.search:
        return row.training
    best, *others = finalists(place, row, seed)
    return max((best, *others), key=lambda training: _number(place, training, seed).value) if others else best


def finalists(place: Workspace, row: Row, seed: int) -> list[Training]:
    """At full length, the trials of a search that validation data do not tell from the best one.

    Raises:
        OutOfTimeError: If there was no time to finish the trials; the next call goes on.
    """
    tried = {trial: place.found(trial, seed, TRIED.measurement) for trial in row.search}
    intervals = {trial: wilson_interval(found["correct"], found["count"]) for trial, found in tried.items()}
    lowest = max(low for low, _ in intervals.values())
    return [replace(trial, trial=False) for trial, (_, high) in intervals.items() if high >= lowest]


def _number(place: Workspace, training: Training, seed: int) -> Number:
    """Correct answers to validation questions."""
    number = TRIED.number([place.found(training, seed, TRIED.measurement)], place.scale.box(training.task))
    assert number is not None, "a search has validation questions"
    return number


def write_search(place: Workspace, table: Table, seed: int, folder: Path) -> None:
    """The log of a table's searches: each trial that is finished, and which of them was chosen."""
    lines = []
    for row in place.scale.rows_of(table):
        tried = [trial for trial in row.search if place.result(trial, seed, TRIED.measurement).exists()]
        last = finalists(place, row, seed) if len(tried) == len(row.search) else []
        full = {one: _number(place, one, seed) for one in last if place.result(one, seed, TRIED.measurement).exists()}
        best = chosen(place, row, seed) if len(last) == 1 or (last and len(full) == len(last)) else None
        for trial in tried:
            recipe, final = place.scale.recipe(trial, seed), replace(trial, trial=False)
            records = place.records(trial, (seed,), [TRIED.measurement])
            lines.append(
                {
                    **dict(zip(table.heads, row.labels, strict=True)),
                    "learning_rate": recipe.trainer["learning_rate"],
                    **{name: recipe.model[name] for name in _SEARCHED if name in recipe.model},
                    "steps": recipe.trainer["max_steps"],
                    "seconds": round(sum(total_seconds([*same.values()]) for same in records.values())),
                    TRIED.heading: asdict(_number(place, trial, seed)),
                    FULL: asdict(full[final]) if final in full else None,
                    "chosen": best == final,
                }
            )
    write_atomically(folder / f"{table.name}-search.json", json.dumps(lines, indent=2) + "\n")
    write_atomically(folder / f"{table.name}-search.md", _log(table, place.scale.name, lines))


def _log(table: Table, scale: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """A search's log as Markdown."""
    heads = [*table.heads, "learning rate", "loss", "dropout", "random width", "steps", "seconds"]
    heads += [TRIED.heading, FULL, ""]
    found = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for line in lines:
        numbers = (line[TRIED.heading], line[FULL])
        shown = ["{value:.1f} ({low:.1f} - {high:.1f})".format(**number) if number else "" for number in numbers]
        cells = [*(line[head] for head in table.heads), line["learning_rate"]]
        cells += [*(line.get(name, "") for name in _SEARCHED), line["steps"], line["seconds"]]
        cells += [*shown, "chosen" if line["chosen"] else ""]
        found.append(f"| {' | '.join(map(str, cells))} |")
    count = lines[0][TRIED.heading]["count"] if lines else 0
    about = (
        f"Every trial of the search for `{table.name}`, scale {scale}: correct answers to {count:,} validation "
        "questions in percent, with Wilson's 95 % intervals. All trials were trained once, with one seed. Those whose "
        "interval reaches that of the best one were trained at full length too, and the best of these was chosen; if "
        "the best one stood alone, it was. Seconds are of training and measuring the trial. AdaCos has normalised "
        "features and embeddings, cross-entropy has neither."
    )
    return "\n".join([about, "", f"Command: `python -m papers {table.name} --scale {scale}`.", "", *found]) + "\n"
