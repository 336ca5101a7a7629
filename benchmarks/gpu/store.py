"""The folder of results: what is written together appears together, also if the process is killed meanwhile.

New files are written into `next/`, which is then renamed to `ready/`, and moved from there to their places one by one.
Whoever opens the folder drops a `next/` and finishes a `ready/`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

RESULTS = "results.json"


class Store:
    """Results by name, and files of tensors beside them.

    Attributes:
        results: Name → result, as JSON holds it.

    Args:
        folder: Which is made if there is none.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "next", ignore_errors=True)
        self._move()
        path = folder / RESULTS
        self.results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def write(
        self, name: str, result: Mapping[str, Any], tensors: Mapping[str, Mapping[str, Tensor]] | None = None
    ) -> None:
        """Keeps a result, and files of tensors by their names without suffix, all or nothing."""
        results = {**self.results, name: dict(result)}
        new = self.folder / "next"
        new.mkdir()
        for file, values in (tensors or {}).items():
            save_file(
                {key: value.detach().cpu().contiguous() for key, value in values.items()}, new / f"{file}.safetensors"
            )
        (new / RESULTS).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        new.rename(self.folder / "ready")
        self._move()
        self.results = results

    def _move(self) -> None:
        ready = self.folder / "ready"
        if ready.is_dir():
            for path in sorted(ready.iterdir()):
                path.replace(self.folder / path.name)
            ready.rmdir()

    def read(self, file: str) -> dict[str, Tensor]:
        """The tensors of a file, on the CPU."""
        with safe_open(self.folder / f"{file}.safetensors", "pt") as opened:
            return {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118

    def drop(self, *files: str) -> None:
        """Removes files of tensors that nothing needs any more, if they are there."""
        for file in files:
            (self.folder / f"{file}.safetensors").unlink(missing_ok=True)
