"""The picture of the Renamer experiments: what models predict for the renamings of one block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_symbinv.plotting.figures import LINES, save_picture
from papers.harness.experiments import Findings, Setting
from papers.harness.measures import Named

# Renamer, figure 1(a): what llvm-mca says of the block.
FIGURE_1_CYCLES = 1.68
PREDICTIONS = Named("predictions")  # drawn, and no column


def draw_predictions(found: Sequence[tuple[Setting, Findings]], folder: Path) -> None:
    """One line of marks per model, a mark per renaming, in `renamer-figure2.png` and `.svg`.

    Args:
        found: Rows and their results, with `predictions` in cycles; several seeds of a row lie on one line.
        folder: For the files.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row.labels[0] for row, _ in found))
    figure = Figure(figsize=(6.4, 0.6 * len(names) + 1.2), layout="constrained")
    axes = figure.subplots()
    for row, content in found:
        place = names.index(row.labels[0])
        predictions = content[PREDICTIONS.heading]["values"]
        axes.plot(
            predictions, [place] * len(predictions), linestyle="none", marker="|", markersize=16,
            color=LINES[place % len(LINES)][0], alpha=0.6,
        )  # fmt: skip
    axes.axvline(FIGURE_1_CYCLES, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate("llvm-mca", (FIGURE_1_CYCLES, -0.7), (4, 0), textcoords="offset points", fontsize=8, color="0.3")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.95)
    axes.set_xlabel("predicted cycles of each renaming of one block", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(axis="x", color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    for suffix in ("png", "svg"):
        save_picture(figure, folder / f"renamer-figure2.{suffix}")
