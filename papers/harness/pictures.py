"""What the pictures of tables share: how a figure ends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hf_symbinv.plotting.figures import save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def finish(figure: Figure, plots: Axes | Iterable[Axes], folder: Path, name: str) -> None:
    """Gives a figure of one or several plots their grids and a legend, and writes it as PNG and SVG."""
    for axes in plots if isinstance(plots, Iterable) else (plots,):
        axes.tick_params(labelsize=8)
        axes.grid(color="0.88", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False, handlelength=3.5)
    for suffix in (".png", ".svg"):
        save_picture(figure, folder / f"{name}{suffix}")
