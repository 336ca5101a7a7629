"""Texts that experiments read: the user's own, or the code of Python's standard library."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import datasets

from hf_symbinv.datasets_scripts.errors import WorkFolderError
from hf_symbinv.errors import UserError
from papers.harness.experiments import MissingDataError

STANDARD_LIBRARY = "python"  # the source that every machine has
# Lexinvariant models have "128 ascii characters"; those that print, and newline, are the ones that texts have.
PRINTABLE = "\n" + "".join(map(chr, range(0x20, 0x7F)))
MARK = "\x01"  # begins the line before a document
PIECES = 10  # documents that a text without marks counts as, and that are taken at least: the fewest for 80/10/10
ON_THE_HUB = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[\w.-]+)(:(?P<config>[\w.-]+))?")
_OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}

# Corpus → the variable that names its source, and the source without it.
SOURCES = {"prose": ("HF_SYMBINV_PROSE", None), "code": ("HF_SYMBINV_CODE", STANDARD_LIBRARY)}


class CorpusError(UserError):
    """A corpus that is not there, or cannot be cut into windows."""


def documents(source: str) -> Iterator[tuple[str, str]]:
    """Name and text of each document of a source, see `lexinvariant.characters.CorpusConfig`, one after the other.

    Bytes that are no UTF-8 come as lone surrogates, which no alphabet has.

    Raises:
        CorpusError: If there is no such source, or a file of it cannot be unpacked.
    """
    path = Path(source).expanduser()
    if source == STANDARD_LIBRARY:
        plain = set(PRINTABLE)
        found = _files(Path(sysconfig.get_path("stdlib")), "*.py")
        yield from ((name, text) for name, text in found if plain.issuperset(text))
    elif path.is_dir():
        yield from _files(path, "*")
    elif path.is_file():
        yield from _marked(path)
    else:
        yield from _hub_rows(source)


def _files(folder: Path, pattern: str) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob(pattern)):
        name = path.relative_to(folder)
        installed = {"site-packages", "dist-packages", "__pycache__"} & set(name.parts)
        if path.is_file() and not installed and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix(), _read(path)


def _read(path: Path) -> str:
    try:
        with _OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path}: cannot be unpacked ({error}); give the whole file") from error


def _marked(path: Path) -> Iterator[tuple[str, str]]:
    text = _read(path)
    marks = list(re.finditer(rf"^{MARK}(.*)\n?", text, flags=re.MULTILINE))
    if not marks:
        size = -(-len(text) // PIECES) or 1
        yield from ((f"part {index}", text[index * size : (index + 1) * size]) for index in range(PIECES))
    elif text[: marks[0].start()].strip():
        raise CorpusError(
            f"{path}: has text before the first line that starts with 0x01; begin the file with such a line"
        )
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):  # no mark, no end
        yield mark[1].strip(), text[mark.end() : end]


def _hub_rows(source: str) -> Iterator[tuple[str, str]]:
    place = ON_THE_HUB.fullmatch(source)
    if place is None:
        raise CorpusError(f"{source}: no such file or folder; on the Hub a data set is called OWNER/NAME")
    try:
        rows = datasets.load_dataset(place["repository"], place["config"], split="train", streaming=True)
        columns = set(rows.column_names or next(iter(rows)))
    except Exception as error:  # of many types, for no network, no such repository, no access
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise CorpusError(
            f"{source}: no such file or folder, and from the Hub it cannot be loaded ({reason})"
        ) from error
    if "text" not in columns:
        raise CorpusError(f"{source}: has no column text, only {', '.join(sorted(columns))}; give a data set of texts")
    yield from ((f"row {index}", row["text"]) for index, row in enumerate(rows))


@contextmanager
def source_of(corpus: str) -> Iterator[str]:
    """Where `prose` or `code` is read from; errors inside say which variable names it.

    Raises:
        MissingDataError: If no source is named, or what is done with it inside cannot be done.
    """
    variable, default = SOURCES[corpus]
    source = os.environ.get(variable, default)
    if not source:
        raise MissingDataError(
            f"{variable} is not set; let it name the {corpus} to read: a text file, a folder of texts, or a data set "
            "on the Hub. In a text file documents begin after lines that start with the character 0x01"
        )
    try:
        yield source
    except CorpusError as error:
        raise MissingDataError(f"{variable}: {error}") from error
    except WorkFolderError as error:
        raise MissingDataError(f"{variable}={source}: {error}, or name the corpus that is there") from error
