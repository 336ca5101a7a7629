"""The folder of a data set while it is made: one process holds it, and a command that was stopped goes on in it."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.errors import BusyFolderError, TaskFailedError, WorkFolderError
from hf_symbinv.datasets_scripts.storage import CARD, MARKER, listed_checksums, require_whole
from hf_symbinv.files import read_json, write_atomically

# In a data set that is not finished, the folder of finished shards.
WORK = ".work"


@contextmanager
def claimed(folder: Path, description: dict[str, Any]) -> Iterator[Path | None]:
    """Hold the work folder inside `folder` for the data set that `description` describes; None if it is complete.

    What is refused before anything was made leaves no trace, so that another try may use the folder.
    """
    marker = folder / MARKER
    if not marker.exists() and ((folder / CARD).exists() or (folder / "data").exists()):
        raise WorkFolderError(f"{folder}: holds a data set of other origin; choose another folder")
    work = folder / WORK
    work.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyFolderError(f"{folder}: another process is writing here; wait or choose another folder") from None
        fresh = not marker.exists()
        if fresh:
            write_atomically(marker, json.dumps(description, indent=2) + "\n")
        elif read_json(marker, "delete the folder, or choose another", WorkFolderError) != description:
            raise WorkFolderError(
                f"{folder}: holds a data set made in another way, see {marker.name}; choose another folder or delete it"
            )
        _refuse_lost_files(folder)
        if (folder / CARD).exists():
            require_whole(folder)
        try:
            yield None if (folder / CARD).exists() else work
        except (ValueError, OSError) as error:
            if isinstance(error, TaskFailedError):  # what the task said so far may be as wrong
                for shard in work.iterdir():
                    shard.unlink()
            if fresh and not any(work.iterdir()) and not (folder / "data").exists():
                work.rmdir()
                marker.unlink()
                Path(lock.name).unlink()
                if not any(folder.iterdir()):
                    folder.rmdir()
            raise
        shutil.rmtree(work)


def _refuse_lost_files(folder: Path) -> None:
    """A folder with a card is complete, unless a file that the card lists is gone."""
    lost = [name for name in listed_checksums(folder) if not (folder / name).is_file()]
    if lost:
        raise WorkFolderError(
            f"{folder}: its {CARD} lists {lost[0]}, which is not there; put it back, or delete {CARD} and repeat the "
            "command, which makes the data again"
        )
