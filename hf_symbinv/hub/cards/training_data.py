"""What a model was trained on, as `run.json` records it under `data`: measured from the rows that the run really used.

{"source": "data/ltl", "builder": {"num_symbols": 5, "max_size": 25, "rows": 100000},
 "splits": {"train": {"rows": 80000, "symbols": [0, 5], "size": [1, 25], "sha256": "…"}}}

`source` is a folder or a data set on the Hub, and null where the recipe drew the data. Runs of earlier versions have no
such key, and a split may lack what was not recorded: nothing is concluded from what a recipe asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hf_symbinv.hub.cards.facts import RECORD, CardError

KEY = "data"


@dataclass(frozen=True, slots=True)
class Split:
    """The rows of a split; None for what was not recorded.

    Attributes:
        name: Of the split.
        rows: Their number.
        symbols, size: The smallest and the largest number of symbols, and size, of a question.
        sha256: Checksum of the rows' text, in order, or of the checksums of the files that they were streamed from.
        files: Their number; None where rows were not streamed.
    """

    name: str
    rows: int | None
    symbols: tuple[int, int] | None
    size: tuple[int, int] | None
    sha256: str | None
    files: int | None


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a run was trained on.

    Attributes:
        source: A folder or a data set on the Hub; None where the recipe drew the data.
        builder: The options that the data were made with; empty if they are not known.
        splits: In the order of the record.
    """

    source: str | None
    builder: Mapping[str, Any]
    splits: tuple[Split, ...]

    def largest(self) -> tuple[int, int] | None:
        """The largest number of symbols and the largest size in split `train`; None if they are not known.

        Where the rows were not measured, these are the limits that their builder had.
        """
        train = next((split for split in self.splits if split.name == "train"), None)
        if train is not None and train.symbols and train.size:
            return train.symbols[1], train.size[1]
        limits = self.builder.get("num_symbols"), self.builder.get("max_size")
        return limits if _is_pair(limits) else None  # type: ignore[return-value]


def read_training_data(record: Mapping[str, Any]) -> TrainingData | None:
    """What a run was trained on.

    Args:
        record: As `run.json` has it.

    Returns:
        None if the record does not say.

    Raises:
        CardError: If `data` is not of the form that the module describes.
    """
    content = record.get(KEY)
    if content is None:
        return None
    found = content if isinstance(content, Mapping) else {}
    source, builder, splits = found.get("source"), found.get("builder"), found.get("splits")
    told = isinstance(source, str | None) and isinstance(builder, Mapping | None)
    if not told or not isinstance(splits, Mapping) or not splits:
        raise CardError(
            f"{RECORD}: {KEY}={content!r}: must be an object with source, builder and splits; remove it, or train again"
        )
    return TrainingData(source, builder or {}, tuple(_split(name, rows) for name, rows in splits.items()))


def _split(name: str, content: Any) -> Split:
    found = content if isinstance(content, Mapping) else {}
    rows, symbols, size, sha256, files = (found.get(key) for key in ("rows", "symbols", "size", "sha256", "files"))
    if not (
        isinstance(content, Mapping)
        and all(count is None or _is_count(count) for count in (rows, files))
        and all(pair is None or _is_pair(pair) for pair in (symbols, size))
        and isinstance(sha256, str | None)
    ):
        raise CardError(
            f"{RECORD}: {KEY}, split {name}: {content!r}: must have rows, symbols and size as [smallest, largest], "
            "sha256, and perhaps files; remove it, or train again"
        )
    return Split(name, rows, symbols and (symbols[0], symbols[1]), size and (size[0], size[1]), sha256, files)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_count, value))


__all__ = ["Split", "TrainingData", "read_training_data"]
