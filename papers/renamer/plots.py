"""The pictures of the Renamer experiments: predictions for the renamings of one block, and epochs to reach an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from hf_symbinv.plotting.figures import LINES, save_picture
from papers.harness.experiments import Findings, Setting
from papers.harness.measures import Named

# Renamer, figure 1(a): what llvm-mca says of the block.
FIGURE_1_CYCLES = 1.68
# Drawn, and no columns: predictions in cycles; epochs at which a model was measured, and its validation errors there.
PREDICTIONS, EPOCHS, ERRORS = Named("predictions"), Named("epochs"), Named("validation errors")


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


def draw_efficiency(name: str) -> Callable[[Sequence[tuple[Setting, Findings]], Path], None]:
    """What draws the epochs that each model needs to reach an error, a panel for each first label, into `NAME.png`.

    Of several seeds of a row the first is drawn. Source: Renamer, figure 3, which has errors on the test set.
    """

    def draw(found: Sequence[tuple[Setting, Findings]], folder: Path) -> None:
        from matplotlib.figure import Figure

        first = {row.labels: content for row, content in reversed(found) if EPOCHS.heading in content}
        panels, models = (list(dict.fromkeys(row.labels[place] for row, _ in found)) for place in (0, -1))
        figure = Figure(figsize=(4.4 * len(panels), 4.0), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            for model, (color, dashes, marker) in zip(models, LINES, strict=False):
                if (panel, model) not in first:
                    continue
                epochs, errors = (first[panel, model][measure.heading]["values"] for measure in (EPOCHS, ERRORS))
                best = [place for place, error in enumerate(errors) if error < min(errors[:place], default=math.inf)]
                axes.plot(
                    [100 * errors[place] for place in best], [epochs[place] for place in best], color=color,
                    linestyle=dashes, marker=marker, markersize=3.5, linewidth=1.3,
                    label=model if panel == panels[0] else None,
                )  # fmt: skip
            axes.set(title=panel, xlabel="validation MAPE, %", ylabel="epochs to reach it", xscale="log")
            for ticks in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
                ticks("{x:g}")
            axes.tick_params(which="both", labelsize=7)
            axes.grid(color="0.88", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False, handlelength=3.5)
        for suffix in ("png", "svg"):
            save_picture(figure, folder / f"{name}.{suffix}")

    return draw
