"""Data sets in the two-line text format of earlier releases, from files, folders or the Hub."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from hf_symbinv.datasets_scripts.errors import TextsError
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.datasets_scripts.questions.builder import assign_splits
from hf_symbinv.datasets_scripts.storage import Pair, publish, read_pairs
from hf_symbinv.errors import first_line
from hf_symbinv.files import COMPRESSED
from hf_symbinv.hub.cards.dataset import UNKNOWN, Origin
from hf_symbinv.tasks import SymbolTask

# How the releases call the files of a data set.
FILES = {"train": ("train",), "validation": ("val", "validation"), "test": ("test",)}
SUFFIXES = (".txt", *(f".txt{ending}" for ending in COMPRESSED))
ON_THE_HUB = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[\w.-]+)/(?P<folder>[\w./-]+)")


def convert(task: SymbolTask, source: str, folder: Path, seed: int) -> None:
    """Convert pairs in the two-line text format; of those with the same question the first stays.

    A file is shuffled with `seed` and split 80/10/10; the splits of a folder stay as they are.
    """
    path = local_path(source)
    files = split_files(path) if path.is_dir() else {"": path}
    digest = hashlib.sha256()
    for file in files.values():
        digest.update(file.read_bytes())
    description = {"builder": "text", "task": task.name, "sha256": digest.hexdigest(), "seed": seed}
    with claimed(folder, description) as work:
        if work is None:
            return
        seen: set[str] = set()
        splits = {split: list(new_pairs(task, file, seen)) for split, file in files.items()}
        if len(seen) < 10:
            raise TextsError(
                f"{source}: holds {len(seen)} different questions; give at least 10, so that every split has one"
            )
        origin = Origin(
            title=f"{task.name} pairs of {path.name}",
            story=f"Questions of the task {task.name} with answers, converted from the text files of {path.name}.",
            command=f"symbinv data --output FOLDER --task {task.name} --from-text {shlex.quote(path.name)} "
            f"--seed {seed}",
            solver_version="unknown",
            license=UNKNOWN,
        )
        publish(task, folder, origin, assign_splits(splits[""], seed) if "" in splits else splits)


def new_pairs(task: SymbolTask, file: Path, seen: set[str]) -> Iterator[Pair]:
    """The pairs of a file whose questions are not in `seen`, which they join."""
    with progress_of("pairs") as bar:
        bar.set_description(file.name)
        for pair in read_pairs(task, file):
            bar.update(1)
            if pair.question not in seen:
                seen.add(pair.question)
                yield pair


def split_files(folder: Path) -> dict[str, Path]:
    """The file of each split."""
    found = {}
    for split, stems in FILES.items():
        names = [stem + suffix for stem in stems for suffix in SUFFIXES]
        path = next((folder / name for name in names if (folder / name).is_file()), None)
        if path is None:
            raise TextsError(f"{folder}: has no {names[0]}; a folder of texts has train.txt, val.txt and test.txt")
        found[split] = path
    return found


def local_path(source: str) -> Path:
    """Where a source lies; a folder on the Hub is downloaded."""
    path, hub = Path(source), ON_THE_HUB.fullmatch(source)
    if path.exists():
        return path
    if hub is None:
        raise TextsError(f"{source}: no such file or folder; on the Hub a folder is called OWNER/NAME/FOLDER")
    from huggingface_hub import snapshot_download

    folder = hub["folder"].rstrip("/")
    names = [f"{folder}/{stem}{suffix}" for stems in FILES.values() for stem in stems for suffix in SUFFIXES]
    try:
        downloaded = snapshot_download(hub["repository"], repo_type="dataset", allow_patterns=names)
    except Exception as error:  # of many types, for no network, no such repository, no access
        raise TextsError(
            f"{source}: no such file or folder, and from the Hub it cannot be loaded ({first_line(error)})"
        ) from error
    path = Path(downloaded) / folder
    if not path.is_dir():
        raise TextsError(
            f"{source}: the repository has no {folder}/train.txt; name a folder with train.txt, val.txt and test.txt"
        )
    return path
