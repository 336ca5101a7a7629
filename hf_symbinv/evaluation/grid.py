"""Accuracy or edit distance over (number of symbols) × (size of the question), as a value and as tables.

`Grid` holds the counts of one model on one data set; an evaluation's JSON has it, `symbinv plot heatmap` draws it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from hf_symbinv.errors import UserError
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, wilson_interval

QUESTIONS = ("formula", "string", "question")
# Our choice: as many columns as a page of text holds.
COLUMNS = 10
TOTALS = {"accuracy": "correct", "edit_distance": "total_distance"}
SQUARES = "total_squared_distance"


class GridError(UserError):
    """Counts that contradict each other, or that no heatmap can show."""


class Box(NamedTuple):
    """The largest number of symbols and the largest size in training."""

    symbols: int
    size: int


@dataclass(frozen=True, slots=True)
class Cell:
    """The questions with one number of symbols and one size.

    Attributes:
        symbols: Distinct symbols in the question.
        size: Tokens of the question.
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
    """A mean over samples.

    Attributes:
        value: Share of correct answers, or edit distance; nan if there is no sample.
        low, high: Wilson's 95 % interval of the share, the normal one of the mean edit distance; nan for edit distances
            whose squares are not known, or of which there is only one.
        count: Samples.
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
            Smaller formulas and strings are impossible.
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
        _require(self.metric in tuple(TOTALS), f"metric={self.metric!r}: unknown; use one of {', '.join(TOTALS)}")
        _require(
            self.questions in QUESTIONS, f"questions={self.questions!r}: unknown; use one of {', '.join(QUESTIONS)}"
        )
        _require(bool(self.cells), f"{self.model}: no cells; evaluate the model on at least one question")
        seen = set()
        for cell in self.cells:
            self._check(cell)
            key = cell.symbols, cell.size
            _require(key not in seen, f"{_where(cell)}: listed twice; add the two counts up")
            seen.add(key)
        _require(
            any(cell.count for cell in self.cells),
            f"{self.model}: all {len(self.cells)} cells are empty; evaluate the model on at least one question",
        )
        box = self.training_box
        _require(
            box is None or (_is_count(box.symbols) and _is_count(box.size) and box.size > 0),
            f"training_box={box}: needs symbols of at least 0 and a size of at least 1, both integers",
        )

    def _check(self, cell: Cell) -> None:
        for name in ("symbols", "size", "count"):
            value = getattr(cell, name)
            _require(_is_count(value), f"{_where(cell)}: {name}={value!r} must be an integer of at least 0")
        total, most = cell.total, cell.count if self.metric == "accuracy" else math.inf
        _require(
            isinstance(total, (int, float)) and 0 <= total <= most and (cell.count > 0 or total == 0),
            f"{_where(cell)}: {TOTALS[self.metric]}={total!r} does not fit count={cell.count}",
        )
        squares = cell.squares
        _require(
            squares is None
            or (
                self.metric == "edit_distance"
                and isinstance(squares, (int, float))
                # At least those of equal distances, but for rounding.
                and total**2 / max(cell.count, 1) * (1 - 1e-9) <= squares < math.inf
            ),
            f"{_where(cell)}: {SQUARES}={squares!r} does not fit {TOTALS[self.metric]}={total!r}, count={cell.count}",
        )
        _require(
            cell.count == 0 or self.is_possible(cell.symbols, cell.size),
            f"{_where(cell)}: no {self.questions} of {cell.size} tokens has {cell.symbols} symbols; "
            'check the counts, or the field "questions"',
        )

    def is_possible(self, symbols: int, size: int) -> bool:
        """Whether a question of this size can have so many distinct symbols."""
        smallest = {"formula": max(2 * symbols - 1, 1), "string": symbols, "question": 0}
        return smallest[self.questions] <= size

    @classmethod
    def count(cls, samples: Iterable[tuple[int, int, float]], **fields: Any) -> Grid:
        """The grid of single answers.

        Args:
            samples: Symbols and size of each question, and 1 for a correct answer, 0 for another, or the edit distance.
            fields: The fields of the grid but for `cells`.
        """
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
        _require(isinstance(content, dict), f"{type(content).__name__}: no grid; give a JSON object")
        known = {"model", "data", "training_box", "metric", "questions", "cells"}
        for name in ("model", "data", "cells"):
            _require(name in content, f"{name!r} is missing; a grid has {', '.join(sorted(known))}")
        for name in content:
            _require(name in known, f"{name!r}: unknown; a grid has {', '.join(sorted(known))}")
        metric = content.get("metric", "accuracy")
        _require(metric in tuple(TOTALS), f"metric={metric!r}: unknown; use one of {', '.join(TOTALS)}")
        _require(isinstance(content["cells"], list), "cells: must be a list of objects")
        cells = tuple(_cell(cell, metric) for cell in content["cells"])
        box = content.get("training_box")
        return cls(
            model=str(content["model"]),
            data=str(content["data"]),
            cells=cells,
            metric=metric,
            questions=content.get("questions", "formula"),
            training_box=None if box is None else Box(*_fields(box, ("symbols", "size"))),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        box = self.training_box
        return {
            "model": self.model,
            "data": self.data,
            "training_box": None if box is None else box._asdict(),
            "metric": self.metric,
            "questions": self.questions,
            "cells": [
                {
                    "symbols": cell.symbols,
                    "size": cell.size,
                    "count": cell.count,
                    TOTALS[self.metric]: cell.total,
                    **({} if cell.squares is None else {SQUARES: cell.squares}),
                }
                for cell in self.cells
            ],
        }

    def mean(self, inside: bool | None = None) -> Mean:
        """The mean over all samples, or over those inside or outside the training box.

        Raises:
            GridError: If `inside` is given and the training box is not known.
        """
        if inside is None:
            return self._mean(self.cells)
        box = self.training_box
        if box is None:
            raise GridError(f'{self.model}: inside and outside of what? add a "training_box"')
        return self._mean([c for c in self.cells if (c.symbols <= box.symbols and c.size <= box.size) == inside])

    def _mean(self, cells: Sequence[Cell]) -> Mean:
        return mean_of(cells, self.metric)

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
                texts.append(self._text(self._mean([c for c in own if c.size in span])) if possible else ".")
            rows.append([str(symbols), *texts, self._text(self._mean(own))])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        if markdown:
            lines = ["| " + " | ".join(row) + " |" for row in rows]
            lines.insert(1, "|" + "---:|" * len(rows[0]))
        return "\n".join(["\n".join(self.headline()), "", *lines] if markdown else [*self.headline(), *lines])

    def headline(self) -> list[str]:
        """What the grid shows, and its means: all samples, and inside and outside the training box."""
        what = "correct answers in %" if self.metric == "accuracy" else "mean edit distance"
        lines = [f"{self.model} on {self.data}: {what} by number of symbols and {self.questions} length"]
        means = [("all", self.mean())]
        if self.training_box is not None:
            means += [("in training box", self.mean(inside=True)), ("outside", self.mean(inside=False))]
        return [*lines, "; ".join(f"{name} {self.describe(mean)}" for name, mean in means)]

    def describe(self, mean: Mean) -> str:
        """A mean with its interval and the number of samples."""
        if mean.count == 0:
            return "no samples"
        if self.metric == "accuracy":
            return f"{100 * mean.value:.1f} % ({100 * mean.low:.1f} - {100 * mean.high:.1f}) of {mean.count:,}"
        interval = "" if math.isnan(mean.low) else f" ({mean.low:.2f} - {mean.high:.2f})"
        return f"{mean.value:.2f}{interval} of {mean.count:,}"

    def _text(self, mean: Mean) -> str:
        if mean.count == 0:
            return "-"
        return f"{100 * mean.value:.0f}" if self.metric == "accuracy" else f"{mean.value:.2f}"

    def csv(self) -> str:
        """One line per cell: symbols, size, count, mean, and the 95 % interval as far as it is known."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["model", "data", "metric", "symbols", "size", "count", "mean", "low", "high"])
        for cell in sorted(self.cells, key=lambda cell: (cell.symbols, cell.size)):
            mean = self._mean([cell])
            numbers = mean.value, mean.low, mean.high
            texts = ["" if math.isnan(number) else f"{number:.6g}" for number in numbers]
            writer.writerow([self.model, self.data, self.metric, cell.symbols, cell.size, cell.count, *texts])
        return out.getvalue()


def mean_of(cells: Iterable[Cell], metric: str) -> Mean:
    """The mean over the samples of all cells, with its 95 % interval.

    The normal interval of a mean m of n edit distances is m ± 1.96 s / sqrt(n), s² = (sum of squares - n m²) / (n - 1).

    Args:
        cells: Of one grid or of several.
        metric: Of the grids.
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


def _where(cell: Cell) -> str:
    return f"cell symbols={cell.symbols!r}, size={cell.size!r}"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _cell(content: Any, metric: str) -> Cell:
    names = ["symbols", "size", "count", TOTALS[metric]]
    if metric == "edit_distance" and isinstance(content, dict) and SQUARES in content:
        names.append(SQUARES)
    return Cell(*_fields(content, names))


def _fields(content: Any, names: Sequence[str]) -> Iterator[Any]:
    """The values of exactly these names."""
    _require(
        isinstance(content, dict) and set(content) == set(names),
        f"{content!r}: must be an object with {', '.join(names)}",
    )
    return (content[name] for name in names)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise GridError(message)


__all__ = ["Box", "Cell", "Grid", "GridError", "Mean", "mean_of", "region_of"]
