"""What a run was trained on, measured from the rows: their number, symbols, sizes and a checksum.

{"source": "data/ltl", "builder": {...}, "splits": {"train": {"rows": 80000, "symbols": [0, 5], "size": [1, 25],
                                                              "sha256": "..."}, ...}}

The checksum of a split is that of its rows as lines of UTF-8 text, the columns with a tab between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from hf_symbinv.errors import UserError
from hf_symbinv.tasks.base import size_of, symbols_of

if TYPE_CHECKING:
    import datasets

    from hf_symbinv.tasks.base import SymbolTask

Measured = dict[str, Any]
ROWS_AT_A_TIME = 10_000


def data_record(
    source: str | None, builder: Mapping[str, Any] | None, splits: Mapping[str, Measured]
) -> dict[str, Any]:
    """What `run.json` says of the data: where they are from, what they were made with, and what is measured of them."""
    return {"source": source, "builder": None if builder is None else dict(builder), "splits": dict(splits)}


def measure_rows(rows: Iterable[Sequence[str]], symbols: Callable[[str], int], size: Callable[[str], int]) -> Measured:
    """The number of `rows`, the smallest and largest number of `symbols` and `size` (None without rows), and `sha256`.

    Rows have the text of each column, of which the first one is measured, by the functions `symbols` and `size`.
    """
    digest, count = hashlib.sha256(), 0
    numbers: set[int] = set()
    sizes: set[int] = set()
    iterator = iter(rows)
    while part := list(islice(iterator, ROWS_AT_A_TIME)):
        digest.update("".join(["\t".join(row) + "\n" for row in part]).encode("utf-8", "surrogatepass"))
        count += len(part)
        numbers.update([symbols(row[0]) for row in part])
        sizes.update([size(row[0]) for row in part])
    return {
        "rows": count,
        "symbols": [min(numbers), max(numbers)] if numbers else None,
        "size": [min(sizes), max(sizes)] if sizes else None,
        "sha256": digest.hexdigest(),
    }


def measure_questions(rows: datasets.Dataset, task: SymbolTask, name: str = "data") -> Measured:
    """`measure_rows` for questions with answers, rows with the columns `task.columns` in prefix notation.

    Raises:
        UserError: If a column is missing or holds something else than text, or a text is no question.
    """
    require_columns(rows.column_names, task, name)
    question, answer = task.columns

    def texts() -> Iterator[tuple[str, str]]:
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            part = rows[start : start + ROWS_AT_A_TIME]
            for place, row in enumerate(zip(part[question], part[answer], strict=True), start=start):
                for column, text in zip(task.columns, row, strict=True):
                    if not isinstance(text, str):
                        raise UserError(f"{name}, row {place}, column {column}: {text!r} is no text")
                yield row

    try:
        return measure_rows(texts(), lambda text: len(symbols_of(task, text)), partial(size_of, task))
    except UserError:
        raise
    except ValueError as error:
        raise UserError(f"{name}: {error}") from error


def require_columns(found: Sequence[str], task: SymbolTask, name: str) -> None:
    """Makes sure that rows have the columns of a task."""
    question, answer = task.columns
    if not {question, answer} <= set(found):
        raise UserError(f"{name}: has columns {', '.join(found)}; task {task.name} needs {question} and {answer}")
