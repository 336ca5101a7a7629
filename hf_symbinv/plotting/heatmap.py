"""Heat maps of grids: accuracy or edit distance over (number of symbols) × (size of the question).

The picture is ITE Figures 2, 3 and 8 and SIT Figure 2, made to be read without colour too: the lightness of a cell
grows with the quality of the answers, and how much of the cell is filled with the number of samples, all of it at 100
(at the largest number, if all cells have fewer). The papers show that number as brightness, which leaves the quality to
colour alone: on black and white paper a good cell with few samples would look like a bad cell with many.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_symbinv.evaluation.grid import Grid
from hf_symbinv.plotting.figures import PictureError, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Samples that fill a cell: ITE Figure 3.
FULL = 100
DASHES = (0, (4, 2.5))
# Our choice: panels side by side, at most; the heat maps of SIT Figure 2 are as many.
LINE = 5
# Our choice: between the grid and its frame, as a share of the width; twice that of the height, which is half as long.
MARGIN = 0.01


def save_heatmaps(grids: Sequence[Grid], path: str | Path) -> None:
    """Write the picture of grids of one metric and kind of questions, at most five side by side, as .png, .svg or .pdf.

    Raises:
        PictureError: For no grids, different metrics or questions, or another suffix.
    """
    save_picture(draw_heatmaps(grids), Path(path))


def draw_heatmaps(grids: Sequence[Grid]) -> Figure:
    """The picture of `save_heatmaps`, to change or to put into a notebook."""
    if not grids:
        raise PictureError("no grids; give at least one")
    first = grids[0]
    for grid in grids[1:]:
        for name in ("metric", "questions"):
            one, other = getattr(first, name), getattr(grid, name)
            if one != other:
                raise PictureError(
                    f"{name}: {first.model} has {one}, {grid.model} has {other}; side by side they must be the same"
                )
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    if first.metric == "accuracy":
        norm, colours = Normalize(0.0, 1.0), colormaps["viridis"]
    else:  # light is good here too
        worst = max(cell.total / cell.count for grid in grids for cell in grid.cells if cell.count)
        norm, colours = Normalize(0.0, max(worst, 1.0)), colormaps["viridis_r"]
    symbols, sizes = _axis(grids, "symbols"), _axis(grids, "size")
    full = min(FULL, max(cell.count for grid in grids for cell in grid.cells))
    panel = 5.6 if len(grids) == 1 else 3.5
    lines = math.ceil(len(grids) / LINE)
    columns = math.ceil(len(grids) / lines)
    figure = Figure(figsize=(panel * columns + 1.2, 3.4 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for place, axes in enumerate(panels.flat):
        if place >= len(grids):
            axes.remove()
            continue
        grid = grids[place]
        _draw_panel(axes, grid, symbols, sizes, full, ScalarMappable(norm, colours))
        axes.set_title(_title(grid, 44 if len(grids) == 1 else 27), fontsize=9, parse_math=False)
        if place + columns >= len(grids):
            axes.set_xlabel(f"{grid.questions} length", fontsize=9)
            axes.tick_params(labelbottom=True)
        if place % columns == 0:
            axes.set_ylabel("number of symbols", fontsize=9)
    bar = figure.colorbar(ScalarMappable(norm, colours), ax=figure.axes, aspect=18 * lines, pad=0.015)
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
        corners = _corners(places, width, height)
        axes.add_collection(PolyCollection(corners, facecolors="white", edgecolors="0.45", hatch=hatch, linewidths=0))
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


def _title(grid: Grid, width: int) -> str:
    name = grid.model if len(grid.model) <= 2 * width else grid.model[: 2 * width - 1] + "…"
    mean = grid.means()["all"]
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
    handles.append(filled(full, f"{full}{' or more' if max(counts) > full else ''} sample{'s' * (max(counts) > 1)}"))
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
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False,
        handletextpad=0.5, columnspacing=1.2,
    )  # fmt: skip


__all__ = ["draw_heatmaps", "save_heatmaps"]
