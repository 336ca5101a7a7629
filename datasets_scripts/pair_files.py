"""Pairs of texts as people keep them: files of JSON, CSV or Parquet, folders of these, data sets on the Hub."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv.datasets_scripts.errors import PairsFormatError
from hf_symbinv.datasets_scripts.splits import quiet, require_plain
from hf_symbinv.datasets_scripts.storage import read_rows, require_whole
from hf_symbinv.errors import hub_failure, nearest
from hf_symbinv.files import decoded, kind_of, reading, said_separator, separator_of

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
# Names of columns that are taken if none are given, the first pair that the data have.
COLUMNS = (
    ("question", "answer"), ("input", "output"), ("source", "target"), ("src", "tgt"), ("prompt", "completion"),
)  # fmt: skip
# Names of splits -> ours.
SPLITS = {
    "train": "train", "training": "train", "validation": "validation", "valid": "validation", "val": "validation",
    "dev": "validation", "test": "test",
}  # fmt: skip
# What is taken for the name of a column where nobody says it: at most three words.
_NAME_OF_COLUMN = re.compile(r"\w[\w-]*(?: [\w-]+){0,2}")


class Row(NamedTuple):
    """A pair and where it stands, such as `pairs.jsonl, line 3`."""

    place: str
    question: str
    answer: str


def read_pairs(
    source: str, question: str | None = None, answer: str | None = None, config: str | None = None
) -> tuple[dict[str, list[Row]], tuple[str, str]]:
    """The rows of each split of the data, `train` if they have none; and the names of the two columns.

    The source is a file of one of `SUFFIXES` or a folder of such files; or OWNER/NAME on the Hub,
    which may have a `config`.
    """
    path = Path(source)
    if path.is_dir():
        require_whole(path)
    files = {"train": [path]} if path.is_file() else _files_of_splits(path) if config is None else {}
    tables = (
        {split: chain.from_iterable(map(_rows_of_file, found)) for split, found in files.items()}
        or _rows_of_data_set(str(path), config)
    )  # fmt: skip
    columns: tuple[str, str] | None = None
    splits = {}
    for split, rows in tables.items():
        found = []
        for place, row in rows:
            if columns is None:
                columns = _columns(source, list(row), question, answer)
            found.append(Row(place, *(_cell(place, row, column) for column in columns)))
        splits[split] = found
    if columns is None:
        raise PairsFormatError(f"{source}: holds no rows; write one pair of texts on each line")
    return splits, columns


def _files_of_splits(folder: Path) -> dict[str, list[Path]]:
    """The files in a folder that are called as a split, such as `train.csv` and `test-00000-of-00002.parquet`.

    `datasets` would guess types and make a 1 of the text +1 in a CSV file.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        split = SPLITS.get(re.split(r"[-_.]", path.name)[0])
        if split is not None and kind_of(path) in SUFFIXES:
            found.setdefault(split, []).append(path)
    for split, paths in found.items():
        homes = sorted({str(path.parent) for path in paths})
        if len(homes) > 1:
            raise PairsFormatError(
                f"{folder}: has files of split {split} in {' and in '.join(homes[:2])}; name the folder of one data set"
            )
    return found if "train" in found or len(found) == 1 else {}


