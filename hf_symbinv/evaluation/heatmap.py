"""Accuracy or edit distance over (number of symbols) × (size of the question): as tables, and as a picture.

`Grid` holds the counts of one model on one data set; an evaluation's JSON has it, and `symbinv plot heatmap` reads it.
The picture is ITE Figures 2, 3 and 8 and SIT Figure 2, made to be read without colour too: the lightness of a cell
grows with the quality of the answers, and how much of the cell is filled with the number of samples, all of it at 100
(at the largest number, if all cells have fewer). The papers show that number as brightness, which leaves the quality to
colour alone: on black and white paper a good cell with few samples would look like a bad cell with many.
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hf_symbinv.evaluation.pictures import PictureError, save_picture
from hf_symbinv.metrics.intervals import NORMAL_QUANTILE, wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Samples that fill a cell: ITE Figure 3.
FULL = 100
QUESTIONS = ("formula", "string", "question")
# Our choice: as many columns as a page of text holds.
COLUMNS = 10
TOTALS = {"accuracy": "correct", "edit_distance": "total_distance"}
SQUARES = "total_squared_distance"
DASHES = (0, (4, 2.5))
# Our choice: between the grid and its frame, as a share of the width; twice that of the height, which is half as long.
MARGIN = 0.01


class GridError(PictureError):
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


def save_heatmaps(grids: Sequence[Grid], path: str | Path, *, lowest: float = 0.0) -> None:
    """Write the picture of one or several grids side by side, with one y axis and one colour bar.

    Args:
        grids: At least one, all of one metric and one kind of questions.
        path: Ends in .png, .svg or .pdf.
        lowest: Accuracy at the dark end of the colours; what is below is shown like it.

    Raises:
        PictureError: For no grids, different metrics or questions, a `lowest` outside [0, 1), or another suffix.
        ImportError: If matplotlib is not installed.
    """
    save_picture(draw_heatmaps(grids, lowest=lowest), Path(path))


def draw_heatmaps(grids: Sequence[Grid], *, lowest: float = 0.0) -> Figure:
    """The picture of `save_heatmaps`, to change or to put into a notebook."""
    _require(bool(grids), "no grids; give at least one")
    first = grids[0]
    for grid in grids[1:]:
        for name in ("metric", "questions"):
            one, other = getattr(first, name), getattr(grid, name)
            _require(
                one == other,
                f"{name}: {first.model} has {one}, {grid.model} has {other}; side by side they must be the same",
            )
    _require(0 <= lowest < 1, f"lowest={lowest}: must be an accuracy in [0, 1)")
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    if first.metric == "accuracy":
        norm, colours = Normalize(lowest, 1.0), colormaps["viridis"]
    else:  # light is good here too
        worst = max(cell.total / cell.count for grid in grids for cell in grid.cells if cell.count)
        norm, colours = Normalize(0.0, max(worst, 1.0)), colormaps["viridis_r"]
    symbols, sizes = _axis(grids, "symbols"), _axis(grids, "size")
    full = min(FULL, max(cell.count for grid in grids for cell in grid.cells))
    panel = 5.6 if len(grids) == 1 else 3.5
    figure = Figure(figsize=(panel * len(grids) + 1.2, 3.4), layout="constrained")
    panels = figure.subplots(1, len(grids), sharex=True, sharey=True, squeeze=False)[0]
    for axes, grid in zip(panels, grids, strict=True):
        _draw_panel(axes, grid, symbols, sizes, full, ScalarMappable(norm, colours))
        axes.set_xlabel(f"{grid.questions} length", fontsize=9)
        axes.set_title(_title(grid, 44 if len(grids) == 1 else 27), fontsize=9, parse_math=False)
    panels[0].set_ylabel("number of symbols", fontsize=9)
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=list(panels), aspect=18, pad=0.015, extend="min" if lowest > 0 else "neither"
    )
    bar.set_label("share of correct answers" if first.metric == "accuracy" else "mean edit distance", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    _add_legend(figure, grids, full)
    return figure


def _axis(grids: Sequence[Grid], name: str) -> range:
    """The values along an axis: from the smallest to the largest of all grids, in the steps they are apart."""
    values = sorted({getattr(cell, name) for grid in grids for cell in grid.cells})
    step = math.gcd(*(high - low for low, high in pairwise(values))) or 1
    return range(values[0], values[-1] + 1, step)


def _corners(points: Sequence[tuple[int, int, float]], width: float, height: float) -> list[list[tuple[float, float]]]:
    """Corners of a rectangle around each (x, y), whose sides are `scale` of a cell's."""
    corners = []
    for x, y, scale in points:
        dx, dy = scale * width / 2, scale * height / 2
        corners.append([(x - dx, y - dy), (x + dx, y - dy), (x + dx, y + dy), (x - dx, y + dy)])
    return corners


