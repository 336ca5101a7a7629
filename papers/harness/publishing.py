"""Data sets of any columns, published in a folder: Parquet with a card, for rows that are no questions and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow

from hf_symbinv.datasets_scripts.storage import CARD, dataset_info, split_files, write_table
from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.dataset import UNKNOWN, DataFile, size_category
from hf_symbinv.hub.cards.rendering import check_card

# Column → its type in the files, and what it means.
Columns = Mapping[str, tuple[pyarrow.DataType, str]]


class About(NamedTuple):
    """What a card says of a data set.

    Attributes:
        title: Its name for people.
        story: How it was made and what is known about it, in paragraphs.
        command: What makes it again.
        category: One of the Hub's names for tasks, such as `tabular-regression`.
        tags: Further words to find it by.
        license: The Hub's name of the licence.
        source: The paper whose data these are made after.
        people: What the rows hold about people.
    """

    title: str
    story: str
    command: str
    category: str
    tags: tuple[str, ...]
    license: str
    source: str
    people: str = "They hold nothing about people."


def publish_rows(
    folder: Path, columns: Columns, splits: Mapping[str, Sequence[Mapping[str, Any]]], about: About
) -> None:
    """Writes the splits and, last, the card: a folder with a card is complete.

    Args:
        folder: Made if it does not exist.
        columns: Of the files.
        splits: Split → its rows.
        about: What the card says.

    Raises:
        CardError: If the Hub would refuse the card.
    """
    (folder / "data").mkdir(parents=True, exist_ok=True)
    schema = pyarrow.schema([(name, kind) for name, (kind, _) in columns.items()])
    for split, rows in splits.items():
        table = pyarrow.Table.from_pylist([{name: row[name] for name in columns} for row in rows], schema)
        write_table(folder / "data" / f"{split}-00000-of-00001.parquet", table)
    counts = {split: len(rows) for split, rows in splits.items()}
    write_atomically(folder / CARD, _card(folder, schema, columns, counts, about))


def _card(folder: Path, schema: pyarrow.Schema, columns: Columns, counts: Mapping[str, int], about: About) -> str:
    from huggingface_hub import DatasetCardData

    paths = {split: split_files(folder, split) for split in counts}
    metadata = DatasetCardData(
        license=about.license,
        pretty_name=about.title,
        annotations_creators=["machine-generated"],
        task_categories=[about.category],
        tags=["symbol-invariance", *about.tags],
        size_categories=[size_category(sum(counts.values()))],
        dataset_info=dataset_info(schema, paths),
        configs=[
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in counts],
            }
        ],
    )
    files = [DataFile.of(folder, path) for found in paths.values() for path in found]
    known = f"The data are under {about.license}." if about.license != UNKNOWN else (
        "The rows come from elsewhere, and the licence under which they were published holds, which this program does "
        "not know."
    )  # fmt: skip
    lines = [
        "---", metadata.to_yaml().strip(), "---", "", f"# {about.title}", "", about.story, "",
        "```python", "from datasets import load_dataset", "",
        'data = load_dataset("OWNER/NAME")  # or the folder that holds this card', "```", "",
        "| column | type | |", "|---|---|---|",
        *(f"| {name} | {kind} | {meaning} |" for name, (kind, meaning) in columns.items()), "",
        "| split | rows |", "|---|---|", *(f"| {split} | {rows:,} |" for split, rows in counts.items()), "",
        "Made by hf_symbinv with", "", "```", about.command, "```", "",
        "## Files", "", "| file | bytes | SHA-256 |", "|---|---:|---|",
        *(f"| {file.path} | {file.bytes:,} | `{file.sha256}` |" for file in files), "",
        "## Licence", "", f"{known} {about.people}", "", "## Source", "", about.source, "",
    ]  # fmt: skip
    return check_card("\n".join(lines), "dataset")
