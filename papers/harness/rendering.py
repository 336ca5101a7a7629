"""A table of the papers that was made again: our numbers beside the papers', and how they were made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from papers.harness.experiments import Experiment, Setting
from papers.harness.measures import Measure
from papers.harness.numbers import Number
from papers.harness.provenance import line, summary, total_seconds
from papers.harness.tables import Row, Table


@dataclass(frozen=True)
class Made:
    """A row with our numbers by measure, and records of what was done for it, as `provenance.summary` takes them."""

    row: Row | Setting
    numbers: Mapping[Measure, Number | None]
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
                "numbers": {measure.heading: number and asdict(number) for measure, number in made.numbers.items()},
                "paper": {measure.heading: number for measure, number in made.row.paper.items()},
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
        measures, cited = self._measures(), {measure for made in self.rows for measure in made.row.paper}
        counts = {measure: self._counts(measure) for measure in measures}
        every = sorted(set().union(*counts.values()))
        heads = list(self.table.heads)
        for measure in measures:
            heads.append(_head(measure, counts[measure], shown=len(every) > 1))
            if measure in cited:
                heads.append("paper")
        lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for made in self.rows:
            cells = list(made.row.labels)
            for measure in measures:
                number = made.numbers.get(measure)
                text = _text(measure, number, counted=len(counts[measure]) > 1)
                mixed = self._units == {False, True} and _has_unit(measure, number)
                cells.append(f"{text} †" if mixed and number and number.trainings == 1 else text)
                if measure in cited:
                    cells.append(f"{made.row.paper[measure]:g}" if measure in made.row.paper else "")
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(["\n\n".join(self._paragraphs(every)), "", *lines, "", line(self.made)]) + "\n"

    def _paragraphs(self, counts: Sequence[int]) -> Iterator[str]:
        """What stands above the table.

        Args:
            counts: The different numbers of samples behind its numbers.
        """
        yield f"{self.table.title} ({self.table.source}), scale {self.scale}{self._trained()}: {self.about}"
        samples = "; n samples behind a number" if counts else ""
        if len(counts) == 1:
            samples = f"; {counts[0]:,} samples behind each number"
        yield f"{self.unit}{samples}; seeds {', '.join(map(str, self.seeds))}."
        if notes := [*self._intervals(), *self.notes]:
            yield " ".join(notes)
        command = f"python -m papers {self.table.name} --scale {self.scale}"
        if len(self.seeds) > 1:
            command += f" --seeds {len(self.seeds)}"
        yield f"Command: `{command}`."
        if self.missing:
            yield f"Missing: {'; '.join(self.missing)}. Repeat the command to go on."

    def _trained(self) -> str:
        """What stands beside the title of a table whose rows have one training each."""
        return ", one training" if self.table.trains and len(self.seeds) == 1 else ""

    @property
    def _units(self) -> set[bool]:
        """Whether the intervals of the numbers have the training as their unit, of several trainings; else nothing."""
        numbers = [(measure, number) for made in self.rows for measure, number in made.numbers.items()]
        return {number.trainings > 1 for measure, number in numbers if number and _has_unit(measure, number)}

    def _intervals(self) -> Iterator[str]:
        """What the intervals are of, where there are several trainings."""
        if len(self.seeds) < 2 or not self.table.trains or not self._units:
            return
        pooled = "of the samples of all trainings together, taken as independent"
        if True not in self._units:
            yield f"Intervals are {pooled}."
            return
        yield (
            "Intervals have the training as their unit: they are Student's, or the interval over the samples of one "
            "training if that is wider."
        )
        if False in self._units:
            yield f"Those marked with † are {pooled}."

    def _measures(self) -> list[Measure]:
        """The measures of which there is a number, in the table's order; of the paper's alone not at scale smoke."""
        found = {measure for made in self.rows for measure, number in made.numbers.items() if number is not None}
        if self.scale != "smoke":
            found |= {measure for made in self.rows for measure in made.row.paper}
        order: list[Measure] = [*self.table.measures]
        for made in self.rows:
            order += [measure for measure in made.numbers if measure not in order]
        return [measure for measure in order if measure in found]

    def _counts(self, measure: Measure) -> set[int]:
        """The different numbers of samples behind a measure's numbers; a single value has none."""
        numbers = [made.numbers.get(measure) for made in self.rows]
        return {number.count for number in numbers if number is not None and number.count > 1}


def _head(measure: Measure, counts: set[int], *, shown: bool) -> str:
    """The head of a column, with the samples behind its numbers if they are to be `shown` and the same for all."""
    if shown and len(counts) == 1:
        [count] = counts
        return f"{measure.heading} (n {count:,})"
    return measure.heading


def _has_unit(measure: Measure, number: Number | None) -> bool:
    """Whether a number is printed with an interval."""
    return number is not None and not measure.whole and number.low is not None and number.high is not None


def _text(measure: Measure, number: Number | None, *, counted: bool) -> str:
    """Our number with its interval, and with its samples if it is `counted`."""
    if number is None:
        return ""
    if measure.whole:
        return f"{number.value:,.0f}"
    samples = f", n {number.count:,}" if counted and number.count > 1 else ""
    if number.low is None or number.high is None:
        return (f"{number.value:.2f}" if abs(number.value) >= 1 else f"{number.value:.2g}") + samples
    places = 2 if abs(number.value) < 10 else 1
    return f"{number.value:z.{places}f} ({number.low:z.{places}f} - {number.high:z.{places}f}){samples}"
