"""Files that the package writes and reads, and those that come with it.

What is read may be damaged, or another program's. Each reader raises a `UserError` of its caller's kind then, whose
sentence names the file and ends with the remedy.
"""

from __future__ import annotations

import argparse
import bz2
import codecs
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from hf_symbinv.errors import UserError, first_line

# In a folder: file → checksum; and the card, which lists those of data.
SUMS, CARD = "sha256.json", "README.md"
# Endings of compressed files, in any case.
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class AddressError(UserError, argparse.ArgumentTypeError):
    """An address of another machine where a path of this one must stand."""


class DamagedFileError(UserError):
    """A file that does not hold what it should."""


def path_here(text: str | Path) -> Path:
    """A path of this machine, also as the type of an option; refuses an address, which would become a folder `s3:`."""
    if "://" in str(text):
        raise AddressError(f"{text}: must be a path of this machine; copy it from there, or write here and copy that")
    return Path(text)


def kind_of(name: str | Path) -> str:
    """The ending of a file's name in small letters, that of what it holds if it is compressed: `.ltl` of `A.LTL.gz`."""
    path = Path(name)
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path).suffix.lower()


@contextmanager
def reading(path: Path, error: type[UserError] = DamagedFileError) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed as its ending says; `error` for one that is damaged."""
    ending = path.suffix.lower()
    try:
        with COMPRESSED.get(ending, open)(path, "rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as reason:
        if ending not in COMPRESSED or getattr(reason, "errno", None) is not None:  # of the system, not of the file
            raise
        raise error(f"{path}: damaged ({first_line(reason)}); compress it again") from None


@contextmanager
def reading_text(path: Path, error: type[UserError] = DamagedFileError, lost: str = "strict") -> Iterator[TextIO]:
    """The text of a file in UTF-8, or in UTF-16 with its mark, line by line and with its line ends.

    As `reading`. Bytes that are no text are UnicodeDecodeErrors, unless `lost`, which is `errors` of `open`, says else.
    """
    with reading(path, error) as file:
        encoding = encoding_of(file.read(3))
        file.seek(0)
        yield io.TextIOWrapper(file, encoding, errors=lost, newline="")


def said_separator(line: str) -> str | None:
    """The separator that a line `sep=;` before a table says; None for any other line."""
    match = re.fullmatch(r'"?sep=(.)"?\s*', line, re.IGNORECASE)
    return match[1] if match else None


def separator_of(line: str) -> str:
    """The separator of a table whose names stand in a line: the one of `,`, `;` and the tab that it has most of."""
    return max(",;\t", key=re.sub(r'"[^"]*"', "", line).count)


def encoding_of(beginning: bytes) -> str:
    """The encoding of a text that begins so: UTF-16 where its mark says so, else UTF-8."""
    return next((name for mark, name in _MARKS.items() if beginning.startswith(mark)), "utf-8")


def decoded(content: bytes, name: object, error: type[UserError] = DamagedFileError) -> str:
    """The text in the bytes of a file in UTF-8, or in UTF-16 with its mark, which is left out; `error` for others."""
    try:
        return content.decode(encoding_of(content))
    except UnicodeDecodeError as reason:
        place = f"{reason.reason} at byte {reason.start}"
        raise error(f"{name}: not text in UTF-8 ({place}); save it as UTF-8") from None


def read_json(path: Path, remedy: str, error: type[UserError] = DamagedFileError) -> Any:
    """The content of a JSON file.

    If it is no JSON, or holds text that is no Unicode, `error` is raised. Its sentence ends with the remedy, such as
    `write it again or remove it`.
    """
    try:
        with reading(path, error) as file:
            text = file.read()
        content = json.loads(text)  # in UTF-8, 16 or 32, with a mark or without
        if b"\\u" in text:  # halves of surrogates, which JSON can spell and no file can hold
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        raise error(f"{path}: not JSON that can be read (its lists and objects are too deep); {remedy}") from None
    except ValueError as reason:
        raise error(f"{path}: not JSON ({first_line(reason)}); {remedy}") from reason
    return content


def read_object(path: Path, remedy: str, error: type[UserError] = DamagedFileError) -> dict[str, Any]:
    """The object in a JSON file; arguments and errors are those of `read_json`."""
    content = read_json(path, remedy, error)
    if not isinstance(content, dict):
        raise error(f"{path}: holds no JSON object; {remedy}")
    return content


@contextmanager
def reading_parquet(
    path: str | os.PathLike[str], remedy: str = "make the data set again", error: type[UserError] = DamagedFileError
) -> Iterator[None]:
    """Turns what pyarrow raises for a damaged file into a sentence; arguments are those of `read_json`."""
    import pyarrow

    try:
        yield
    # A flipped bit may make pyarrow ask for more memory than there is, or read text that is no UTF-8.
    except (pyarrow.ArrowException, UnicodeDecodeError, MemoryError) as reason:
        raise error(f"{path}: damaged ({first_line(reason)}); {remedy}") from reason
    except OSError as reason:
        if reason.errno is not None:
            raise
        raise error(f"{path}: damaged ({first_line(reason)}); {remedy}") from reason


def sha256(path: str | os.PathLike[str]) -> str:
    """The checksum of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, files: Iterable[Path]) -> None:
    """Writes the checksums of files of a folder into it, as `SUMS`: name → checksum."""
    sums = {path.name: sha256(path) for path in sorted(files)}
    write_atomically(folder / SUMS, json.dumps(sums, indent=2) + "\n")


