"""Questions and answers on disk: the two-line text of earlier releases, and Parquet with a data set card."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

from hf_symbinv.datasets_scripts.errors import OptionsError, PairsFormatError, UnreadableDataError
from hf_symbinv.errors import UserError
from hf_symbinv.files import (
    CARD,
    listed_checksums,
    reading_parquet,
    reading_text,
    require_listed,
    write_atomically,
)
from hf_symbinv.hub.cards.dataset import DataFile, Origin, dataset_card
from hf_symbinv.tasks import SymbolTask

ROWS_PER_FILE = 100_000
SPLITS = ("train", "validation", "test")
# Of a data set, beside its card.
FOLDERS = ("data",)
# What a data set is made with; it is written first, and the card last.
MARKER = "generation.json"
# One of several files of a split, also as `datasets` names them with a hash.
_PART = re.compile(r"(.+)-(\d+)-of-(\d+)((?:-[0-9a-f]+)?\.parquet)")


def drawn_split(key: str) -> str:
    """The split of what a key names, 80/10/10; it depends on nothing else."""
    tenth = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % 10
    return {0: "validation", 1: "test"}.get(tenth, "train")


class Pair(NamedTuple):
    """A question and an answer to it, both in prefix notation."""

    question: str
    answer: str


def schema(task: SymbolTask) -> pyarrow.Schema:
    """The columns of a data set: question and answer under the task's names, and what is known about them."""
    return pyarrow.schema(
        [
            (task.columns[0], pyarrow.string()),
            (task.columns[1], pyarrow.string()),
            ("symbols", pyarrow.list_(pyarrow.string())),
            ("length", pyarrow.int32()),
            ("solver_version", pyarrow.string()),
        ]
    )


def read_pairs(task: SymbolTask, path: str | os.PathLike[str]) -> Iterator[Pair]:
    """Read the text format of earlier releases: a line with a question, then a line with its answer."""
    path = Path(path)
    kinds = task.columns
    with reading_text(path, PairsFormatError) as file:
        number, question = 0, ""
        try:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if number % 2 and not text:
                    if any(rest.strip() for rest in file):
                        raise ValueError("a blank line, and others follow; delete it")
                    return
                if number % 2:
                    question = task.read_question(text, "prefix")
                else:
                    yield Pair(question, task.read_answer(text))
        except UnicodeDecodeError as error:
            raise PairsFormatError(f"{path}, after line {number}: not readable as text: {error}") from error
        except ValueError as error:
            kind = kinds[0] if number % 2 else kinds[1]
            raise PairsFormatError(f"{path}, line {number}: no {kind} in prefix notation: {error}") from error
        if number % 2:
            raise PairsFormatError(
                f"{path}, line {number}: the {kinds[0]} has no {kinds[1]}; lines with one and the other alternate"
            )


def write_split(task: SymbolTask, folder: Path, split: str, pairs: Sequence[Pair], version: str) -> None:
    """Write `data/SPLIT-00000-of-0000N.parquet` in `folder`."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    columns = schema(task)
    starts = range(0, max(len(pairs), 1), ROWS_PER_FILE)
    for index, start in enumerate(starts):
        part = pairs[start : start + ROWS_PER_FILE]
        questions = [pair.question for pair in part]
        content = [
            questions,
            [pair.answer for pair in part],
            [task.symbols(question) for question in questions],
            [task.size(question) for question in questions],
            [version] * len(part),
        ]
        arrays = [pyarrow.array(values, field.type) for values, field in zip(content, columns, strict=True)]
        table = pyarrow.table(arrays, columns)
        write_table(folder / "data" / f"{split}-{index:05d}-of-{len(starts):05d}.parquet", table)


def write_table(path: Path, table: pyarrow.Table) -> None:
    """Write a Parquet file that is there completely or not at all; what is there is replaced."""
    content = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, content)
    write_atomically(path, memoryview(content.getvalue()))


def split_files(folder: Path, split: str) -> list[Path]:
    """The Parquet files of a split."""
    return sorted((folder / "data").glob(f"{split}-*-of-*.parquet"))


def splits_of(folder: Path) -> list[str]:
    """The splits in a folder, train first, then validation and test."""
    names = {path.name.split("-")[0] for path in (folder / "data").glob("*-*-of-*.parquet")}
    usual = [split for split in SPLITS if split in names]
    return usual + sorted(names - set(usual))


def read_rows(
    path: str | os.PathLike[str],
    remedy: str = "make the data set again",
    error: type[UserError] = UnreadableDataError,
) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file; the other arguments and the errors are those of `reading_parquet`."""
    with reading_parquet(path, remedy, error), pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()


def number_of_rows(path: Path) -> int:
    """The number of rows of a Parquet file, as its footer says."""
    with reading_parquet(path, error=UnreadableDataError):
        return int(pyarrow.parquet.read_metadata(path).num_rows)