def _rows_of_file(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    readers = {".jsonl": _json_rows, ".json": _json_rows, ".csv": _csv_rows, ".tsv": _csv_rows, ".parquet": _parquet}
    if kind_of(path) not in readers:
        raise PairsFormatError(f"{path}: its format is told by the end of its name; use one of {', '.join(SUFFIXES)}")
    yield from readers[kind_of(path)](path)


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = _text_of(path)
    if text.lstrip().startswith("["):
        try:
            items = [(f"{path}, row {number}", item) for number, item in enumerate(json.loads(text), start=1)]
        except (ValueError, RecursionError) as error:
            raise PairsFormatError(f"{path}: is no JSON ({error}); write a list of objects") from None
    else:
        items = []
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    items.append((f"{path}, line {number}", json.loads(line)))
                except (ValueError, RecursionError) as error:
                    raise PairsFormatError(
                        f"{path}, line {number}: {short(line)} is no JSON ({error}); write one object on each line"
                    ) from None
    for place, item in items:
        if not isinstance(item, dict):
            raise PairsFormatError(f'{place}: {short(item)} is no object; write {{"question": "…", "answer": "…"}}')
        yield place, item


def _text_of(path: Path) -> str:
    with reading(path, PairsFormatError) as file:
        return decoded(file.read(), path, PairsFormatError)


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = io.StringIO(_text_of(path), newline="")
    first = lines.readline()
    said = said_separator(first)
    if said is None:
        lines.seek(0)
    separator = said or ("\t" if kind_of(path) == ".tsv" else separator_of(first))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            place = f"{path}, line {reader.line_num + (said is not None)}"
            if not cells:
                continue
            if header is None:
                header = cells
                continue
            if len(cells) != len(header):
                raise PairsFormatError(
                    f"{place}: has {len(cells)} cells, and the first line {len(header)}, {', '.join(header)}; put "
                    "texts that hold the separator in double quotes"
                )
            yield place, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise PairsFormatError(f"{path}, line {reader.line_num}: is no CSV ({error}); mend the quotes") from None


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, row in enumerate(read_rows(path, "write it again", PairsFormatError), start=1):
        yield f"{path}, row {number}", row


def _rows_of_data_set(source: str, config: str | None) -> dict[str, Iterator[tuple[str, dict[str, Any]]]]:
    """The splits of a folder or of a data set on the Hub, as `datasets` finds them."""
    import datasets

    if Path(source).is_dir():
        require_plain(Path(source))
    elif kind_of(Path(source)) in SUFFIXES or not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", source):
        raise PairsFormatError(f"{source}: no such file; name one of {', '.join(SUFFIXES)}, a folder or OWNER/NAME")
    try:
        with quiet():
            found = datasets.load_dataset(source, config)
    except Exception as error:  # of many types, for folders without data, damaged files, no network
        cause = error.__cause__ if isinstance(error, datasets.exceptions.DatasetGenerationError) else None
        reason = hub_failure(error, source) or f"cannot be loaded ({str(cause or error).splitlines()[0].rstrip('.')})"
        raise PairsFormatError(
            f"{source}: {reason.removeprefix(f'{source}: ')}; name a file, a folder of files, or OWNER/NAME on the Hub"
        ) from error

    def rows(split: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, row in enumerate(found[split], start=1):
            yield f"{source}, split {split}, row {number}", dict(row)

    known = {ours: rows(split) for split in found for name, ours in SPLITS.items() if split == name}
    if not known:
        known = {"train": rows(next(iter(found)))} if len(found) == 1 else {}
    if "train" not in known and len(known) != 1:
        raise PairsFormatError(f"{source}: has the splits {', '.join(found)}, and none is called train; rename one")
    return known


def _columns(source: str, names: Sequence[str], question: str | None, answer: str | None) -> tuple[str, str]:
    """The columns of questions and answers."""
    for option, name in (("question", question), ("answer", answer)):
        if name is not None and name not in names:
            near = nearest(name, names)
            hint = "" if near is None else f"; did you mean {near!r}?"
            raise PairsFormatError(
                f"{source}: has no column {name!r}, which --{option}-column or training names; it has "
                f"{', '.join(names)}{hint}"
            )
    if question is None and answer is None:
        for pair in COLUMNS:
            if set(pair) <= set(names):
                return pair
    if question is not None and answer is not None:
        return question, answer
    if len(names) == 2:
        strange = next((name for name in names if not _NAME_OF_COLUMN.fullmatch(name)), None)
        if strange is not None:
            raise PairsFormatError(
                f"{source}: its first line should name the columns, and {short(strange)} looks like a text; write the "
                "line question,answer before it"
            )
        others = [name for name in names if name not in (question, answer)]
        return (question or others[0], answer or others[-1])
    if len(names) == 1:
        raise PairsFormatError(
            f"{source}: has one column, {short(names[0])}; give each row a question and an answer, under a line of two "
            "names and with a comma, a semicolon or a tab between them"
        )
    missing = " and ".join(
        f"--{option}-column" for option, name in (("question", question), ("answer", answer)) if name is None
    )
    raise PairsFormatError(f"{source}: has columns {', '.join(names)}; say with {missing} which ones to take")


def _cell(place: str, row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    where = f"{place}, column {column}"
    if value is None:
        what = "null" if column in row else "missing"
        raise PairsFormatError(f"{where}: is {what}; give a text, or remove the row")
    if not isinstance(value, str):
        raise PairsFormatError(f"{where}: {short(value)} is of type {type(value).__name__}, no text; put it in quotes")
    if not value.strip():
        raise PairsFormatError(f"{where}: {value!r} is empty; give a text, or remove the row")
    for character in value:
        if unicodedata.category(character) in ("Cc", "Cs") and not character.isspace():
            raise PairsFormatError(
                f"{where}: {short(value)} has the control character {character!r}; is this a text? Remove the row"
            )
    return value


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
