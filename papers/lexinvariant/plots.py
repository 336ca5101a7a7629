"""Pictures of the lexinvariant experiments: perplexity by place, and the matrices of a cipher's key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hf_symbinv.plotting.figures import LINES, save_picture
from papers.harness.experiments import Findings, Setting
from papers.lexinvariant.measures import CURVE, MATRICES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg")
LEARNED = "learned embeddings"  # the model that the others are compared with
Results = Sequence[tuple[Setting, Findings]]


def moving_average(values: Sequence[float], window: int) -> list[float]:
    """Means of the `window` values from each place on, as far as there are so many."""
    return [float(value) for value in np.convolve(values, np.full(window, 1 / window), mode="valid")]


def curves(found: Results) -> dict[tuple[str, ...], list[float]]:
    """The perplexity by place of each row that has one, the geometric mean over seeds, by the row's labels."""
    rows: dict[tuple[str, ...], list[list[float]]] = {}
    for row, content in found:
        if CURVE.heading in content:
            rows.setdefault(row.labels, []).append(content[CURVE.heading]["losses"])
    return {labels: [float(value) for value in np.exp(np.mean(losses, axis=0))] for labels, losses in rows.items()}


def _finish(axes: Axes, title: str, y: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("place in the sequence", fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.88", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_markov(found: Results, folder: Path) -> None:
    """Perplexity by place of all models, of the language itself and of the best lexinvariant predictor."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.4), layout="constrained")
    axes = figure.subplots()
    for place, (labels, values) in enumerate(curves(found).items()):
        colour, dashes, marker = LINES[place % len(LINES)]
        axes.plot(
            range(1, len(values) + 1), values, color=colour, linestyle=dashes, marker=marker, markersize=4,
            markevery=max(len(values) // 8, 1), linewidth=1.3, label=labels[0],
        )  # fmt: skip
    _finish(axes, "", "perplexity")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False, handlelength=3.5)
    for suffix in FORMATS:
        save_picture(figure, folder / f"lexinv-markov.{suffix}")


def draw_text(found: Results, folder: Path) -> None:
    """Perplexity by place, a panel per corpus, and in a last one what it is as a multiple of the learned model's.

    Corpora whose learned model is not there have no multiples. Perplexities over more than two powers of ten get a
    logarithmic axis.
    """
    from matplotlib.figure import Figure

    lines = curves(found)
    corpora, models = (list(dict.fromkeys(labels[column] for labels in lines)) for column in (0, 1))
    styles = dict(zip(models, LINES, strict=False))
    figure = Figure(figsize=(4.2 * (len(corpora) + 1), 4.2), layout="constrained")
    *panels, ratio = figure.subplots(1, len(corpora) + 1)
    for (corpus, model), values in lines.items():
        colour, dashes, marker = styles[model]
        style = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4, "linewidth": 1.3,
                 "markevery": max(len(values) // 8, 1)}  # fmt: skip
        first = corpus == corpora[0]
        named = next(where for where, other in lines if other == model) == corpus
        panels[corpora.index(corpus)].plot(values, label=model if named else None, **style)
        if model != LEARNED and (corpus, LEARNED) in lines:
            multiple = np.divide(values, lines[corpus, LEARNED])
            ratio.plot(multiple, alpha=1.0 if first else 0.45, **style)
    for corpus, axes in zip(corpora, panels, strict=True):
        _finish(axes, corpus, "perplexity")
        shown = np.concatenate([line for labels, line in lines.items() if labels[0] == corpus])
        if shown.max() > 100 * shown.min():
            axes.set_yscale("log")
    faint = "".join(f", {corpus} (faint)" for corpus in corpora[1:])
    title = f"{corpora[0]} (strong){faint}" if faint else corpora[0]
    _finish(ratio, title, f"multiple of {LEARNED}")
    figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False, handlelength=3.5)
    for suffix in FORMATS:
        save_picture(figure, folder / f"lexinv-text.{suffix}")


def draw_cipher(found: Results, folder: Path) -> None:
    """Matrices of the key, one row of panels per row of the table: first the key, then what each window says."""
    from matplotlib.figure import Figure

    shown = {row.labels: content[MATRICES.heading] for row, content in reversed(found)}  # of several seeds, the first
    rows = [(labels, shown[labels]) for labels in dict.fromkeys(row.labels for row, _ in found)]
    windows = max(len(content["windows"]) for _, content in rows)
    figure = Figure(figsize=(2.1 * (windows + 1), 2.3 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), windows + 1, squeeze=False)
    for (labels, content), line in zip(rows, panels, strict=True):
        titles = ["key", *(f"from {start}" for start in content["starts"])]
        for axes, title, matrix in zip(line, titles, [content["key"], *content["windows"]], strict=True):
            axes.imshow(np.asarray(matrix), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
            axes.set_title(title, fontsize=8)
            axes.set_xticks([])
            axes.set_yticks([])
        line[0].set_ylabel("\n".join(labels), fontsize=7)
    figure.supxlabel("plain symbols", fontsize=8)
    figure.supylabel("cipher symbols", fontsize=8)
    for suffix in FORMATS:
        save_picture(figure, folder / f"lexinv-cipher.{suffix}")
