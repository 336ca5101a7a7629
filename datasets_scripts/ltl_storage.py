"""Formula and witness pairs on disk: the two-line text of earlier releases, and Parquet with a data set card."""

from __future__ import annotations

import gzip
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow
import pyarrow.parquet

from hf_symbinv.logic import FormulaSyntaxError, parse_prefix, parse_trace, to_prefix

ROWS_PER_FILE = 100_000
CARD = "README.md"

SCHEMA = pyarrow.schema(
    [
        ("formula", pyarrow.string()),
        ("witness", pyarrow.string()),
        ("symbols", pyarrow.list_(pyarrow.string())),
        ("length", pyarrow.int32()),
        ("solver_version", pyarrow.string()),
    ]
)


class Pair(NamedTuple):
    """A formula and a word that satisfies it, both in prefix notation."""

    formula: str
    witness: str


class PairsFormatError(ValueError):
    """A text file that does not hold pairs; the message names the line."""


_COMPACT = re.compile(r"[a-z01!&|XU]+")
_OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}


def read_pairs(path: str | os.PathLike[str]) -> Iterator[Pair]:
    """Read the text format of earlier releases: a line with a formula, then a line with its trace.

    Args:
        path: A text file, plain or compressed (`.gz`, `.xz`). It is read as the pairs are consumed.

    Raises:
        PairsFormatError: If a line is not a formula or trace in prefix notation, or the last trace is missing.
    """
    path = Path(path)
    with _OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        number = 0
        try:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if number % 2:
                    parse_prefix(text)
                    formula = text
                else:
                    parse_trace(text)
                    yield Pair(formula, text)
        except FormulaSyntaxError as error:
            kind = "formula" if number % 2 else "trace"
            raise PairsFormatError(f"{path}, line {number}: no {kind} in prefix notation: {error}") from error
        except (UnicodeDecodeError, EOFError, OSError, lzma.LZMAError) as error:
            raise PairsFormatError(f"{path}, after line {number}: not readable as text: {error}") from error
        if number % 2:
            raise PairsFormatError(f"{path}, line {number}: the formula has no trace; formulas and traces alternate")


def symbols_and_length(formula: str) -> tuple[list[str], int]:
    """The symbols of a formula in prefix notation, in the order of their first appearance, and its number of nodes."""
    if _COMPACT.fullmatch(formula):
        return [token for token in dict.fromkeys(formula) if "a" <= token <= "z"], len(formula)
    parsed = parse_prefix(formula)
    return list(parsed.symbols()), parsed.size


def alpha_class(formula: str) -> str:
    """A text that formulas share if and only if they are alpha-equivalent."""
    symbols, _ = symbols_and_length(formula)
    if _COMPACT.fullmatch(formula):
        return formula.translate({ord(symbol): ord("a") + index for index, symbol in enumerate(symbols)})
    return to_prefix(parse_prefix(formula).rename({symbol: f"s{index}" for index, symbol in enumerate(symbols)}))


def write_split(folder: Path, split: str, pairs: Sequence[Pair], version: str) -> None:
    """Write `data/SPLIT-00000-of-0000N.parquet` in `folder`."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    starts = range(0, max(len(pairs), 1), ROWS_PER_FILE)
    for index, start in enumerate(starts):
        part = pairs[start : start + ROWS_PER_FILE]
        symbols, lengths = zip(*(symbols_and_length(pair.formula) for pair in part), strict=True) if part else ((), ())
        formulas, witnesses = zip(*part, strict=True) if part else ((), ())
        columns = [formulas, witnesses, symbols, lengths, [version] * len(part)]
        table = pyarrow.table(
            [pyarrow.array(list(column), field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA
        )
        pyarrow.parquet.write_table(table, folder / "data" / f"{split}-{index:05d}-of-{len(starts):05d}.parquet")


def split_files(folder: Path, split: str) -> list[Path]:
    """The Parquet files of a split."""
    return sorted((folder / "data").glob(f"{split}-*-of-*.parquet"))


def read_rows(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file."""
    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is there completely or not at all, also if the process or the machine stops."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


class Origin(NamedTuple):
    """Where a data set comes from, for its card: a heading, a paragraph, a command and the solver's version."""

    title: str
    story: str
    command: str
    solver_version: str


def card(origin: Origin, splits: Mapping[str, Sequence[Pair]]) -> str:
    """A data set card that `datasets.load_dataset` reads the splits from."""
    rows = sum(map(len, splits.values()))
    data_files = "\n".join(f"  - split: {split}\n    path: data/{split}-*.parquet" for split in splits)
    counts = "\n".join(f"| {split} | {len(pairs):,} |" for split, pairs in splits.items())
    lengths = Counter(symbols_and_length(pair.formula)[1] for pairs in splits.values() for pair in pairs)
    histogram = "\n".join(f"| {length} | {lengths[length]:,} |" for length in sorted(lengths))
    return f"""---
license: apache-2.0
pretty_name: {origin.title}
task_categories:
- text-generation
tags:
- linear-temporal-logic
- formal-methods
- symbol-invariance
size_categories:
- {size_category(rows)}
configs:
- config_name: default
  data_files:
{data_files}
---

# {origin.title}

{origin.story}

Formulas and witnesses are in prefix notation. A witness is a lasso trace: steps joined by `;`, the cycle in `{{}}`;
every word it denotes satisfies its formula.

| column | |
|---|---|
| formula | the formula |
| witness | a trace that satisfies it |
| symbols | its atomic propositions, in the order of their first appearance |
| length | its number of nodes |
| solver_version | what found the witness |

| split | rows |
|---|---|
{counts}

Solver: {origin.solver_version}. Made with

```
{origin.command}
```

{overlap(splits)}

| length | rows |
|---|---|
{histogram}
"""


def size_category(rows: int) -> str:
    """The Hub's name for a data set of this size."""
    limits = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
    return next((name for limit, name in limits if rows < limit), "1M<n<10M" if rows < 10_000_000 else "10M<n<100M")


def overlap(splits: Mapping[str, Sequence[Pair]]) -> str:
    """A sentence on the formulas that other splits share with the training split up to a renaming of symbols."""
    known = {alpha_class(pair.formula) for pair in splits["train"]}
    shares = [
        f"{sum(alpha_class(pair.formula) in known for pair in pairs) / max(len(pairs), 1):.1%} of {split}"
        for split, pairs in splits.items()
        if split != "train"
    ]
    return (
        "No formula occurs twice, neither in one split nor in two. Up to a renaming of symbols some do: "
        + " and ".join(shares)
        + " occur in train under other names."
    )
