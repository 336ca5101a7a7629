"""Accuracy or edit distance over (number of symbols) × (size of the question), as a value and as tables.

`Grid` holds the counts of one model on one data set; an evaluation's JSON has it, `symbinv plot heatmap` draws it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from typing_extensions import TypedDict

from hf_symbinv.errors import UserError
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, wilson_interval
from hf_symbinv.values import require_kinds

# Our choice: as many columns as a page of text holds.
COLUMNS = 10
# Metric -> the field of a cell's total.
TOTALS = {"accuracy": "correct", "edit_distance": "total_distance"}
SQUARES = "total_squared_distance"
REMEDY = "give a grid as `symbinv plot --help` shows it"


class GridError(UserError):
    """Counts that contradict each other, or that no heatmap can show."""


class Box(NamedTuple):
    """The largest number of symbols and the largest size in training."""

    symbols: int
    size: int


class _Place(TypedDict):
    symbols: int
    size: int


class _Samples(_Place):
    count: int


class _CellContent(_Samples, total=False):
    correct: float
    total_distance: float
    total_squared_distance: float | None


class _Required(TypedDict):
    model: str
    data: str
    cells: list[_CellContent]


class _GridContent(_Required, total=False):
    training_box: _Place | None
    metric: Literal["accuracy", "edit_distance"]
    questions: Literal["formula", "string", "question"]


@dataclass(frozen=True, slots=True)
class Cell:
    """The questions with one number of symbols and one size, in tokens.

    Attributes:
        symbols, size: Of the questions.
        count: Samples; 0 for a cell that was asked for and stayed empty.
        total: Correct answers, or the sum of the edit distances.
        squares: The sum of the squared edit distances, which intervals need; None if it is not known.
    """

    symbols: int
    size: int
    count: int
    total: float
    squares: float | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over samples, and how many they are.

    Attributes:
        value: Share of correct answers, or edit distance; nan if there is no sample.
        low, high: Wilson's 95 % interval of the share, the normal one of the mean edit distance; nan for edit distances
            whose squares are not known, or of which there is only one.
    """

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Grid:
    """How one model did on one data set, cell by cell.

    Attributes:
        model, data: Names, for titles.
        cells: At least one sample in all; no two cells with the same symbols and size.
        metric: `accuracy`, or `edit_distance` between answer and reference.
        questions: `formula`, whose operators have at most two operands, so that k symbols take 2k - 1 tokens at least;
            `string`, where k symbols take k tokens at least; or `question`, whose size is not its number of tokens.
        training_box: What the model was trained on; None if it is not known.

    Raises:
        GridError: For counts that contradict each other.
    """

    model: str
    data: str
    cells: tuple[Cell, ...]
    metric: Literal["accuracy", "edit_distance"] = "accuracy"
    questions: Literal["formula", "string", "question"] = "formula"
    training_box: Box | None = None

    def __post_init__(self) -> None:
        if not any(cell.count for cell in self.cells):
            raise GridError(
                f"{self.model}: all {len(self.cells)} cells are empty; evaluate it on at least one question"
            )
        seen = set()
        for cell in self.cells:
            place = cell.symbols, cell.size
            if reason := self._contradiction(cell) or ("listed twice; add the two counts up" if place in seen else ""):
                raise GridError(f"cell symbols={cell.symbols}, size={cell.size}: {reason}")
            seen.add(place)

    def _contradiction(self, cell: Cell) -> str:
        """What is wrong with the numbers of a cell."""
        if min(cell.symbols, cell.size, cell.count) < 0:
            return f"count={cell.count}: no number may be below 0"
        most = cell.count if self.metric == "accuracy" else math.inf if cell.count else 0
        if not 0 <= cell.total <= most:
            return f"{TOTALS[self.metric]}={cell.total} does not fit count={cell.count}"
        # At least those of equal distances, but for rounding.
        least = cell.total**2 / max(cell.count, 1) * (1 - 1e-9)
        if cell.squares is not None and not (self.metric == "edit_distance" and least <= cell.squares < math.inf):
            return f"{SQUARES}={cell.squares} does not fit {TOTALS[self.metric]}={cell.total}, count={cell.count}"
        if cell.count and not self.is_possible(cell.symbols, cell.size):
            return (
                f"no {self.questions} of {cell.size} tokens has {cell.symbols} symbols; check the counts, or the field "
                '"questions"'
            )
        return ""

    def is_possible(self, symbols: int, size: int) -> bool:
        """Whether a question of this size can have so many distinct symbols."""
        smallest = {"formula": max(2 * symbols - 1, 1), "string": symbols, "question": 0}
        return smallest[self.questions] <= size

    @classmethod
    def count(cls, samples: Iterable[tuple[int, int, float]], **fields: Any) -> Grid:
        """The grid of single answers: symbols and size of each question, and 1 for a correct answer, 0 for another, or
        the edit distance; and of the other fields."""
        values: dict[tuple[int, int], list[float]] = {}
        for symbols, size, value in samples:
            values.setdefault((symbols, size), []).append(value)
        squared = fields.get("metric") == "edit_distance"
        cells = [
            Cell(*key, len(found), sum(found), sum(value**2 for value in found) if squared else None)
            for key, found in sorted(values.items())
        ]
        return cls(cells=tuple(cells), **fields)

    @classmethod
    def from_dict(cls, content: Any) -> Grid:
        """Read what `to_dict` wrote.

        Raises:
            GridError: If it is something else, or contradicts itself.
        """
        require_kinds(content, _GridContent, "grid", REMEDY, GridError)
        metric, box = content.get("metric", "accuracy"), content.get("training_box")
        cells = []
        for cell in content["cells"]:
            if TOTALS[metric] not in cell:
                raise GridError(f"cell {cell}: has no {TOTALS[metric]}; {REMEDY}")
            cells.append(Cell(cell["symbols"], cell["size"], cell["count"], cell[TOTALS[metric]], cell.get(SQUARES)))
        return cls(
            model=content["model"],
            data=content["data"],
            cells=tuple(cells),
            metric=metric,
            questions=content.get("questions", "formula"),
            training_box=None if box is None else Box(box["symbols"], box["size"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        cells = [
            {
                "symbols": cell.symbols,
                "size": cell.size,
                "count": cell.count,
                TOTALS[self.metric]: cell.total,
                **({} if cell.squares is None else {SQUARES: cell.squares}),
            }
            for cell in self.cells
        ]
        return {
            "model": self.model,
            "data": self.data,
            "training_box": None if self.training_box is None else self.training_box._asdict(),
            "metric": self.metric,
            "questions": self.questions,
            "cells": cells,
        }

    def means(self) -> dict[str, Mean]:
        """The mean over all samples and, if the training box is known, over those `in training box` and `outside`."""
        found = {"all": mean_of(self.cells, self.metric)}
        if self.training_box is not None:
            box = self.training_box
            inside = [cell for cell in self.cells if region_of(cell, box) == "in the box"]
            found["in training box"] = mean_of(inside, self.metric)
            found["outside"] = mean_of([cell for cell in self.cells if cell not in inside], self.metric)
        return found

    def table(self, markdown: bool = False) -> str:
        """Means by number of symbols and range of sizes, as text of at most `COLUMNS` ranges, or as Markdown.

        A dot stands for what is impossible, a dash for what has no samples.
        """
        sizes = [cell.size for cell in self.cells]
        step = -(-(max(sizes) - min(sizes) + 1) // COLUMNS)
        starts = range(min(sizes), max(sizes) + 1, step)
        spans = [range(start, min(start + step, max(sizes) + 1)) for start in starts]
        rows = [["symbols", *(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans), "all"]]
        for symbols in sorted({cell.symbols for cell in self.cells}):
            own = [cell for cell in self.cells if cell.symbols == symbols]
            texts = []
            for span in spans:
                possible = any(self.is_possible(symbols, size) for size in span)
                texts.append(self._text([cell for cell in own if cell.size in span]) if possible else ".")
            rows.append([str(symbols), *texts, self._text(own)])
        if not markdown:
            return "\n".join([*self.headline(), aligned(rows)])
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|" + "---:|" * len(rows[0]))
        return "\n".join([*self.headline(), "", *lines])

    def headline(self) -> list[str]:
        """What the grid shows, and its means."""
        what = "correct answers in %" if self.metric == "accuracy" else "mean edit distance"
        head = f"{self.model} on {self.data}: {what} by number of symbols and {self.questions} length"
        return [head, "; ".join(f"{name} {self.describe(mean)}" for name, mean in self.means().items())]

    def describe(self, mean: Mean) -> str:
        """A mean with its interval and the number of samples."""
        if mean.count == 0:
            return "no samples"
        if self.metric == "accuracy":
            return f"{100 * mean.value:.1f} % ({100 * mean.low:.1f} - {100 * mean.high:.1f}) of {mean.count:,}"
        interval = "" if math.isnan(mean.low) else f" ({mean.low:.2f} - {mean.high:.2f})"
        return f"{mean.value:.2f}{interval} of {mean.count:,}"

    def _text(self, cells: Sequence[Cell]) -> str:
        mean = mean_of(cells, self.metric)
        if mean.count == 0:
            return "-"
        return f"{100 * mean.value:.0f}" if self.metric == "accuracy" else f"{mean.value:.2f}"


def tables_csv(grids: Iterable[Grid]) -> str:
    """One line per cell: symbols, size, count, mean, and the 95 % interval as far as it is known."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "data", "metric", "symbols", "size", "count", "mean", "low", "high"])
    for grid in grids:
        for cell in sorted(grid.cells, key=lambda cell: (cell.symbols, cell.size)):
            mean = mean_of([cell], grid.metric)
            numbers = mean.value, mean.low, mean.high
            texts = ["" if math.isnan(number) else f"{number:.6g}" for number in numbers]
            writer.writerow([grid.model, grid.data, grid.metric, cell.symbols, cell.size, cell.count, *texts])
    return out.getvalue()


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines of text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


def mean_of(cells: Iterable[Cell], metric: str) -> Mean:
    """The mean over the samples of all cells, of one grid or of several, with its 95 % interval.

    The normal interval of a mean m of n edit distances is m ± 1.96 s / sqrt(n), s² = (sum of squares - n m²) / (n - 1).
    """
    filled = [cell for cell in cells if cell.count]
    count, total = sum(cell.count for cell in filled), sum(cell.total for cell in filled)
    if count == 0:
        return Mean(math.nan, math.nan, math.nan, 0)
    value = total / count
    if metric == "accuracy":
        return Mean(value, *wilson_interval(int(total), count), count)
    known = [cell.squares for cell in filled if cell.squares is not None]
    if len(known) < len(filled) or count == 1:
        return Mean(value, math.nan, math.nan, count)
    side = NORMAL_QUANTILE * math.sqrt(max(sum(known) - count * value**2, 0.0) / (count - 1) / count)
    return Mean(value, max(value - side, 0.0), value + side, count)


def region_of(cell: Cell, box: Box) -> Literal["in the box", "more symbols", "longer"]:
    """Where a cell lies: in the training box, beyond its number of symbols, or only beyond its size."""
    if cell.symbols > box.symbols:
        return "more symbols"
    return "longer" if cell.size > box.size else "in the box"


__all__ = ["Box", "Cell", "Grid", "GridError", "Mean", "aligned", "mean_of", "region_of", "tables_csv"]
