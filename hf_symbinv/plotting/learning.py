"""The learning curve of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hf_symbinv.plotting.figures import save_picture


def save_learning_curve(record: Mapping[str, Any], folder: str | Path) -> str:
    """Draws losses by step, and beside them the share of verified answers, as `learning.png` in the folder of a run.

    A run that was not evaluated while it trained has the losses alone.

    Args:
        record: What `train` returned, of a run that is finished.
        folder: Of the run.

    Returns:
        A sentence that says where the picture is, or why there is none.
    """
    curves = {key: _curve(record["log"], key) for key in ("loss", "eval_loss", "eval_accuracy")}
    if not curves["loss"]:
        return "no picture of its learning curve: the run logged no loss; trainer.logging_steps says how often it does"
    if find_spec("matplotlib") is None:
        return "no picture of its learning curve: that needs matplotlib, which the extra plot brings"
    from matplotlib.figure import Figure

    shares = [(step, 100 * share) for step, share in curves["eval_accuracy"]]
    figure = Figure(figsize=(8.4 if shares else 4.2, 3.6), layout="constrained")
    panels = figure.subplots(1, 2 if shares else 1, sharex=True, squeeze=False)[0]
    loss = panels[0]
    for key, label, style in (("loss", "training", "-"), ("eval_loss", "validation", "o")):
        if curves[key]:
            loss.plot(*zip(*curves[key], strict=True), style, color="black", markerfacecolor="white", label=label)
    loss.set_ylim(0, None)
    loss.legend(fontsize=8, frameon=False)
    if shares:
        panels[1].plot(*zip(*shares, strict=True), "o-", color="black", markerfacecolor="white")
        panels[1].set_ylim(-3, 103)
    for axes, name in zip(panels, ("loss", "right answers to validation questions (%)"), strict=False):
        axes.set_xlabel("step", fontsize=9)
        axes.set_ylabel(name, fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(color="0.88", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, picture := Path(folder) / "learning.png")
    return f"{picture} is its learning curve"


def _curve(log: Sequence[Mapping[str, Any]], key: str) -> list[tuple[int, float]]:
    return sorted({entry["step"]: float(entry[key]) for entry in log if key in entry}.items())
