"""A table of the papers that was made again: our numbers beside the papers', and how they were made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from hf_symbinv.evaluation.grid import Mean
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, wilson_interval
from papers.harness.experiments import Experiment, Setting
from papers.harness.provenance import line, summary, total_seconds
from papers.streams.tables import Row, Table


@dataclass(frozen=True)
class Number:
    """A measured number: in percent if it is a share or an alpha-covariance.

    Attributes:
        value: The number.
        low, high: Its 95 % interval: Wilson's for shares, the normal one for means; of milliseconds the smallest and
            the largest. None where there is none.
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
        """A mean of values between 0 and 1, in percent; without an interval if there is only one."""
        number = cls.average([100 * value for value in values])
        if number.low is None or number.high is None:
            return number
        return cls(number.value, max(number.low, 0.0), min(number.high, 100.0), number.count)

    @classmethod
    def average(cls, values: Sequence[float]) -> Number:
        """A mean of values of any size; without an interval if there is only one."""
        middle = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(middle)
        spread = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
        side = NORMAL_QUANTILE * spread / math.sqrt(len(values))
        return cls(middle, middle - side, middle + side, len(values))

    @classmethod
    def perplexity(cls, losses: Sequence[float]) -> Number:
        """exp of the mean of losses in nats, the geometric mean of perplexities, and exp of its interval."""
        mean = cls.average(losses)
        low, high = (None if side is None else math.exp(side) for side in (mean.low, mean.high))
        return cls(math.exp(mean.value), low, high, mean.count)

    @classmethod
    def of_cells(cls, mean: Mean, factor: float) -> Number | None:
        """A mean over cells of a grid, times `factor`; None if they have no samples."""
        if mean.count == 0:
            return None
        if math.isnan(mean.low):
            return cls(factor * mean.value, count=mean.count)
        return cls(factor * mean.value, factor * mean.low, factor * mean.high, mean.count)


@dataclass(frozen=True)
class Made:
    """A row with our numbers by measure, and records of what was done for it, as `provenance.summary` takes them."""

    row: Row | Setting
    numbers: Mapping[str, Number | None]
    records: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def seconds(self) -> dict[str, float]:
        """Of each kind of work, as far as all of it is known."""
        known = {kind: [*same.values()] for kind, same in self.records.items() if same}
        return {kind: total_seconds(same) for kind, same in known.items() if all("seconds" in one for one in same)}


@dataclass(frozen=True)
class Reproduction:
    """A table with our numbers; `missing` says what the time of a call was too short for.

    Attributes:
        table: What is made again.
        scale, about: How large, by its name and in a sentence.
        unit: What its numbers and their intervals are.
        seeds: Of the trainings.
        rows: Our numbers.
        missing: The rows that are not finished.
        notes: What else a reader must know: sentences.
    """

    table: Table | Experiment
    scale: str
    about: str
    unit: str
    seeds: tuple[int, ...]
    rows: tuple[Made, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        rows = [
            {
                "labels": list(made.row.labels),
                "training": made.row.name,
                "numbers": {name: number and asdict(number) for name, number in made.numbers.items()},
                "paper": made.row.paper,
                "seconds": made.seconds(),
            }
            for made in self.rows
        ]
        return {
            "table": self.table.name, "scale": self.scale, "seeds": list(self.seeds), "unit": self.unit,
            "notes": list(self.notes), "rows": rows, "missing": list(self.missing), "made": self.made,
        }  # fmt: skip

    @cached_property
    def made(self) -> dict[str, Any]:
        """How it was made, as `provenance.summary` says it; what several rows share counts once."""
        records: dict[str, dict[str, Mapping[str, Any]]] = {}
        for made in self.rows:
            for kind, same in made.records.items():
                records.setdefault(kind, {}).update(same)
        return summary({kind: [*same.values()] for kind, same in records.items()})

    def markdown(self) -> str:
        """The table as Markdown, each number with its interval, and the paper's in the column after it."""
        table, measures = self.table, self._measures()
        cited = {name for made in self.rows for name in made.row.paper}
        counts = {name: self._counts(name) for name in measures}
        every = sorted(set().union(*counts.values()))
        heads = list(table.heads)
        for name in measures:
            same = [f" (n {count:,})" for count in counts[name]] if len(every) > 1 else []
            heads += [name + (same[0] if len(same) == 1 else ""), *["paper"] * (name in cited)]
        lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for made in self.rows:
            cells = list(made.row.labels)
            for name in measures:
                cells.append(_text(name, made.numbers.get(name), counted=len(counts[name]) > 1))
                cells += [f"{made.row.paper[name]:g}" if name in made.row.paper else ""] * (name in cited)
            lines.append(f"| {' | '.join(cells)} |")
        samples = f"; {every[0]:,} samples behind each number" if len(every) == 1 else "; n samples behind a number"
        notes = [
            f"{table.title} ({table.source}), scale {self.scale}: {self.about}",
            f"{self.unit}{samples * bool(every)}; seeds {', '.join(map(str, self.seeds))}.",
            *([" ".join(self.notes)] * bool(self.notes)),
            f"Command: `python -m papers {table.name} --scale {self.scale}"
            + (f" --seeds {len(self.seeds)}`." if len(self.seeds) > 1 else "`."),
        ]
        if self.missing:
            notes.append(f"Missing: {'; '.join(self.missing)}. Repeat the command to go on.")
        return "\n".join(["\n\n".join(notes), "", *lines, "", line(self.made)]) + "\n"

    def _measures(self) -> list[str]:
        """The measures of which there is a number, ours or the paper's; those of ours come in the table's order."""
        found = {name for made in self.rows for name, number in made.numbers.items() if number is not None}
        found |= {name for made in self.rows for name in made.row.paper}
        order = list(dict.fromkeys([*self.table.measures, *(name for made in self.rows for name in made.numbers)]))
        return [name for name in order if name in found]

    def _counts(self, name: str) -> set[int]:
        """The different numbers of samples behind a measure's numbers; a single value has none."""
        numbers = [made.numbers.get(name) for made in self.rows]
        return {number.count for number in numbers if number is not None and number.count > 1}


def _text(name: str, number: Number | None, counted: bool) -> str:
    """Our number with its interval, and with its samples if it is `counted`."""
    if number is None:
        return ""
    if name == "parameters":
        return f"{number.value:,.0f}"
    samples = f", n {number.count:,}" * (counted and number.count > 1)
    if number.low is None or number.high is None:
        return (f"{number.value:.2f}" if abs(number.value) >= 1 else f"{number.value:.2g}") + samples
    places = 2 if abs(number.value) < 10 else 1
    return f"{number.value:.{places}f} ({number.low:.{places}f} - {number.high:.{places}f}){samples}"