def require_whole(folder: Path) -> None:
    """Makes sure that a data set is finished, and that its files are those that its card lists, bit by bit."""
    folder = _with_card(folder)
    if (folder / MARKER).is_file() and not (folder / CARD).is_file():
        raise UnreadableDataError(
            f"{folder}: its data are not finished (it has a {MARKER} and no {CARD}); repeat the command that makes "
            f"them, or delete {MARKER} if no file is missing"
        )
    listed = require_listed(folder, UnreadableDataError)
    paths = sorted({*folder.glob("*.parquet"), *folder.glob("data/*.parquet")})
    for path in paths:
        if listed.get(path.relative_to(folder).as_posix()) is None:
            number_of_rows(path)
    _refuse_missing_parts(paths)


def _with_card(folder: Path) -> Path:
    """The folder of a data set, also where the `data` in it is given."""
    for inner in (folder.absolute(), folder.resolve()):
        around = inner.parent
        if inner.name in FOLDERS and ((around / MARKER).is_file() or listed_checksums(around)):
            return around
    return folder


def _refuse_missing_parts(paths: Sequence[Path]) -> None:
    """Refuses files of a split, such as `train-00000-of-00002.parquet`, that are fewer than their names say."""
    found: dict[tuple[Path, str, str], dict[int, re.Match[str]]] = {}
    for path in paths:
        if (part := _PART.fullmatch(path.name)) is not None:
            found.setdefault((path.parent, part[1], part[3]), {})[int(part[2])] = part
    for (home, split, count), parts in found.items():
        if len(parts) < int(count):
            first = int(int(count) in parts)  # some count from 1
            missing = next(number for number in range(first, first + int(count)) if number not in parts)
            part = next(iter(parts.values()))
            name = f"{split}-{missing:0{len(part[2])}d}-of-{count}{part[4]}"
            raise UnreadableDataError(
                f"{home / name}: is missing, and {part[0]} counts {int(count):,} parts; put it back, or make the data "
                f"set again. If the others are all that you want, rename them without -of-{count}"
            )


def publish(task: SymbolTask, folder: Path, origin: Origin, splits: Mapping[str, Sequence[Pair]]) -> None:
    """Write the splits and, last, the card: a folder with a card is complete."""
    empty = [split for split, pairs in splits.items() if not pairs]
    if empty:
        raise OptionsError(f"{' and '.join(empty)}: no question is left for it; give more, each in one split only")
    for split, pairs in splits.items():
        write_split(task, folder, split, pairs, origin.solver_version)
    write_atomically(folder / CARD, card(task, folder, origin, splits))


def card(task: SymbolTask, folder: Path, origin: Origin, splits: Mapping[str, Sequence[Pair]]) -> str:
    """The card of a data set whose files are written."""
    paths = {split: split_files(folder, split) for split in splits}
    columns = schema(task)
    types = [str(field.type).replace("item: ", "") for field in columns]
    meanings = (
        "the question",
        "a correct answer to it",
        "the symbols of the question, in the order of their first appearance",
        "the size of the question",
        "what found the answer",
    )
    return dataset_card(
        task,
        origin,
        columns=list(zip(columns.names, types, meanings, strict=True)),
        counts={split: len(pairs) for split, pairs in splits.items()},
        lengths=Counter(task.size(pair.question) for pairs in splits.values() for pair in pairs),
        overlap=overlap(task, splits),
        files=[DataFile.of(folder, path) for found in paths.values() for path in found],
        info=dataset_info(columns, paths),
    )


def dataset_info(columns: pyarrow.Schema, paths: Mapping[str, Sequence[Path]]) -> dict[str, Any]:
    """Features, rows and sizes, as `datasets` writes them into cards."""
    import datasets
    from huggingface_hub import DatasetCardData

    splits = datasets.SplitDict()
    for split, files in paths.items():
        tables = [pyarrow.parquet.ParquetFile(path).metadata for path in files]
        sizes = [table.row_group(group).total_byte_size for table in tables for group in range(table.num_row_groups)]
        splits.add(
            datasets.SplitInfo(split, num_bytes=sum(sizes), num_examples=sum(table.num_rows for table in tables))
        )
    info = datasets.DatasetInfo(
        features=datasets.Features.from_arrow_schema(columns),
        splits=splits,
        download_size=sum(path.stat().st_size for files in paths.values() for path in files),
        dataset_size=sum(split.num_bytes for split in splits.values()),
    )
    content = DatasetCardData()
    datasets.info.DatasetInfosDict(default=info).to_dataset_card_data(content)
    return dict(content["dataset_info"])


def overlap(task: SymbolTask, splits: Mapping[str, Sequence[Pair]]) -> str:
    """Sentences on questions that occur twice, and on those that train has under other names."""
    questions = [pair.question for pairs in splits.values() for pair in pairs]
    repeated = len(questions) - len(set(questions))
    text = (
        f"{repeated:,} rows have the question of another row."
        if repeated
        else "No question occurs twice, neither in one split nor in two."
    )
    if "train" not in splits or len(splits) == 1:
        return text
    known = {task.alpha_class(pair.question) for pair in splits["train"]}
    shares = [
        f"{sum(task.alpha_class(pair.question) in known for pair in pairs) / max(len(pairs), 1):.1%} of {split}"
        for split, pairs in splits.items()
        if split != "train"
    ]
    return f"{text} Up to a renaming of symbols some do: {' and '.join(shares)} occur in train under other names."
