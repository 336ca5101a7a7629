"""Tables (CSV) of any program, read as a stream: of the columns, only those that are asked for must hold values.

Whatever stands before the line of names is passed over if it is a comment, and so is a line of units or radices. The
separator is the one of `,`, `;` and the tab that the line of names has most of, or that a line `sep=` says.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from hf_symbinv.answers.recordings import CYCLE, VALUES, Names, TraceFileError
from hf_symbinv.errors import in_short
from hf_symbinv.files import reading_text, said_separator, separator_of

# Characters of a line, at most. Our choice: some hundred thousand columns.
LONGEST_LINE = 1 << 22
# Comments of sigrok, spreadsheets and others. A `;` with a name behind it is an empty cell.
_COMMENT = re.compile(r"\s*(?:#|//|%|;\s)")
# sigrok's comment that names the channels, where the line of names only says that they are logic.
_CHANNELS = re.compile(r"\s*; Channels \([0-9/]+\):(.*)")
_KINDS = {"logic"}
# Lines below the names that say how values are written: Vivado's radices, and units such as `(ms)` and `[V]`.
_RADIX, _UNIT = "radix -", re.compile(r"\s*(?:\(.*\)|\[.*\])?\s*")


def rows(path: Path, symbols: Iterable[str], source: str) -> Iterator[tuple]:
    """The propositions of a table, `CYCLE` too if it has that, and then the values of each step.

    Raises:
        TraceFileError: If it is no table, or lacks a proposition; `source` is what it calls the file.
        OSError: If it cannot be read.
    """
    names = Names(dict.fromkeys([*symbols, CYCLE]))
    # What is no text in the encoding may stand in a column that nobody asks for.
    with reading_text(path, TraceFileError, lost="replace") as text:
        try:
            number, head, separator = _head(text, source)
            if not head:
                raise TraceFileError(f"{source}: is empty; write a line of names, and a line of values for each step")
            table = csv.reader(_lines(text, source), delimiter=separator)
            for column, name in enumerate(head):
                names.show(name)
                names.add(name, column)
            wanted = tuple(symbol for symbol in names.wanted if symbol != CYCLE or names.has(CYCLE))
            if not any(map(names.has, wanted)) and all(cell.lower() in VALUES for cell in head):
                raise _none(source, "its first line has values; write a line of names before it")
            columns: list[int] = [names.key(symbol, source) for symbol in wanted]  # type: ignore[misc]
            yield wanted
            for row in table:
                if len(row) < len(head) and not "".join(row).strip():
                    continue
                says_units = any(map(str.strip, row)) and all(map(_UNIT.fullmatch, row))
                if row[0].strip().lower().startswith(_RADIX) or says_units:
                    continue
                place = f"{source}:{number + table.line_num}"
                if len(row) < len(head) or any(map(str.strip, row[len(head) :])):
                    raise TraceFileError(f"{place}: {len(row)} cells under {len(head)} names; give each name one")
                yield tuple(_value(row[column], head[column], place) for column in columns)
        except csv.Error as error:
            raise _none(source, f"{error}; save it as CSV") from None


def _lines(text: TextIO, source: str) -> Iterator[str]:
    csv.field_size_limit(LONGEST_LINE)
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise _none(source, f"a line of over {LONGEST_LINE:,} characters; split the table by columns")
        yield line


def _head(text: TextIO, source: str) -> tuple[int, Sequence[str], str]:
    """The number of the line of names, the names in it, and the separator."""
    said, channels = "", ""
    for number, line in enumerate(_lines(text, source), start=1):
        if separator := said_separator(line):
            said = separator
        elif match := _CHANNELS.match(line):
            channels = match[1]
        elif line.strip() and not _COMMENT.match(line):
            separator = said or separator_of(line)
            names = [name.strip() for name in next(csv.reader([line.rstrip("\r\n")], delimiter=separator))]
            listed = [name.strip() for name in channels.split(",")]
            if set(names) <= _KINDS and len(listed) == len(names):
                names = listed
            return number, names, separator
    return 0, [], ","


def _value(cell: str, name: str, place: str) -> bool | None:
    text = cell.strip().lower()
    if text not in VALUES:
        raise TraceFileError(f"{place}: {name} is {in_short(cell)}; write 1, 0, or nothing where it is unknown")
    return VALUES[text]


def _none(source: str, reason: str) -> TraceFileError:
    return TraceFileError(f"{source}: no table of values: {reason}")
