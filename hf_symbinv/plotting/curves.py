"""Shares by number of symbols, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hf_symbinv.plotting.figures import LINES, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name, and its points (symbols, share, low, high) by rising number of symbols."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]


def draw_by_symbols(series: Sequence[Series], up: str) -> Figure:
    """What `up` says by number of symbols (right), a line for each of the series, with 95 % intervals."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for place, line in enumerate(series):
        colour, dashes, marker = LINES[place % len(LINES)]
        x, y, low, high = (list(column) for column in zip(*line.points, strict=True))
        below = [value - bound for value, bound in zip(y, low, strict=True)]
        above = [bound - value for value, bound in zip(y, high, strict=True)]
        axes.errorbar(
            x, y, yerr=[below, above], color=colour, linestyle=dashes, marker=marker, markersize=5, linewidth=1.4,
            elinewidth=0.8, capsize=2.5, label=short(line.name),
        )  # fmt: skip
    axes.set_ylim(-0.03, 1.05)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("number of symbols", fontsize=9)
    axes.set_ylabel(up, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    legend = figure.legend(
        loc="outside lower center", ncols=min(len(series), 2), fontsize=8, frameon=False, handlelength=3.5
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure
