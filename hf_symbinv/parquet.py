"""Rows of Parquet files that are read a row group at a time, so that memory does not grow with their number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow
import pyarrow.parquet

from hf_symbinv.files import reading_parquet

if TYPE_CHECKING:
    import datasets

# Our choice: a row group of the files that `symbinv data` writes, some 10 MB of texts.
BUFFER_SIZE = 100_000


class ParquetRows:
    """The rows of Parquet files, one file after the other.

    Args:
        files: Their paths, at least one.
        checksums: SHA-256 of each file.
        buffer_size: Rows that training holds and shuffles together.

    Attributes:
        column_names: The columns that all files have, with the same type.
        group_sizes: `(groups,)` int64: the rows of each row group.

    Raises:
        UserError: For a damaged file.
    """

    def __init__(self, files: Sequence[Path], checksums: Sequence[str], buffer_size: int = BUFFER_SIZE) -> None:
        self.files, self.checksums, self.buffer_size = list(files), list(checksums), buffer_size
        homes: list[int] = []  # the file of each row group
        sizes: list[int] = []
        shared: list[pyarrow.Field] | None = None
        for number, path in enumerate(self.files):
            with reading_parquet(path):
                footer = pyarrow.parquet.read_metadata(path)
                sizes += [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
                columns = list(footer.schema.to_arrow_schema())
            homes += [number] * footer.num_row_groups
            shared = columns if shared is None else [column for column in shared if column in columns]
        self.column_names = [column.name for column in shared or ()]
        self.group_sizes = np.array(sizes, np.int64)
        self._homes = np.array(homes, np.int64)
        self._first_groups = np.searchsorted(self._homes, np.arange(len(self.files)))
        self._starts = np.concatenate(([0], self.group_sizes.cumsum()))  # the first row of each row group

    def __len__(self) -> int:
        return int(self._starts[-1])

    def read(self, group: int, columns: Sequence[str]) -> pyarrow.Table:
        """The rows of a row group.

        Raises:
            UserError: If its file is damaged.
        """
        home = int(self._homes[group])
        path = self.files[home]
        with reading_parquet(path), pyarrow.parquet.ParquetFile(path) as file:
            return file.read_row_group(group - int(self._first_groups[home]), columns=list(columns), use_threads=False)

    def tables(self, columns: Sequence[str]) -> Iterator[pyarrow.Table]:
        """The row groups, one after the other."""
        return (self.read(group, columns) for group in range(len(self.group_sizes)))

    def numbers(self, group: int) -> np.ndarray:
        """The numbers of the rows of a row group among all rows."""
        return np.arange(self._starts[group], self._starts[group + 1])

    def place(self, number: int) -> str:
        """Where a row stands, such as `data/ltl/data/train-00000-of-00002.parquet, row 17`."""
        group = int(np.searchsorted(self._starts, number, side="right")) - 1
        home = int(self._homes[group])
        return f"{self.files[home]}, row {number - int(self._starts[self._first_groups[home]])}"

    def first(self, count: int) -> datasets.Dataset:
        """The first rows, or all if there are fewer, in memory."""
        import datasets

        parts, missing = [], count
        for table in self.tables(self.column_names):
            parts.append(table.slice(0, missing))
            missing -= len(parts[-1])
            if not missing:
                break
        return datasets.Dataset(pyarrow.concat_tables(parts)) if parts else datasets.Dataset.from_dict({})

    def checksum(self) -> str:
        """The checksum of the files' checksums, as lines."""
        return hashlib.sha256("".join(f"{one}\n" for one in self.checksums).encode()).hexdigest()


__all__ = ["BUFFER_SIZE", "ParquetRows"]
