"""Random questions of any task, with answers by its solver: the builder behind every benchmark.

    from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions
    builder = RandomQuestions(task="prop", num_symbols=5, max_size=35, rows=1000)
    builder.download_and_prepare(num_proc=4)
    train = builder.as_dataset(split="train")

`symbinv data` leaves the same data set in a folder.

Every size has a stream of candidates, which is a function of the seed alone: they are drawn for all sizes together, in
portions whose lengths do not depend on what became of earlier ones. The rows of a size are the first candidates of its
stream that get an answer. So a candidate that reaches the limit changes its own row and no other; and which split a row
is in depends on the seed and its question alone.

The work is done in rounds. A round takes as many candidates as rows are missing in every size, cuts them into shards
and solves these in parallel. Drawing is cheap and done by one process, so no question comes twice anywhere; a shard is
solved by a fresh fork, so its answers are a function of its questions. Every answer is judged before its shard is
written, in processes of its own: Spot breaks ties by what its process computed before. A task whose solver and judge
contradict each other, or raise, makes no data set. Limits are of CPU time. Hence the data set is a function of (config,
seed), whatever the number of processes and what else they wait for, but for questions that take about as long, or as
much memory, as the limit. A finished shard is a file that appears in one piece, and a run that was killed takes up
where it was: it draws again, which costs little, and solves what has no file yet.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets

from hf_symbinv import solvers
from hf_symbinv.datasets_scripts.errors import OptionsError
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.datasets_scripts.questions.rounds import (
    NO_ANSWER,
    UNJUDGED,
    WALL,
    Harvest,
    Rounds,
    missing_rows,
    missing_samples,
    most_rows,
    quotas,
)
from hf_symbinv.datasets_scripts.questions.sampling import Gate
from hf_symbinv.datasets_scripts.storage import (
    SPLITS,
    Pair,
    publish,
    read_rows,
    schema,
    split_files,
)
from hf_symbinv.errors import in_short
from hf_symbinv.hub.cards.dataset import Origin
from hf_symbinv.solvers.pool import MEMORY, ProcessPool
from hf_symbinv.tasks import SymbolTask, load_task, symbol_names
from hf_symbinv.tasks.base import solve_ordered
from hf_symbinv.values import wrong_kind

# Symbols, and the size of a question: our choice, far above what a model reads.
LARGEST = 100_000
# So that every split of 80/10/10 has one.
LEAST_ROWS = 10


class Made(NamedTuple):
    """What is published: a heading, a paragraph and the splits."""

    title: str
    story: str
    splits: dict[str, list[Pair]]


@dataclass
class QuestionsConfig(datasets.BuilderConfig):
    """What determines a data set of random questions.

    Args:
        version: The builder's version: another one makes other data.
        task: A task's name, or the file that defines it.
        num_symbols: Symbols that questions may use: a, b, ..., z, p26, p27, ...
        min_size: Smallest question, in the task's measure (for formulas, nodes).
        max_size: Largest question.
        seed: Seed of everything random.
        timeout: Limit for solving one question, and for judging its answer, in seconds of CPU time; a question that
            reaches it, or takes `WALL` times as long by the clock, is left out.
        like: A public release whose distribution of questions the data have, as `load_task` takes it; for who makes a
            paper's tables again.
        as_solved: Answers as the solver writes them, as the papers have them. By default what an answer may say in any
            order comes in the order of the question's symbols, by `SymbolTask.ordered`; models learn that sooner.

    Raises:
        OptionsError: For a value out of range.
        TaskError: For an unknown task.
    """

    version: datasets.Version = field(default_factory=lambda: datasets.Version("3.0.0"))
    task: str = "ltl"
    num_symbols: int = 5
    min_size: int = 1
    max_size: int = 35
    seed: int = 0
    timeout: float = 120.0
    like: str = ""
    as_solved: bool = False

    KIND: ClassVar[str]

    @abstractmethod
    def most(self) -> int:
        """Pairs in all, at most."""

    @abstractmethod
    def harvest(self, task: SymbolTask, rounds: Callable[[Gate], Rounds], memory: float) -> Harvest:
        """Draw and solve until there are enough."""

    @abstractmethod
    def made(self, task: SymbolTask, harvest: Harvest) -> Made:
        """What is published of a harvest; OptionsError if that is too little."""

    def digests(self) -> dict[str, Any]:
        """What takes the place of folders in the description of the data."""
        return {}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.validate()

    def validate(self) -> None:
        """Raise ValueError for a value out of range (`datasets` also sets fields of configs that exist)."""
        for item in dataclasses.fields(self):
            if item.name in self.recipe():
                wrong = wrong_kind(getattr(self, item.name), type(item.default), item.name)
                if wrong is not None:
                    raise OptionsError(f"{wrong}; correct it")
        load_task(self.task, self.like)
        for name in ("num_symbols", "max_size"):
            if getattr(self, name) > LARGEST:
                raise OptionsError(f"{name}={in_short(getattr(self, name))}: must be at most {LARGEST:,}; ask for less")
        if self.num_symbols < 0:
            raise OptionsError(f"num_symbols={self.num_symbols}: there cannot be fewer than 0")
        if not 1 <= self.min_size <= self.max_size:
            raise OptionsError(
                f"min_size={self.min_size}, max_size={self.max_size}: sizes are at least 1, the smaller first"
            )
        if not self.timeout > 0:
            raise OptionsError(f"timeout={self.timeout}: the limit must be positive seconds")

    def recipe(self) -> dict[str, Any]:
        """The fields that determine the data, without those that only name it."""
        inherited = {item.name for item in dataclasses.fields(datasets.BuilderConfig)}
        values = {
            item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name not in inherited
        }
        return {name: value for name, value in values.items() if name not in ("like", "as_solved") or value}

    def command(self) -> str:
        """The command that makes the data; files and folders by their last names, because the others depend on the
        place."""
        values = {**self.recipe(), "task": Path(self.task).name}
        shown = {
            name: " ".join(Path(one).name for one in value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }
        options = [f"--{name.replace('_', '-')}{'' if value is True else f' {value}'}" for name, value in shown.items()]
        return f"symbinv data --output FOLDER {' '.join(options)}"


@dataclass
class RandomQuestionsConfig(QuestionsConfig):
    """`QuestionsConfig` of random questions in three splits.

    Args:
        rows: Pairs in all splits together (80 % train, 10 % validation, 10 % test).
    """

    rows: int = 1_000_000

    KIND = "random"

    def validate(self) -> None:
        super().validate()
        if self.rows < LEAST_ROWS:
            raise OptionsError(
                f"rows={self.rows}: ask for at least {LEAST_ROWS}, so that every split of 80/10/10 has one"
            )
        if self.like:
            most_rows(load_task(self.task, self.like), self.min_size, self.max_size, self.rows)

    def most(self) -> int:
        return self.rows

    def harvest(self, task: SymbolTask, rounds: Callable[[Gate], Rounds], memory: float) -> Harvest:
        asked = task, self.min_size, self.max_size, self.rows
        quota = most_rows(*asked) if self.like else quotas(*asked)
        missing = partial(missing_samples if self.like else missing_rows, quota)
        symbols, uniform_from = symbol_names(self.num_symbols), 1 if self.like else task.uniform_from
        with Gate(task, symbols, self.min_size, self.max_size, uniform_from, memory) as gate:
            return rounds(gate).run(quota, missing, "", self.seed, most=self.rows if self.like else None)

    def made(self, task: SymbolTask, harvest: Harvest) -> Made:
        found, sizes = len(harvest.pairs), f"sizes {self.min_size} to {self.max_size}"
        if found < LEAST_ROWS:
            raise OptionsError(
                f"num_symbols={self.num_symbols}, {sizes}: only {found} different questions with answers turned up, "
                f"and three splits take at least {LEAST_ROWS}; ask for more symbols or larger sizes"
            )
        if found < self.rows:
            warnings.warn(
                f"rows={self.rows}: only {found} different questions with answers turned up with "
                f"num_symbols={self.num_symbols} and {sizes}",
                FewerRowsWarning,
                stacklevel=3,
            )
        drawn = ""
        if self.like:
            drawn = f" They are drawn as in the release of {self.like}."
        elif task.uniform_from < self.max_size:
            drawn = f" Sizes from {task.uniform_from} up are equally frequent."
        return Made(
            f"{task.name}, {self.num_symbols} symbols, {sizes}",
            f"Random questions of the task {task.name} with answers.{drawn} {left_out(harvest.left_out, self.timeout)}",
            assign_splits(harvest.pairs, self.seed),
        )


class FewerRowsWarning(UserWarning):
    """A data set has fewer rows than were asked for."""


def generate(
    config: QuestionsConfig, work: Path, workers: int | None, *, progress: bool = True, memory: float = MEMORY
) -> Harvest:
    """Draw and solve what a data set needs, with finished shards kept in `work`."""
    task = load_task(config.task, config.like)
    solve = task.solve if config.as_solved else partial(solve_ordered, task)
    limits: dict[str, Any] = {"timeout": config.timeout, "memory": memory, "wall": WALL * config.timeout}
    with (
        ProcessPool(solve, workers=workers, initializer=task.prepare, isolate=task.shard, **limits) as pool,
        task.checker(workers=workers, **limits) as checker,
        progress_of("pairs", config.most(), show=progress) as bar,
    ):
        return config.harvest(task, lambda gate: Rounds(gate, pool, checker, work, bar), memory)


def assign_splits(pairs: Sequence[Pair], seed: int) -> dict[str, list[Pair]]:
    """Shuffle and cut into 80 % train, 10 % validation and 10 % test, by a seed and each question alone."""
    shuffled = sorted(pairs, key=lambda pair: hashlib.sha256(f"{seed}/{pair.question}".encode()).digest())
    tenth = len(shuffled) // 10
    return {"train": shuffled[2 * tenth :], "validation": shuffled[:tenth], "test": shuffled[tenth : 2 * tenth]}


def left_out(counts: Counter[str], timeout: float) -> str:
    """A sentence on the questions that were drawn and are not in the data set."""
    reasons = {
        NO_ANSWER: "have no answer",
        "timeout": f"take over {timeout:g} s of CPU time",
        "error": "make the solver fail",
    }
    if counts[UNJUDGED]:
        reasons[UNJUDGED] = f"have an answer that cannot be judged within {timeout:g} s of CPU time"
    return f"Questions left out: {', '.join(f'{counts[name]:,} that {reason}' for name, reason in reasons.items())}."


def prepare(
    config: QuestionsConfig, folder: Path, workers: int | None, *, progress: bool = True, memory: float = MEMORY
) -> None:
    """Make the data set in `folder`, or finish it, or leave it as it is if it is finished.

    Drawing a batch, solving a question and judging an answer may take `memory` GB each.

    Raises:
        WorkFolderError: If the folder cannot take it.
        TaskFailedError: If the task's own code raises, or its judge calls an answer of its solver wrong.
        OptionsError: If too little was found (DrawingError if the task cannot draw what is asked for).
        ImportError: If a solver is not installed.
    """
    task = load_task(config.task, config.like)
    recipe, version = {**config.recipe(), "task": task.name, **config.digests()}, task.solver_version()
    description = {"builder": f"{config.KIND} {config.version}", **recipe, "solver_version": version}
    with claimed(folder, description) as work:
        if work is None:
            return
        harvest = generate(config, work, workers, progress=progress, memory=memory)
        try:
            made = config.made(task, harvest)
        except OptionsError:
            for shard in work.iterdir():
                shard.unlink()
            raise
        publish(task, folder, Origin(made.title, made.story, config.command(), version), made.splits)


def source_hash(task: SymbolTask) -> str:
    """A digest of the code that determines the data: of builders, solvers, and the task."""
    places = (Path(__file__).parents[1].rglob("*.py"), Path(str(solvers.__file__)).parent.glob("*.py"))
    files = [*sorted(chain(*places)), Path(inspect.getfile(type(task)))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


class RandomQuestions(datasets.GeneratorBasedBuilder):
    """Random questions as a builder; keyword arguments are fields of `RandomQuestionsConfig`."""

    VERSION = datasets.Version("3.0.0")
    BUILDER_CONFIG_CLASS: type[QuestionsConfig] = RandomQuestionsConfig
    SPLITS: tuple[str, ...] = SPLITS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        task = load_task(kwargs.get("task", self.BUILDER_CONFIG_CLASS.task))
        # `datasets` does not look at the code to find its cache.
        kwargs.setdefault("hash", source_hash(task))
        super().__init__(*args, **kwargs)
        self.config.validate()

    def _info(self) -> datasets.DatasetInfo:
        task = load_task(self.config.task, self.config.like)
        return datasets.DatasetInfo(
            description=task.description,
            features=datasets.Features.from_arrow_schema(schema(task)),
            license="apache-2.0",
        )

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        task = load_task(self.config.task, self.config.like)
        recipe = f"{type(self).__name__} {self.config.recipe()} {task.solver_version()} {source_hash(task)}"
        name = hashlib.sha256(recipe.encode()).hexdigest()[:16]
        folder = Path(dl_manager.download_config.cache_dir) / f"{task.name}-{name}"
        prepare(self.config, folder, dl_manager.download_config.num_proc or 1)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"files": list(map(str, split_files(folder, split)))})
            for split in self.SPLITS
        ]

    def _generate_examples(self, files: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        question = load_task(self.config.task, self.config.like).columns[0]
        for file in files:
            for row in read_rows(file):
                yield row[question], row