def _draw_panel(axes: Axes, grid: Grid, symbols: range, sizes: range, full: int, colours: Any) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    width, height = sizes.step, symbols.step
    filled = [cell for cell in grid.cells if cell.count]
    sampled = {(cell.symbols, cell.size) for cell in filled}
    # Neighbouring full cells must not show a seam, and small ones must be seen on white.
    for cells, edge in (
        ([c for c in filled if c.count >= full], {"linewidths": 0, "antialiaseds": False}),
        ([c for c in filled if c.count < full], {"linewidths": 0.3, "edgecolors": "0.25"}),
    ):
        points = [(cell.size, cell.symbols, math.sqrt(min(cell.count / full, 1))) for cell in cells]
        faces = colours.to_rgba([cell.total / cell.count for cell in cells])
        axes.add_collection(PolyCollection(_corners(points, width, height), facecolors=faces, **edge))
    others = [(x, y) for y in symbols for x in sizes if (y, x) not in sampled]
    for hatch, possible in (("//////", True), ("......", False)):
        places = [(x, y, 1.0) for x, y in others if grid.is_possible(y, x) == possible]
        axes.add_collection(PolyCollection(_corners(places, width, height), **_blank(hatch)))
    left, bottom = sizes[0] - width / 2, symbols[0] - height / 2
    # Without a margin the edges of a training box that ends where the grid does would lie below the frame.
    free_x, free_y = MARGIN * width * len(sizes), 2 * MARGIN * height * len(symbols)
    axes.set_xlim(left - free_x, sizes[-1] + width / 2 + free_x)
    axes.set_ylim(bottom - free_y, symbols[-1] + height / 2 + free_y)
    if grid.training_box is not None:
        right, top = grid.training_box.size + width / 2, grid.training_box.symbols + height / 2
        # A white line below makes the dashes visible on dark and on light.
        for colour, line, dashes in (("white", 2.6, "solid"), ("black", 1.2, DASHES)):
            box = Rectangle((left, bottom), right - left, top - bottom, fill=False)
            box.set(edgecolor=colour, linewidth=line, linestyle=dashes, zorder=3)
            axes.add_patch(box)
    axes.set_xticks(_ticks(sizes, 6))
    axes.set_yticks(_ticks(symbols, 11 if len(symbols) <= 11 else 7))
    axes.tick_params(labelsize=8)
    axes.label_outer()


def _ticks(values: range, most: int) -> list[float]:
    """Whole numbers at round places between the first and the last value."""
    from matplotlib.ticker import MaxNLocator

    places = MaxNLocator(most, integer=True, min_n_ticks=1).tick_values(values[0], values[-1])
    return [float(place) for place in places if values[0] <= place <= values[-1]]


def _blank(hatch: str) -> dict[str, Any]:
    return {"facecolors": "white", "edgecolors": "0.45", "hatch": hatch, "linewidths": 0}


def _title(grid: Grid, width: int) -> str:
    name = grid.model if len(grid.model) <= 2 * width else grid.model[: 2 * width - 1] + "…"
    mean = grid.mean()
    if grid.metric == "accuracy":
        number = f"{100 * mean.value:.1f} % correct ({100 * mean.low:.1f} – {100 * mean.high:.1f})"
    else:
        number = f"mean edit distance {mean.value:.2f}"
    return "\n".join([*textwrap.wrap(name, width)[:2], number])


def _add_legend(figure: Figure, grids: Sequence[Grid], full: int) -> None:
    """Below the panels: what the filled part of a cell, the hatches and the dashed box mean, as far as they occur."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def filled(count: int, label: str) -> Line2D:
        side = 9 * math.sqrt(count / full)
        return Line2D([], [], marker="s", linestyle="none", color="0.35", markersize=side, label=label)

    counts = {cell.count for grid in grids for cell in grid.cells if cell.count}
    parts = [part for part in (full // 10, full // 2) if 0 < part < full] if min(counts) < full else []
    handles: list[Any] = [filled(part, str(part)) for part in parts]
    handles.append(filled(full, f"{full}{' or more' if max(counts) > full else ''} samples"))
    blank: dict[str, Any] = {"facecolor": "white", "edgecolor": "0.45", "linewidth": 0.4}
    cells = [(g, s, n) for g in grids for s in _axis(grids, "symbols") for n in _axis(grids, "size")]
    sampled = {(id(grid), cell.symbols, cell.size) for grid in grids for cell in grid.cells if cell.count}
    rest = [grid.is_possible(s, n) for grid, s, n in cells if (id(grid), s, n) not in sampled]
    if any(rest):
        handles.append(Patch(hatch="//////", label="no samples", **blank))
    if not all(rest):
        handles.append(Patch(hatch="......", label="impossible", **blank))
    if any(grid.training_box for grid in grids):
        handles.append(Line2D([], [], color="black", linewidth=1.2, linestyle=DASHES, label="training range"))
    style: dict[str, Any] = {
        "ncols": len(handles),
        "fontsize": 8,
        "frameon": False,
        "handletextpad": 0.5,
        "columnspacing": 1.2,
    }
    figure.legend(handles=handles, loc="outside lower center", **style)


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


__all__ = ["Box", "Cell", "Grid", "GridError", "Mean", "draw_heatmaps", "mean_of", "region_of", "save_heatmaps"]
