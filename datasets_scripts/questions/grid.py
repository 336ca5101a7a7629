"""Questions on a grid, for heatmaps: so many samples for each (number of symbols) × (size).

As a `datasets` builder:

    from hf_symbinv.datasets_scripts.questions.grid import QuestionGrid
    builder = QuestionGrid(task="ltl", num_symbols=10, max_size=50)
    builder.download_and_prepare(num_proc=4)
    test = builder.as_dataset(split="test")

and as a command, `symbinv data --grid`. Questions with n symbols are drawn with the first n names and hold all of them.
The sizes of one row of the grid are drawn together, so within a cell questions are distributed as in a data set of
random questions. A cell for which `GRID_DROUGHT` draws in a row bring no new question stays short or empty; the card
says which.

Source: ITE, section 5.2 and Appendix E (100 samples a cell, 20 for long strings).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.errors import OptionsError
from hf_symbinv.datasets_scripts.questions.builder import Made, QuestionsConfig, RandomQuestions, left_out
from hf_symbinv.datasets_scripts.questions.rounds import Harvest, Rounds, missing_samples
from hf_symbinv.datasets_scripts.questions.sampling import GRID_DROUGHT, Gate, GridGate
from hf_symbinv.datasets_scripts.questions.transforms import digest, training_classes
from hf_symbinv.datasets_scripts.storage import Pair
from hf_symbinv.errors import in_short
from hf_symbinv.tasks import SymbolTask, symbol_names


@dataclass
class QuestionGridConfig(QuestionsConfig):
    """`QuestionsConfig` of a grid; `num_symbols` is the largest number of symbols.

    Args:
        min_symbols: The smallest number of symbols.
        per_cell: Pairs of one number of symbols and one size, at most.
        novel: Folders of data sets: a question that a renaming makes one of their training questions is left out.
        timeout: As elsewhere, but 10 s: our choice, the limit of `Checker`.
    """

    num_symbols: int = 10
    max_size: int = 50
    timeout: float = 10.0
    min_symbols: int = 0
    per_cell: int = 100
    novel: tuple[str, ...] = ()

    def validate(self) -> None:
        if not isinstance(self.novel, tuple) or not all(isinstance(folder, str) for folder in self.novel):
            raise OptionsError(
                f"novel={in_short(self.novel)}: must be a tuple of folders, such as ('data/ltl',); correct it"
            )
        super().validate()
        if not 0 <= self.min_symbols <= self.num_symbols:
            raise OptionsError(
                f"min_symbols={self.min_symbols}, num_symbols={self.num_symbols}: numbers of symbols are at least 0, "
                "the smaller first"
            )
        if self.per_cell < 1:
            raise OptionsError(f"per_cell={self.per_cell}: a cell has at least one sample")

    KIND = "grid"

    def most(self) -> int:
        sizes, numbers = self.max_size + 1 - self.min_size, self.num_symbols + 1 - self.min_symbols
        return sizes * numbers * self.per_cell

    def recipe(self) -> dict[str, Any]:
        return {name: value for name, value in super().recipe().items() if name != "novel" or value}

    def digests(self) -> dict[str, Any]:
        return {"novel": [digest(Path(folder)) for folder in self.novel]} if self.novel else {}

    def harvest(self, task: SymbolTask, rounds: Callable[[Gate], Rounds], memory: float) -> Harvest:
        found = Harvest()
        known = set[str]().union(*(training_classes(Path(folder), task) for folder in self.novel))
        for number in range(self.min_symbols, self.num_symbols + 1):
            with GridGate(task, symbol_names(number), self.min_size, self.max_size, known, memory) as gate:
                quota = dict.fromkeys(range(self.min_size, self.max_size + 1), self.per_cell)
                found.add(rounds(gate).run(quota, partial(missing_samples, quota), f"{number}-", self.seed, number))
        return found

    def made(self, task: SymbolTask, harvest: Harvest) -> Made:
        numbers, sizes = f"{self.min_symbols} to {self.num_symbols}", f"{self.min_size} to {self.max_size}"
        if not harvest.pairs:
            raise OptionsError(
                f"no question of {numbers} symbols and sizes {sizes} with an answer turned up: all cells are empty; "
                "ask for larger sizes or fewer symbols"
            )
        novel = ""
        if self.novel:
            names = " or ".join(Path(folder).name for folder in self.novel)
            novel = f"No renaming of symbols makes one of them a training question of {names}. "
        story = (
            f"At most {self.per_cell} random questions of the task {task.name} for each number of symbols from "
            f"{numbers} and each size from {sizes}, with answers, for tests of generalisation. {novel}"
            f"{left_out(harvest.left_out, self.timeout)}\n\n{cells(task, self, harvest.pairs)}"
        )
        shuffled = list(harvest.pairs)
        random.Random(self.seed).shuffle(shuffled)
        return Made(f"{task.name}, grid of {numbers} symbols and sizes {sizes}", story, {"test": shuffled})

    def command(self) -> str:
        return super().command().replace("symbinv data", "symbinv data --grid")


def cells(task: SymbolTask, config: QuestionGridConfig, pairs: list[Pair]) -> str:
    """A table that says how full the cells are."""
    have = Counter((len(task.symbols(pair.question)), task.size(pair.question)) for pair in pairs)
    lines = []
    for number in range(config.min_symbols, config.num_symbols + 1):
        row = {size: have[number, size] for size in range(config.min_size, config.max_size + 1)}
        short = [f"{size} ({rows})" for size, rows in row.items() if 0 < rows < config.per_cell]
        empty = runs([size for size, rows in row.items() if not rows])
        lines.append(f"| {number} | {sum(row.values()):,} | {', '.join(short) or '-'} | {empty or '-'} |")
    return (
        f"A cell for which {GRID_DROUGHT:,} draws in a row brought no new question stays as it is.\n\n"
        "| symbols | rows | short: size (rows) | empty: sizes |\n|---|---|---|---|\n" + "\n".join(lines)
    )


def runs(numbers: list[int]) -> str:
    """Ascending numbers as `1-3, 7`."""
    edges: list[list[int]] = []
    for number in numbers:
        if edges and number == edges[-1][1] + 1:
            edges[-1][1] = number
        else:
            edges.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in edges)


class QuestionGrid(RandomQuestions):
    """A grid as a builder; keyword arguments are fields of `QuestionGridConfig`."""

    BUILDER_CONFIG_CLASS = QuestionGridConfig
    SPLITS = ("test",)
