"""Questions and answers as the user gives them: arguments, files and pipes, in any notation."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from hf_symbinv.errors import UserError
from hf_symbinv.files import encoding_of, reading
from hf_symbinv.tasks import SymbolTask

# Our choice: 5,000 tokens with names of 200 characters.
LONGEST_LINE = 1 << 20
_LINE_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
ItemT = TypeVar("ItemT")


class Text(NamedTuple):
    """One item of the input, and where it stands, such as `line 3 of FILE`."""

    place: str
    text: str


def add_notation(parser: argparse.ArgumentParser) -> None:
    """The option that says how questions are written."""
    parser.add_argument(
        "--notation",
        help="of the questions: infix, prefix or lbt for formulas, prefix for strings (default: the first of these); "
        "answers are written in the same style",
    )


def notation_of(parser: argparse.ArgumentParser, options: argparse.Namespace, task: SymbolTask) -> str:
    """The notation that the options choose; ends the command if the task does not have it."""
    if options.notation is None:
        return task.notations[0]
    if options.notation not in task.notations:
        known = ", ".join(task.notations)
        parser.error(f"--notation {options.notation}: task {task.name} does not have it; use one of {known}")
    return str(options.notation)


def read_items(kind: str, arguments: Sequence[str], file: str | None) -> Iterator[Text]:
    """The items that the arguments give, or the lines of a file that are not blank; `-` and None are standard input.

    Raises:
        UserError: If both or neither are given, there is no item, or a line is too long.
        OSError: If the file cannot be read.
    """
    if arguments and file is not None:
        raise UserError(f"--file {file}: leave it out, or leave out the {kind} before it")
    if arguments:
        for number, text in enumerate(arguments, start=1):
            yield Text(f"{kind} {number}", text)
        return
    if file in (None, "-"):
        if sys.stdin.isatty() and file is None:
            raise UserError(f"no {kind}: give one as an argument, many with --file, or through a pipe")
        yield from _lines("standard input", sys.stdin.buffer, kind)
    else:
        with reading(Path(str(file)), UserError) as opened:
            yield from _lines(str(file), opened, kind)


def _lines(name: str, stream: BinaryIO, kind: str) -> Iterator[Text]:
    number, found = 0, False
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if number == 1 and encoding_of(line) == "utf-16":
            raise UserError(f"{name}: is in UTF-16; save it as UTF-8")
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise UserError(f"line {number} of {name}: longer than {LONGEST_LINE:,} bytes; write one {kind} per line")
        # Bytes that are no UTF-8 become surrogates, as in arguments, and parsers refuse those.
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="surrogateescape").rstrip("\r\n")
        if text.strip():
            found = True
            yield Text(f"line {number} of {name}", text)
    if not found:
        raise UserError(f"{name}: holds no {kind}; write one per line")


def in_chunks(items: Iterator[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Lists of `size` items, the last one shorter; also of those that came before an error, which is raised after."""
    chunk: list[ItemT] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except (UserError, OSError):
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def one_line(text: str) -> str:
    """`text` without line breaks."""
    return _LINE_BREAKS.sub(" ", text.strip())


def block(head: str, rows: Iterable[tuple[str, str]]) -> str:
    """Lines for people: a head, and below it labels with what they stand for."""
    rows = list(rows)
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join([one_line(head), *(f"  {label.ljust(width)}  {text}" for label, text in rows)])
