"""The picture of a table of bugs: what each model has right under each kind of names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.metrics import wilson_interval
from hf_symbinv.plotting.figures import LINES
from papers.code.columns import ADVERSARIAL, MINIFIED, RANDOM, USUAL
from papers.harness.experiments import Findings, Setting
from papers.harness.pictures import finish

NAMINGS = (USUAL, RANDOM, MINIFIED, ADVERSARIAL)


def draw_namings(found: Sequence[tuple[Setting, Findings]], folder: Path, name: str) -> None:
    """The share of right functions under each kind of names, over all seeds, with Wilson's 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.subplots()
    labels = list(dict.fromkeys(row.labels[-1] for row, _ in found))
    for at, (label, (colour, dashes, marker)) in enumerate(zip(labels, LINES, strict=False)):
        contents = [content for row, content in found if row.labels[-1] == label]
        shares, bars = [], list[tuple[float, float]]()
        for naming in NAMINGS:
            right = sum(content[naming.heading]["correct"] for content in contents)
            count = sum(content[naming.heading]["count"] for content in contents)
            low, high = wilson_interval(right, count)
            shares.append(100 * right / count)
            bars.append((100 * (right / count - low), 100 * (high - right / count)))
        places = [place + 0.07 * (at - (len(labels) - 1) / 2) for place in range(len(NAMINGS))]
        style: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4}
        sides = tuple(zip(*bars, strict=True))
        axes.errorbar(places, shares, sides, linewidth=1.1, elinewidth=0.9, capsize=2, label=label, **style)
    axes.set_xticks(range(len(NAMINGS)), [naming.heading for naming in NAMINGS])
    axes.set_xlabel("names of variables", fontsize=9)
    axes.set_ylabel("functions that are right, %", fontsize=9)
    axes.set_ylim(bottom=0)
    finish(figure, axes, folder, name)
