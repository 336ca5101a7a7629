"""Progress on stderr: a bar on a terminal, and elsewhere, such as in a log file, its state now and then."""

from __future__ import annotations

import sys

from tqdm import tqdm

# Our choice: six lines a minute show that something happens, and a night's log can still be read.
SECONDS = 10.0


def progress_of(unit: str, total: int | None = None, *, show: bool = True) -> tqdm:
    """A bar that counts so many, such as `pairs`, where anything is to be shown."""
    every = 0.1 if sys.stderr.isatty() else SECONDS
    return tqdm(total=total, unit=f" {unit}", file=sys.stderr, disable=not show, mininterval=every, miniters=1)
