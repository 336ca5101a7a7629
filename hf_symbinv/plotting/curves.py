"""Alpha-covariance by number of symbols, as a picture and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hf_symbinv.evaluation.grid import aligned
from hf_symbinv.metrics.intervals import mean_interval
from hf_symbinv.plotting.figures import LINES, PictureError, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[float, float, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name, and its points (x, y, low, high) by rising x; bounds are None where no interval is known."""

    name: str
    points: tuple[Point, ...]


def alpha_covariance_series(evaluations: Sequence[Mapping[str, Any]]) -> list[Series]:
    """The alpha-covariance of evaluations by number of symbols, with 95 % intervals of the means.

    Raises:
        PictureError: If there are none, or one has no alpha-covariance by number of symbols.
    """
    if not evaluations:
        raise PictureError("no evaluations; give at least one file")
    models = [str(evaluation.get("model")) for evaluation in evaluations]
    found = []
    for model, evaluation in zip(models, evaluations, strict=True):
        by_symbols = (evaluation.get("alpha_covariance") or {}).get("by_symbols")
        if not by_symbols:
            raise PictureError(
                f"{model}: has no alpha-covariance by number of symbols; measure it with `symbinv evaluate "
                "--alpha-covariance N --output FILE`"
            )
        name = model if models.count(model) == 1 else f"{model} on {evaluation.get('data')}"
        found.append(Series(name, tuple(_mean(name, part) for part in by_symbols)))
    return found


def _mean(name: str, part: Mapping[str, Any]) -> Point:
    mean, values = part["alpha_covariance"], part.get("values", [])
    if not all(0 <= value <= 1 for value in (mean, *values)) or (values and abs(fmean(values) - mean) > 1e-6):
        raise PictureError(
            f"{name}: its alpha-covariance of {part['symbols']} symbols, {mean}, is not the mean of values from 0 to "
            "1; measure it again with `symbinv evaluate --alpha-covariance N --output FILE`"
        )
    low, high = mean_interval(values) or (None, None)
    return part["symbols"], mean, low, high


def alpha_covariance_table(series: Sequence[Series]) -> str:
    """One line per model, one column per number of symbols: the mean, with its interval where one is known."""
    columns = sorted({point[0] for line in series for point in line.points})
    rows = [["symbols", *(f"{column:g}" for column in columns)]]
    for line in series:
        values = {x: _with_interval(y, low, high) for x, y, low, high in line.points}
        rows.append([line.name, *(values.get(column, "-") for column in columns)])
    return aligned(rows)


def _with_interval(mean: float, low: float | None, high: float | None) -> str:
    return f"{mean:.3f}" if low is None else f"{mean:.3f} ({low:.3f} - {high:.3f})"


def draw_alpha_covariance(series: Sequence[Series], up: str = "alpha-covariance") -> Figure:
    """Alpha-covariance, or what `up` says, by number of symbols (right), a line per model, with 95 % intervals."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for place, line in enumerate(series):
        colour, dashes, marker = LINES[place % len(LINES)]
        x, y, low, high = (list(column) for column in zip(*line.points, strict=True))
        below = [0.0 if bound is None else value - bound for value, bound in zip(y, low, strict=True)]
        above = [0.0 if bound is None else bound - value for value, bound in zip(y, high, strict=True)]
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
