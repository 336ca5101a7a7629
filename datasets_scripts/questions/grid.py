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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.errors import OptionsError
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.datasets_scripts.questions.builder import QuestionsConfig, RandomQuestions, left_out
from hf_symbinv.datasets_scripts.questions.rounds import WALL, Harvest, Rounds, missing_samples, solving_pool
from hf_symbinv.datasets_scripts.questions.sampling import GRID_DROUGHT, GridGate
from hf_symbinv.datasets_scripts.questions.transforms import digest, training_classes
from hf_symbinv.datasets_scripts.storage import Pair, publish
from hf_symbinv.errors import in_short
from hf_symbinv.hub.cards.dataset import Origin
from hf_symbinv.solvers.pool import MEMORY
from hf_symbinv.tasks import SymbolTask, load_task, symbol_names


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

    def recipe(self) -> dict[str, Any]:
        return {name: value for name, value in super().recipe().items() if name != "novel" or value}

    def command(self) -> str:
        return super().command().replace("symbinv data", "symbinv data --grid")


def generate(
    config: QuestionGridConfig, work: Path, workers: int | None, *, progress: bool = True, memory: float = MEMORY
) -> Harvest:
    """Draw and solve row by row of the grid, with finished shards kept in `work`."""
    task, harvest = load_task(config.task, config.like), Harvest()
    known = set[str]().union(*(training_classes(Path(folder), task) for folder in config.novel))
    sizes, numbers = range(config.min_size, config.max_size + 1), range(config.min_symbols, config.num_symbols + 1)
    with (
        solving_pool(task, workers, config.timeout, memory, config.as_solved) as pool,
        task.checker(workers=workers, timeout=config.timeout, memory=memory, wall=WALL * config.timeout) as checker,
        progress_of("pairs", len(sizes) * len(numbers) * config.per_cell, show=progress) as bar,
    ):
        for number in numbers:
            bar.set_description(f"{number} symbols")
            with GridGate(task, symbol_names(number), config.min_size, config.max_size, known, memory) as gate:
                quota = dict.fromkeys(sizes, config.per_cell)
                rounds = Rounds(gate, pool, checker, work, bar)
                harvest.add(rounds.run(quota, partial(missing_samples, quota), f"{number}-", config.seed, number))
    return harvest


def prepare(
    config: QuestionGridConfig, folder: Path, workers: int | None, *, progress: bool = True, memory: float = MEMORY
) -> None:
    """Make the grid in `folder`, or finish it, or leave it as it is if it is finished; arguments as of a builder's."""
    task = load_task(config.task, config.like)
    recipe, version = {**config.recipe(), "task": task.name}, task.solver_version()
    if config.novel:
        recipe["novel"] = [digest(Path(folder)) for folder in config.novel]
    with claimed(folder, {"builder": f"grid {config.version}", **recipe, "solver_version": version}) as work:
        if work is None:
            return
        harvest = generate(config, work, workers, progress=progress, memory=memory)
        if not harvest.pairs:
            raise OptionsError(
                f"no question of {config.min_symbols} to {config.num_symbols} symbols and sizes {config.min_size} to "
                f"{config.max_size} with an answer turned up: all cells are empty; ask for larger sizes or fewer "
                "symbols"
            )
        story = (
            f"At most {config.per_cell} random questions of the task {task.name} for each number of symbols from "
            f"{config.min_symbols} to {config.num_symbols} and each size from {config.min_size} to {config.max_size}, "
            f"with answers, for tests of generalisation. {without(config)}"
            f"{left_out(harvest.left_out, config.timeout)}\n\n{cells(task, config, harvest.pairs)}"
        )
        origin = Origin(
            title=f"{task.name}, grid of {config.min_symbols} to {config.num_symbols} symbols and sizes "
            f"{config.min_size} to {config.max_size}",
            story=story,
            command=config.command(),
            solver_version=version,
        )
        shuffled = list(harvest.pairs)
        random.Random(config.seed).shuffle(shuffled)
        publish(task, folder, origin, {"test": shuffled})


def without(config: QuestionGridConfig) -> str:
    """What the card says of training questions that a grid does not have."""
    if not config.novel:
        return ""
    names = " or ".join(Path(folder).name for folder in config.novel)
    return f"No renaming of symbols makes one of them a training question of {names}. "


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

    def prepare_folder(self, folder: Path, workers: int) -> None:
        """Make the grid in `folder`."""
        prepare(self.config, folder, workers)
