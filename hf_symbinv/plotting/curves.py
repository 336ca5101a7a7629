"""Pictures of curves, and their tables: training by step, and alpha-covariance by number of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hf_symbinv.files import read_object
from hf_symbinv.metrics.intervals import mean_interval
from hf_symbinv.plotting.figures import LINES, PictureError, aligned, save_picture, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NO_LOG = "give a run's folder or a trainer_state.json"
# Our choice: markers along a line.
MARKERS = 12

Point = tuple[float, float, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name, and what it goes through.

    Attributes:
        name: Of the model or run.
        points: (x, y, low, high) by rising x; `low` and `high` are None where no interval is known.
    """

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """The training of one run.

    Attributes:
        name: Of the run's folder.
        loss, validation_loss, verified: (step, value) by rising step; `verified` is the share of correct answers.
    """

    name: str
    loss: tuple[tuple[int, float], ...]
    validation_loss: tuple[tuple[int, float], ...]
    verified: tuple[tuple[int, float], ...]


def alpha_covariance_series(evaluations: Sequence[Mapping[str, Any]]) -> list[Series]:
    """The alpha-covariance of evaluations by number of symbols, with 95 % intervals of the means.

    Args:
        evaluations: As `symbinv evaluate --alpha-covariance` writes them.

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


def read_curves(path: Path) -> Curves:
    """The log of a run.

    Args:
        path: A run's folder, its `run.json`, or the `trainer_state.json` of any Trainer.

    Raises:
        PictureError: If it holds no log.
        OSError: If it cannot be read.
    """
    file = path
    if path.is_dir():
        states = sorted(path.glob("checkpoint-*/trainer_state.json"), key=lambda state: state.stat().st_mtime)
        known = [path / "run.json", path / "trainer_state.json", *reversed(states)]
        file = next((candidate for candidate in known if candidate.is_file()), path / "run.json")
    try:
        content = read_object(file, NO_LOG, PictureError)
        log = content["log"] if "log" in content else content["log_history"]
        entries = [entry for entry in log if isinstance(entry.get("step"), int)]
        found = [_curve(entries, key) for key in ("loss", "eval_loss", "eval_accuracy")]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"{file}: holds no log of training; {NO_LOG}") from error
    folder = file.parent.parent if file.parent.name.startswith("checkpoint-") else file.parent
    curves = Curves(folder.resolve().name, *found)
    if not curves.loss and not curves.validation_loss:
        raise PictureError(f"{file}: its log holds no loss; train with logging_steps set")
    return curves


def _curve(entries: Sequence[Mapping[str, Any]], key: str) -> tuple[tuple[int, float], ...]:
    return tuple(sorted({entry["step"]: float(entry[key]) for entry in entries if key in entry}.items()))


def curves_table(runs: Sequence[Curves]) -> str:
    """One line per run: its steps, its last losses and its last and best share of verified answers."""
    rows = [["run", "steps", "training loss", "validation loss", "verified", "best"]]
    for run in runs:
        steps = max(step for curve in (run.loss, run.validation_loss) for step, _ in curve)
        shares = [share for _, share in run.verified]
        last = [f"{curve[-1][1]:.4f}" if curve else "-" for curve in (run.loss, run.validation_loss)]
        best = [f"{100 * shares[-1]:.1f} %", f"{100 * max(shares):.1f} %"] if shares else ["-", "-"]
        rows.append([run.name, f"{steps:,}", *last, *best])
    return aligned(rows)


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
    _finish(axes, "number of symbols", up)
    _add_legend(figure, axes.get_legend_handles_labels()[0])
    return figure


def draw_curves(runs: Sequence[Curves]) -> Figure:
    """Losses of runs by step and, where it was measured, the share of verified answers beside them."""
    if not runs:
        raise PictureError("no runs; give at least one folder")
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    shares = any(run.verified for run in runs)
    figure = Figure(figsize=(8.4 if shares else 5.2, 3.6), layout="constrained")
    panels = figure.subplots(1, 2 if shares else 1, squeeze=False, sharex=True)[0]
    for place, run in enumerate(runs):
        colour, dashes, marker = LINES[place % len(LINES)]
        style = {"color": colour, "linestyle": dashes}
        _plot(panels[0], run.loss, linewidth=1.0, **style)
        markers = {"marker": marker, "markersize": 5.5, "markerfacecolor": "white"}
        _plot(panels[0], run.validation_loss, **{**style, "linestyle": "none"}, **markers)
        if shares:
            points = [(step, 100 * share) for step, share in run.verified]
            _plot(panels[1], points, linewidth=1.4, **style, **markers)
    if all(value > 0 for run in runs for _, value in (*run.loss, *run.validation_loss)):
        panels[0].set_yscale("log")
        _plain_ticks(panels[0])
    _finish(panels[0], "step", "loss")
    if any(run.validation_loss for run in runs):
        meaning = [
            Line2D([], [], color="0.3", linewidth=1.0, label="training"),
            Line2D([], [], color="0.3", linestyle="none", marker="o", markerfacecolor="white", label="validation"),
        ]
        panels[0].legend(handles=meaning, fontsize=8, frameon=False, loc="upper right")
    if shares:
        panels[1].set_ylim(-3, 105)
        _finish(panels[1], "step", "validation answers verified (%)")
    handles = []
    for place, run in enumerate(runs):
        colour, dashes, marker = LINES[place % len(LINES)]
        shape: dict[str, Any] = {"marker": marker} if run.validation_loss or run.verified else {}
        shape |= {"color": colour, "linestyle": dashes, "markersize": 5.5, "markerfacecolor": "white"}
        handles.append(Line2D([], [], label=short(run.name), **shape))
    _add_legend(figure, handles)
    return figure


def save_learning_curve(folder: str | Path) -> str:
    """Draws the losses and the share of verified answers of a finished run into its folder, as `learning.png`.

    Returns:
        A sentence that says where the picture is, or why there is none.
    """
    if find_spec("matplotlib") is None:
        return "no picture of its learning curve: that needs matplotlib, which the extra plot brings"
    try:
        save_picture(draw_curves([read_curves(Path(folder))]), picture := Path(folder) / "learning.png")
    except PictureError as error:
        return f"no picture of its learning curve: {error}"
    return f"{picture} is its learning curve"


def _plot(axes: Axes, points: Sequence[tuple[float, float]], **style: Any) -> None:
    if points:
        x, y = zip(*points, strict=True)
        axes.plot(x, y, markevery=max(len(points) // MARKERS, 1), **style)


def _plain_ticks(axes: Axes) -> None:
    """0.2 instead of 2·10⁻¹, also between the powers of ten, where losses of a run often all lie."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def _finish(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _add_legend(figure: Figure, handles: Sequence[Any]) -> None:
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=min(len(handles), 2), fontsize=8, frameon=False,
        handlelength=3.5,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
