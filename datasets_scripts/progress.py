"""Progress on stderr: a bar on a terminal, and elsewhere, such as in a log file, a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from tqdm import tqdm

# Our choice: six lines a minute show that something happens, and a night's log can still be read.
SECONDS = 10.0
# Of slow progress, until it is said which sizes still want rows. Our choice.
SLOW = 60.0


def progress_of(unit: str, total: int | None = None, *, show: bool = True) -> Any:
    """Counts on stderr, as a context manager with `update(count)` and `set_description(text)`."""
    if not show or sys.stderr.isatty():
        return tqdm(total=total, unit=f" {unit}", file=sys.stderr, disable=not show)
    return Lines(unit, total, sys.stderr)


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


class Lines:
    """A line at most every ten seconds, and one at the end.

    Args:
        unit, total: As for `progress_of`.
        file: Where the lines go.
    """

    def __init__(self, unit: str, total: int | None, file: TextIO):
        self.unit, self.total, self.file = unit, total, file
        self.done, self.description = 0, ""
        self.started = self.said = time.monotonic()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._say()

    def set_description(self, text: str) -> None:
        """What is being done now; stands before the numbers."""
        self.description = f"{text}: "

    def update(self, count: int) -> None:
        """So many more are done."""
        self.done += count
        if time.monotonic() - self.said >= SECONDS:
            self._say()

    def write(self, text: str, file: TextIO) -> None:
        """Prints a text to a file, as `tqdm.write` does beside its bar."""
        print(text, file=file, flush=True)

    def _say(self) -> None:
        self.said = time.monotonic()
        of = "" if self.total is None else f" of {self.total:,}"
        elapsed = tqdm.format_interval(self.said - self.started)
        print(f"{self.description}{self.done:,}{of} {self.unit}, {elapsed}", file=self.file, flush=True)
