"""What all pictures share: the look of lines, names in legends, and how a figure is written.

Runs and models are told apart by markers and dashes too, so that a picture in black and white says the same.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from hf_symbinv.errors import UserError
from hf_symbinv.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
# Colour, dashes and marker of each line; dark enough for white paper, and different without colour.
LINES = (
    ("black", "solid", "o"), ("#0072b2", (0, (5, 2)), "s"), ("#b34700", (0, (1, 1.5)), "^"),
    ("#00694e", (0, (6, 2, 1, 2)), "D"), ("#8a3d70", (0, (3, 1, 1, 1, 1, 1)), "v"), ("0.45", (0, (9, 3)), "P"),
)  # fmt: skip
# Our choice: characters of a name in a legend.
LONGEST_NAME = 40


class PictureError(UserError):
    """What cannot be drawn, and why."""


def short(name: str) -> str:
    """A name that a legend can hold: its end, which tells paths apart."""
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure completely or not at all; the same figure gives the same bytes every time.

    Raises:
        PictureError: If the path does not end in .png, .svg or .pdf.
    """
    if path.suffix not in PICTURES:
        raise PictureError(f"{path}: unknown kind of picture; end it in {', '.join(PICTURES)}")
    import matplotlib

    dated = {} if path.suffix == ".png" else {"CreationDate" if path.suffix == ".pdf" else "Date": None}
    content = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "hf_symbinv", "hatch.linewidth": 0.4}):
        figure.savefig(content, format=path.suffix[1:], dpi=200, metadata=dated)
    write_atomically(path, content.getvalue())
