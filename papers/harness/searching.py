"""Searches on validation data: a row is trained as the best of its trials, and all trials stand in a log.

Those whose interval reaches that of the best trial remain. A search goes on until none of them would do better with the
next lower or higher learning rate. Trials are short, and what learns fast at first need not be the best in the end. So
those that remain are trained at full length too, and the best of them is the row's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically
from papers.harness.measures import TRIED
from papers.harness.numbers import Number
from papers.harness.provenance import total_seconds
from papers.harness.tables import Row, Table, Training
from papers.harness.workspace import Workspace

# Our choice: the learning rates of searches.
RATES = (2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2)
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
    while waiting := next_trials(place, row, seed):
        for trial in waiting:
            place.found(trial, seed, TRIED.measurement)
    return [replace(trial, trial=False) for trial in _not_told_from_the_best(_finished(place, row, seed))]


def next_trials(place: Workspace, row: Row, seed: int) -> list[Training]:
    """The trials that a row's search needs next; none once it is finished."""
    numbers = _finished(place, row, seed)
    return [trial for trial in row.search if trial not in numbers] or _further(numbers)


def _finished(place: Workspace, row: Row, seed: int) -> dict[Training, Number]:
    """The trials of a row's search that are finished, with what each of them has."""
    numbers, wanted = dict[Training, Number](), list(row.search)
    while there := [trial for trial in wanted if _is_there(place, trial, seed)]:
        numbers |= {trial: _number(place, trial, seed) for trial in there}
        wanted = _further(numbers) if len(there) == len(wanted) else []
    return numbers


def _further(numbers: Mapping[Training, Number]) -> list[Training]:
    """The next lower and higher learning rate of those not told from the best trial, where theirs beats the others."""
    found = dict[Training, None]()
    for trial in _not_told_from_the_best(numbers):
        others = [one for one in numbers if replace(one, learning_rate=trial.learning_rate) == trial]
        if trial.learning_rate in RATES and trial == max(others, key=lambda one: numbers[one].value):
            place = RATES.index(trial.learning_rate)
            beside = [replace(trial, learning_rate=rate) for rate in RATES[max(0, place - 1) : place + 2]]
            found |= {one: None for one in beside if one not in numbers}
    return [*found]


def _not_told_from_the_best(numbers: Mapping[Training, Number]) -> list[Training]:
    """The trials whose interval reaches that of the best one."""
    lowest = max((number.low or 0.0 for number in numbers.values()), default=0.0)
    return [trial for trial, number in numbers.items() if (number.high or 0.0) >= lowest]


def _is_there(place: Workspace, training: Training, seed: int) -> bool:
    """Whether it has answered the validation questions."""
    return place.result(training, seed, TRIED.measurement).exists()


def _number(place: Workspace, training: Training, seed: int) -> Number:
    """Correct answers to validation questions."""
    number = TRIED.number([place.found(training, seed, TRIED.measurement)], place.scale.box(training.task))
    assert number is not None, "a search has validation questions"
    return number


def write_search(place: Workspace, table: Table, seed: int, folder: Path) -> None:
    """The log of a table's searches: each trial that is finished, and which of them was chosen."""
    lines = []
    for row in place.scale.rows_of(table):
        last = finalists(place, row, seed) if row.search and not next_trials(place, row, seed) else []
        full = {one: _number(place, one, seed) for one in last if _is_there(place, one, seed)}
        best = chosen(place, row, seed) if len(last) == 1 or (last and len(full) == len(last)) else None
        for trial, number in _finished(place, row, seed).items():
            recipe, final = place.scale.recipe(trial, seed), replace(trial, trial=False)
            records = place.records(trial, (seed,), [TRIED.measurement])
            lines.append(
                {
                    **dict(zip(table.heads, row.labels, strict=True)),
                    "learning_rate": recipe.trainer["learning_rate"],
                    **{name: recipe.model[name] for name in _SEARCHED if name in recipe.model},
                    "steps": recipe.trainer["max_steps"],
                    "seconds": round(sum(total_seconds([*same.values()]) for same in records.values())),
                    TRIED.heading: asdict(number),
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
        "interval reaches that of the best one remain; rates below and above theirs were tried until none did better. "
        "Trials that remain were trained at full length too, and the best was chosen; one that stood alone was. "
        "Seconds are of training and measuring the trial. AdaCos has normalised features and embeddings, "
        "cross-entropy has neither."
    )
    return "\n".join([about, "", f"Command: `python -m papers {table.name} --scale {scale}`.", "", *found]) + "\n"