def damage_of(folder: Path) -> str | None:
    """What in a folder is not as `SUMS` has it; None if all is, or there are no checksums."""
    if not (folder / SUMS).exists():
        return None
    try:
        sums = read_object(folder / SUMS, "")
    except (OSError, UserError):
        sums = {}
    if not sums:
        return f"{folder / SUMS}: damaged"
    for name, checksum in sums.items():
        if not os.path.isfile(folder / name):
            return f"{folder / name}: is missing"
        if sha256(folder / name) != checksum:
            return f"{folder / name}: damaged (its checksum is not the one in {SUMS})"
    return None


def listed_checksums(folder: Path) -> dict[str, str | None]:
    """File → checksum, as the card of the data in a folder lists them; None where it gives none."""
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    rows = re.findall(r"^\| (data/\S+) \|(?: [\d,]+ \| `([0-9a-f]{64})` \|)?", text, re.MULTILINE)
    return {name: checksum or None for name, checksum in rows}


def require_listed(folder: Path, error: type[UserError] = DamagedFileError) -> dict[str, str | None]:
    """What `listed_checksums` finds, once it is sure that these files are there, bit by bit where it has checksums."""
    listed = listed_checksums(folder)
    for name, checksum in listed.items():
        path = folder / name
        if not path.is_file():
            raise error(f"{path}: is missing, and {CARD} lists it; put it back or make the data set again")
        if checksum is not None and sha256(path) != checksum:
            raise error(
                f"{path}: damaged (its checksum is not the one in {CARD}); put it back as it was or make the data set "
                "again"
            )
    return listed


def require_sums(folder: Path, error: type[UserError] = DamagedFileError) -> None:
    """Makes sure that the files of a model are those that were written, where their checksums are known."""
    damage = damage_of(folder)
    if damage is not None:
        raise error(
            f"{damage}; copy the folder again, or repeat the `symbinv train` that made it; if the weights were "
            f"replaced on purpose, remove {folder / SUMS}"
        )


def require_writable(path: Path) -> None:
    """Makes sure, before the work whose result it will hold, that a file can be written.

    Raises:
        OSError: If it is a folder, or its folder does not exist or cannot be written to.
    """
    number = None
    if path.is_dir():
        number = errno.EISDIR
    elif not path.parent.is_dir():
        number = errno.ENOENT
    elif not os.access(path.parent, os.W_OK):
        number = errno.EACCES
    if number is not None:
        raise OSError(number, os.strerror(number), str(path))


def write_atomically(path: Path, content: str | bytes | memoryview) -> None:
    """Writes a file that is there completely or not at all, also if the process or the machine stops."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_bytes(data)
        return
    path = path.resolve()  # what a link leads to is replaced, and not the link
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def folder_atomically(folder: Path) -> Iterator[Path]:
    """A folder to write into, whose files are in `folder` once all are written, also if the machine stops before.

    Its name is that of `folder`, and it lies in a hidden one beside it. A new or an empty `folder` appears in one
    piece; in one with files, each file is replaced in one piece, and what has another name stays.

    Args:
        folder: Made if there is none, and those around it too.
    """
    folder = folder.resolve()  # what a link leads to is replaced, and not the link
    around = folder.parent / f".{folder.name}.{os.getpid()}"
    partial = around / folder.name
    try:
        partial.mkdir(parents=True)
        yield partial
        files = [path for path in sorted(partial.rglob("*")) if path.is_file()]
        for path in files:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        if not folder.exists() or not any(folder.iterdir()):
            partial.replace(folder)
            return
        for path in files:
            target = folder / path.relative_to(partial)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    finally:
        shutil.rmtree(around, ignore_errors=True)


def bundled_checkpoints() -> dict[str, Path]:
    """Name → folder of the checkpoints that come with the package."""
    home = Path(str(resources.files("hf_symbinv"))) / "checkpoints"
    return {path.parent.name: path.parent for path in sorted(home.glob("*/config.json"))}
