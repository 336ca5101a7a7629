"""Searches on validation data: a row is trained as the best of its trials, and all trials stand in a log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically
from papers.harness.measures import TRIED
from papers.harness.provenance import total_seconds
from papers.harness.tables import Row, Table, Training
from papers.harness.workspace import Workspace

# What trials of a search differ in beside the learning rate.
_SEARCHED = ("loss", "dropout", "random_dim")


def chosen(place: Workspace, row: Row, seed: int) -> Training:
    """How a row's model is trained: as the best trial of its search on validation data, but at full length.

    Raises:
        OutOfTimeError: If there was no time to finish the search; the next call goes on.
    """
    if not row.search:
        return row.training
    tried = {trial: place.found(trial, seed, TRIED.measurement)["correct"] for trial in row.search}
    return replace(max(tried, key=tried.__getitem__), trial=False)


def write_search(place: Workspace, table: Table, seed: int, folder: Path) -> None:
    """The log of a table's searches: each trial that is finished, and which of them was chosen."""
    lines = []
    for row in place.scale.rows_of(table):
        tried = [trial for trial in row.search if place.result(trial, seed, TRIED.measurement).exists()]
        best = chosen(place, row, seed) if len(tried) == len(row.search) else None
        for trial in tried:
            recipe, box = place.scale.recipe(trial, seed), place.scale.box(trial.task)
            number = TRIED.number([place.found(trial, seed, TRIED.measurement)], box)
            assert number is not None, "a search has validation questions"
            records = place.records(trial, (seed,), [TRIED.measurement])
            lines.append(
                {
                    **dict(zip(table.heads, row.labels, strict=True)),
                    "learning_rate": recipe.trainer["learning_rate"],
                    **{name: recipe.model[name] for name in _SEARCHED if name in recipe.model},
                    "steps": recipe.trainer["max_steps"],
                    "seconds": round(sum(total_seconds([*same.values()]) for same in records.values())),
                    TRIED.heading: asdict(number),
                    "chosen": best == replace(trial, trial=False),
                }
            )
    write_atomically(folder / f"{table.name}-search.json", json.dumps(lines, indent=2) + "\n")
    write_atomically(folder / f"{table.name}-search.md", _log(table, place.scale.name, lines))


def _log(table: Table, scale: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """A search's log as Markdown."""
    heads = [*table.heads, "learning rate", "loss", "dropout", "random width", "steps", "seconds", TRIED.heading, ""]
    found = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for line in lines:
        number = line[TRIED.heading]
        cells = [*(line[head] for head in table.heads), line["learning_rate"], line["loss"], line["dropout"]]
        cells += [line.get("random_dim", ""), line["steps"], line["seconds"]]
        cells += ["{value:.1f} ({low:.1f} - {high:.1f})".format(**number), "chosen" if line["chosen"] else ""]
        found.append(f"| {' | '.join(map(str, cells))} |")
    count = lines[0][TRIED.heading]["count"] if lines else 0
    about = (
        f"Every trial of the search for `{table.name}`, scale {scale}: correct answers to {count:,} validation "
        "questions in percent, with Wilson's 95 % intervals. All trials were trained once, with one seed. Seconds are "
        "of training and measuring. AdaCos has normalised features and embeddings, cross-entropy has neither."
    )
    return "\n".join([about, "", f"Command: `python -m papers {table.name} --scale {scale}`.", "", *found]) + "\n"
