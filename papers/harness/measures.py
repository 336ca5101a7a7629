"""What the columns of a table show, as values: equal measures are one column, and a heading is only how one is printed.

`Measure` is what every table has. The measures below it are those of trained models that answer questions: each says
which `Measurement` it is read from, and makes a number of what that has found with each seed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any, ClassVar, Literal

from hf_symbinv.evaluation.grid import Box, Cell, Grid, mean_of, region_of
from papers.harness.cost import REPEATS
from papers.harness.measurements import (
    Costs,
    Effort,
    HeatMap,
    Measurement,
    ParameterCount,
    Renamings,
    Verdicts,
)
from papers.harness.numbers import Number


@dataclass(frozen=True)
class Measure(ABC):
    """A column of numbers.

    Attributes:
        whole: Whether its numbers are counts without an interval, which are printed in full.
    """

    whole: ClassVar[bool] = False

    @property
    @abstractmethod
    def heading(self) -> str:
        """The head of the column, and the key in files; different measures of a table have different ones."""


@dataclass(frozen=True)
class Named(Measure):
    """A measure that is told from others by its name alone."""

    name: str

    @property
    def heading(self) -> str:
        return self.name


class ModelMeasure(Measure):
    """A measure of a trained model that answers questions.

    Attributes:
        first_seed_only: Whether it is of the first training alone, not of all of them together.
        is_share: Whether its numbers are shares of answers, in percent.
        at_most: The largest that its numbers can be if they have limits, of which the other is 0.
    """

    first_seed_only: ClassVar[bool] = False
    is_share: ClassVar[bool] = False
    at_most: ClassVar[float | None] = None

    @property
    @abstractmethod
    def measurement(self) -> Measurement:
        """What it is read from."""

    @abstractmethod
    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        """The number over all seeds together; None where the test data have nothing to measure it on.

        Args:
            found: What the measurement found with each seed.
            box: The largest number of symbols and the largest size in training.
        """


@dataclass(frozen=True)
class Share(ModelMeasure):
    """The share of answers with a verdict; answers that are `exact` are `correct` too.

    Attributes:
        new: Whether only questions count that no renaming makes one of the training data.
        free: Whether answers are written freely, and not by the task's grammar.
    """

    verdict: Literal["correct", "exact"] = "correct"
    split: Literal["test", "validation"] = "test"
    data: Literal["normal", "wide"] = "normal"
    new: bool = False
    free: bool = False
    is_share: ClassVar[bool] = True

    @property
    def heading(self) -> str:
        name: str = self.verdict if self.split == "test" else self.split
        if self.data == "wide":
            name = f"{name}, wide"
        return name + _conditions(new=self.new, free=self.free)

    @property
    def measurement(self) -> Verdicts:
        return Verdicts(self.split, self.data, self.free)

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        parts = [part["new"] if self.new else part for part in found]
        count = sum(part["count"] for part in parts)
        return Number.share(sum(part[self.verdict] for part in parts), count) if count else None


@dataclass(frozen=True)
class Covariance(ModelMeasure):
    """Mean alpha-covariance of the questions with so many symbols, of the test set or of the heat map."""

    symbols: int
    data: Literal["normal", "grid"] = "normal"
    at_most: ClassVar[float | None] = 100.0

    @property
    def heading(self) -> str:
        name = f"alpha-covariance, {_symbols(self.symbols)}"
        return f"heat map {name}" if self.data == "grid" else name

    @property
    def measurement(self) -> Renamings:
        return Renamings(self.data)

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        values = [value for part in found for value in part["by_symbols"].get(str(self.symbols), [])]
        return Number.mean(values) if values else None


@dataclass(frozen=True)
class Solved(ModelMeasure):
    """The share of correct answers on the heat map.

    Attributes:
        region: The part of the heat map, as `region_of` names it; None for all of it.
        symbols: The number of symbols of the questions that count; None for any.
        candidates: Answers to each question, of which one must be correct.
        free: Whether answers are written freely, and not by the task's grammar.
    """

    region: str | None = None
    symbols: int | None = None
    candidates: int = 1
    free: bool = False
    is_share: ClassVar[bool] = True

    @property
    def heading(self) -> str:
        name = "heat map" if self.region is None else self.region
        if self.symbols is not None:
            name = f"{name}, {_symbols(self.symbols)}"
        return (f"top-{self.candidates}" if self.candidates > 1 else name) + _conditions(free=self.free)

    @property
    def measurement(self) -> HeatMap:
        return HeatMap(self.candidates, self.free)

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        cells, metric = _cells(found)
        if self.region is not None:
            cells = [cell for cell in cells if region_of(cell, box) == self.region]
        if self.symbols is not None:
            cells = [cell for cell in cells if cell.symbols == self.symbols]
        return Number.of_cells(mean_of(cells, metric), 100)


@dataclass(frozen=True)
class Spread(ModelMeasure):
    """The standard deviation of the shares of correct answers in the cells of the heat map, in percentage points."""

    @property
    def heading(self) -> str:
        return "spread"

    @property
    def measurement(self) -> HeatMap:
        return HeatMap()

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        totals: dict[tuple[int, int], list[float]] = {}  # of all seeds together: answers, and correct ones
        for cell in _cells(found)[0]:
            total = totals.setdefault((cell.symbols, cell.size), [0, 0])
            total[0] += cell.count
            total[1] += cell.total
        shares = [100 * correct / count for count, correct in totals.values() if count]
        return Number(stdev(shares)) if len(shares) > 1 else None


@dataclass(frozen=True)
class EditDistance(ModelMeasure):
    """The mean edit distance in tokens over the whole heat map."""

    @property
    def heading(self) -> str:
        return "edit distance"

    @property
    def measurement(self) -> HeatMap:
        return HeatMap()

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        return Number.of_cells(mean_of(*_cells(found)), 1)


def _cells(found: Sequence[dict[str, Any]]) -> tuple[list[Cell], Any]:
    """The cells of all grids, and their metric."""
    grids = [Grid.from_dict(part) for part in found]
    return [cell for grid in grids for cell in grid.cells], grids[0].metric


def _symbols(count: int) -> str:
    return "1 symbol" if count == 1 else f"{count} symbols"


def _conditions(*, new: bool = False, free: bool = False) -> str:
    """What a heading says of the questions that count, and of how answers are written."""
    return ", no renamed twin" * new + ", no grammar" * free


@dataclass(frozen=True)
class Spent(ModelMeasure):
    """What a training took on average over seeds: optimizer steps, the examples in them, or seconds."""

    unit: Literal["steps", "examples", "seconds"]
    whole: ClassVar[bool] = True

    @property
    def heading(self) -> str:
        return self.unit

    @property
    def measurement(self) -> Effort:
        return Effort()

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number:
        return Number.average([part[self.unit] for part in found])


@dataclass(frozen=True)
class Cost(ModelMeasure):
    """Milliseconds a question, or megabytes at the most, on questions with so many symbols."""

    unit: Literal["ms", "MB"]
    symbols: int
    first_seed_only: ClassVar[bool] = True

    @property
    def heading(self) -> str:
        return f"{self.unit}, {_symbols(self.symbols)}"

    @property
    def measurement(self) -> Costs:
        return Costs(REPEATS)

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number | None:
        for cost in found[0]["costs"]:
            if cost["symbols"] == self.symbols:
                low, high = cost["ms range"] if self.unit == "ms" else (None, None)
                return Number(cost[self.unit], low, high, cost["count"])
        return None


@dataclass(frozen=True)
class Parameters(ModelMeasure):
    """The number of parameters."""

    whole: ClassVar[bool] = True
    first_seed_only: ClassVar[bool] = True

    @property
    def heading(self) -> str:
        return "parameters"

    @property
    def measurement(self) -> ParameterCount:
        return ParameterCount()

    def number(self, found: Sequence[dict[str, Any]], box: Box) -> Number:
        return Number(found[0]["parameters"])


# By which the best trial of a search is found.
TRIED = Share(split="validation")
# The heat map as a whole, and its parts.
WHOLE = Solved()
HEAT_MAP = (WHOLE, *(Solved(region) for region in ("in the box", "more symbols", "longer")))
SPENT = (Spent("steps"), Spent("examples"), Spent("seconds"))
