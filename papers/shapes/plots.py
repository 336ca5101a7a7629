"""Pictures of the shapes: right answers by the number of symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.metrics import wilson_interval
from hf_symbinv.plotting.figures import LINES
from papers.harness.experiments import Findings, Setting
from papers.harness.pictures import finish
from papers.shapes.columns import BY_SYMBOLS


def draw_by_symbols(found: Sequence[tuple[Setting, Findings]], folder: Path, name: str) -> None:
    """The share of right answers by the number of symbols, over all seeds, with Wilson's 95 % intervals."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    labels = dict.fromkeys(row.labels[-1] for row, _ in found)
    for label, (colour, dashes, marker) in zip(labels, LINES, strict=False):
        right, asked = Counter[int](), Counter[int]()
        for row, content in found:
            if row.labels[-1] == label:
                for symbols, solved, count in content[BY_SYMBOLS.heading]["symbols"]:
                    right[symbols] += solved
                    asked[symbols] += count
        places = sorted(asked)
        intervals = [wilson_interval(right[symbols], asked[symbols]) for symbols in places]
        low, high = ([100 * side for side in sides] for sides in zip(*intervals, strict=True))
        style: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4}
        shares = [100 * right[symbols] / asked[symbols] for symbols in places]
        axes.plot(places, shares, linewidth=1.3, label=label, **style)
        axes.fill_between(places, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set_xlabel("symbols of the question", fontsize=9)
    axes.set_ylabel("right, %", fontsize=9)
    axes.set_ylim(-3, 103)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(figure, axes, folder, name)
