"""The splits of a data set in memory."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from hf_symbinv.datasets_scripts.errors import UnreadableDataError
from hf_symbinv.tasks import SymbolTask


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """`datasets` does not log what it then raises."""
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)


def require_plain(folder: Path) -> None:
    """Refuses a folder under whose name `datasets` would read other folders."""
    path = folder.resolve()
    if glob.has_magic(str(path)):
        raise UnreadableDataError(
            f"{path}: has one of * ? [ in its path, which stand for other characters where `datasets` looks for files; "
            "rename the folder"
        )


class LoadedData(datasets.DatasetDict):
    """The splits of a data set, and where they are from.

    Attributes:
        source: The folder or repository; None if they were drawn.
        builder: What they were made with, as `generation.json` in the folder has it; None if that is not known.
        task: What they ask, if that was learned from them; None if the task has a name or a file.
        said: Lines for people on what was found in a user's data.
    """

    def __init__(
        self,
        splits: Mapping[str, datasets.Dataset],
        source: str | None,
        builder: Mapping[str, Any] | None,
        task: SymbolTask | None = None,
        said: Sequence[str] = (),
    ) -> None:
        super().__init__(splits)
        self.source, self.builder, self.task, self.said = source, builder, task, list(said)
