"""Training rows that are read from Parquet files while a run goes on, in an order that needs no memory to go on.

The order of an epoch is a function of (seed, epoch): row groups are shuffled, and the rows of each, and what is read
one after the other fills a buffer, whose rows are grouped by `GroupedSampler`. So a number, the position among all rows
of all epochs, is enough to find a row. A run that goes on passes over the positions before, and reads nothing of what
they stand for. `datasets.IterableDataset` was the alternative: of what its buffer holds, a run that goes on loses some
rows and sees others twice (huggingface/datasets#7901).

What is called streaming here, as in `datasets`, has nothing to do with the streams of symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
import pyarrow.compute as compute
import torch

from hf_symbinv.errors import UserError
from hf_symbinv.tasks.base import symbols_of
from hf_symbinv.training.batching import GroupedSampler, encode, equal_keys, require_group, require_tokens, seeded
from hf_symbinv.training.run_data import require_columns

if TYPE_CHECKING:
    from hf_symbinv.modeling.listed_tokens_symbinv import ListedTokens
    from hf_symbinv.parquet import ParquetRows
    from hf_symbinv.tasks.base import SymbolTask

SYMBOLS = "symbols"


class RowError(UserError):
    """A row, or the file that it is in, cannot be read while a run goes on.

    A process that reads ahead hands over its traceback in place of the sentence, which is the end of it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message.rpartition(f"{type(self).__name__}: ")[2].strip())


class BufferedRows(torch.utils.data.Dataset[dict[str, Any]]):
    """Tokenized rows by their position, a whole number: that of the first row of epoch e is e times the length.

    At any time it holds one buffer, as texts, and while this is filled a row group. Each process that reads has one.
    The rows of an epoch that fill no group sit out, others in each epoch.

    Args:
        rows: With the columns `task.columns`; a list `symbols` beside them saves counting the symbols of a question.
        task: What is asked.
        tokenizer: Of the task.
        group, piece, seed: As `GroupedSampler` takes them.
        alike: Whether the rows of a group are alike.
        name: Of the rows, for messages.

    Attributes:
        buffer: The rows that are held, as they come.

    Raises:
        UserError: If a column is missing, or the rows do not fill a group.
    """

    def __init__(
        self,
        rows: ParquetRows,
        task: SymbolTask,
        tokenizer: ListedTokens,
        *,
        group: int,
        piece: int,
        seed: int,
        alike: bool = True,
        name: str = "data",
    ) -> None:
        require_columns(rows.column_names, task, name)
        require_group(len(rows), group)
        self.rows, self.task, self.tokenizer, self.name = rows, task, tokenizer, name
        self.group, self.piece, self.seed, self.alike = group, piece, seed, alike
        self.buffer_size = max(rows.buffer_size // group, 1) * group
        self.buffer = pyarrow.table({})
        self._numbers = np.zeros(0, np.int64)  # of the rows in the buffer, among all rows
        self._start = -1  # the position of the first of them

    def __len__(self) -> int:
        return len(self.rows) // self.group * self.group

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """`input_ids` and `labels` of the rows at these positions; torch asks for those of a batch together.

        Raises:
            RowError: If a row cannot be tokenized, or a file is damaged.
        """
        try:
            return self._encoded(positions)
        except UserError as error:
            raise RowError(str(error)) from error

    def _encoded(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for start, part in groupby(positions, lambda position: position - position % len(self) % self.buffer_size):
            if start != self._start:
                self._fill(start)
            places = np.array([position - start for position in part])
            texts = self.buffer.take(places).to_pydict()
            columns = encode(texts, self.task, self.tokenizer, partial(self._place, self._numbers[places]))
            pairs = zip(columns["input_ids"], columns["labels"], strict=True)
            found += [{"input_ids": input_ids, "labels": labels} for input_ids, labels in pairs]
        return found

    def _place(self, numbers: np.ndarray, which: int) -> str:
        """Where one of the rows with these numbers stands."""
        return f"{self.name}, {self.rows.place(int(numbers[which]))}"

    def _fill(self, start: int) -> None:
        """Reads the buffer that starts at a position, in place of the one that is held."""
        self.buffer, self._start = pyarrow.table({}), -1
        epoch, first = divmod(start, len(self))
        last, sizes = min(first + self.buffer_size, len(self)), self.rows.group_sizes
        groups = torch.randperm(len(sizes), generator=seeded(self.seed, epoch, -1)).numpy()
        ends = sizes[groups].cumsum()
        columns = [*self.task.columns, *({SYMBOLS} & set(self.rows.column_names))]
        tables, numbers = [], []
        for k in range(np.searchsorted(ends, first, "right"), np.searchsorted(ends, last, "left") + 1):
            group, begin = int(groups[k]), int(ends[k] - sizes[groups[k]])
            shuffled = torch.randperm(int(sizes[group]), generator=seeded(self.seed, epoch, group)).numpy()
            chosen = shuffled[max(first - begin, 0) : last - begin]
            tables.append(self.rows.read(group, columns).take(chosen))
            numbers.append(self.rows.numbers(group)[chosen])
        table, self._numbers = pyarrow.concat_tables(tables), np.concatenate(numbers)
        keys = self._keys(table) if self.alike else equal_keys(len(table))
        sampler = GroupedSampler(keys, self.group, self.piece, self.seed)
        sampler.set_epoch(start)
        order = np.fromiter(sampler, np.int64, len(sampler))
        self.buffer, self._numbers = table.select(self.task.columns).take(order), self._numbers[order]
        self._start = start

    def _keys(self, table: pyarrow.Table) -> torch.Tensor:
        """The keys of `GroupedSampler`; lengths are in characters, so that no row is tokenized by two processes."""
        question, answer = self.task.columns
        for column in (question, answer):
            kind = table[column].type
            if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
                raise UserError(f"{self.name}, column {column}: has type {kind}; write the texts as strings")
        if SYMBOLS in table.column_names and pyarrow.types.is_list(table[SYMBOLS].type):
            symbols = compute.list_value_length(table[SYMBOLS])
        else:
            symbols = pyarrow.array(self._count_symbols(table[question].to_pylist()), pyarrow.int32())
        keys = (symbols, compute.utf8_length(table[answer]), compute.utf8_length(table[question]))
        return torch.from_numpy(np.stack([compute.fill_null(key, 0).to_numpy() for key in keys], 1).astype(np.int64))

    def _count_symbols(self, questions: Sequence[str]) -> Iterator[int]:
        for place, text in enumerate(questions):
            try:
                yield len(symbols_of(self.task, text))
            except (ValueError, TypeError):
                where = f"{self._place(self._numbers, place)}, column {self.task.columns[0]}"
                require_tokens(where, text, self.tokenizer, self.task.prompt)
                raise


class Positions(torch.utils.data.Sampler[int]):
    """The positions of an epoch of `BufferedRows`, one after the other: the rows themselves are in a random order.

    Args:
        length: Rows of an epoch.
    """

    def __init__(self, length: int) -> None:
        self.length, self.epoch = length, 0

    def __len__(self) -> int:
        return self.length

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.epoch * self.length, (self.epoch + 1) * self.length))
