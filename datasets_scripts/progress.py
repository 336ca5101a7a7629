"""Progress on stderr: a bar on a terminal, and elsewhere, such as in a log file, its state now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from tqdm import tqdm

# Our choice: six lines a minute show that something happens, and a night's log can still be read.
SECONDS = 10.0
# Of slow progress, until it is said which sizes still want rows. Our choice.
SLOW = 60.0


def progress_of(unit: str, total: int | None = None, *, show: bool = True) -> tqdm:
    """A bar that counts so many, such as `pairs`, where anything is to be shown."""
    every = 0.1 if sys.stderr.isatty() else SECONDS
    return tqdm(total=total, unit=f" {unit}", file=sys.stderr, disable=not show, mininterval=every, miniters=1)


class Watch:
    """Says once a minute on stderr which size wants most, where hardly anything of what is tried can be taken.

    Args:
        share: Of what was tried in a minute; with less, progress is slow.
        reason, remedy: Why, as a clause on the questions of a size, and what helps.
    """

    def __init__(self, share: float, reason: str, remedy: str):
        self.share, self.reason, self.remedy = share, reason, remedy
        self.since, self.tried, self.taken = time.monotonic(), 0, 0

    def look(self, tried: int, taken: int, missing: Mapping[int, int], short: int) -> None:
        """So many more were tried and taken; `missing` are wanted of each size, and of those below `short` as 0."""
        self.tried, self.taken = self.tried + tried, self.taken + taken
        if time.monotonic() - self.since < SLOW:
            return
        if missing and self.taken < self.share * self.tried:
            most = max(missing, key=missing.__getitem__)
            size = f"size {most}" if most else f"sizes below {short}"
            tqdm.write(
                f"most rows are still wanted of {size}: {self.taken:,} of the last {self.tried:,} questions "
                f"{self.reason}; {self.remedy}",
                file=sys.stderr,
            )
        self.since, self.tried, self.taken = time.monotonic(), 0, 0
