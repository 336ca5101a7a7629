"""Files that the package writes, and those that come with it."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes a file that is there completely or not at all, also if the process or the machine stops.

    Args:
        path: What is there is replaced; its folder exists.
        content: Text is written as UTF-8.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def bundled_checkpoints() -> dict[str, Path]:
    """Name → folder of the checkpoints that come with the package."""
    home = Path(str(resources.files("hf_symbinv"))) / "checkpoints"
    return {path.parent.name: path.parent for path in sorted(home.glob("*/config.json"))}
