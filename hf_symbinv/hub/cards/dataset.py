"""Data set cards: what `load_dataset` reads a folder by, how the data were made, and how to check the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv.files import sha256
from hf_symbinv.hub.cards.families import papers_of
from hf_symbinv.hub.cards.rendering import check_card, render
from hf_symbinv.tasks import SymbolTask

LICENSE, UNKNOWN = "apache-2.0", "unknown"  # the Hub's names


class DataFile(NamedTuple):
    """A file of a data set: its path in the folder, its size and its checksum."""

    path: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, folder: Path, path: Path) -> DataFile:
        return cls(path.relative_to(folder).as_posix(), path.stat().st_size, sha256(path))


class Origin(NamedTuple):
    """Where a data set comes from: a heading, some paragraphs, a command, the solver's version and a licence."""

    title: str
    story: str
    command: str
    solver_version: str
    license: str = LICENSE


def dataset_card(
    task: SymbolTask,
    origin: Origin,
    *,
    columns: Sequence[tuple[str, str, str]],
    counts: Mapping[str, int],
    lengths: Mapping[int, int],
    overlap: str,
    files: Sequence[DataFile],
    info: Mapping[str, Any],
) -> str:
    """The card of a data set.

    Args:
        columns: Name, type and meaning of each.
        counts: Split -> its rows.
        lengths: Length of a question -> rows.
        overlap: Sentences on questions that occur twice.
        files: In the order of the splits.
        info: What `datasets` knows of it, as `dataset_info` in the metadata.
    """
    from huggingface_hub import DatasetCardData

    from hf_symbinv import __version__

    metadata = DatasetCardData(
        license=origin.license,
        pretty_name=origin.title,
        annotations_creators=["machine-generated"],
        task_categories=["text-generation"],
        tags=[task.name, "symbol-invariance"],
        size_categories=[size_category(sum(counts.values()))],
        dataset_info=dict(info),
        configs=[
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in counts],
            }
        ],
    )
    text = render(
        "dataset.md.jinja",
        card_data=metadata.to_yaml(),
        task=task,
        origin=origin,
        columns=columns,
        counts=[(split, f"{rows:,}") for split, rows in counts.items()],
        lengths=[(length, f"{lengths[length]:,}") for length in sorted(lengths)],
        overlap=overlap,
        files=files,
        version=__version__,
        unknown=UNKNOWN,
        papers=papers_of("", task.name),
    )
    return check_card(text, "dataset")


def size_category(rows: int) -> str:
    """The Hub's name for a data set of this size."""
    limits = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
    return next((name for limit, name in limits if rows < limit), "1M<n<10M" if rows < 10_000_000 else "10M<n<100M")
