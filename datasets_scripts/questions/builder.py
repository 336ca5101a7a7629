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
import fcntl
import hashlib
import inspect
import json
import math
import shutil
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import datasets

from hf_symbinv import solvers
from hf_symbinv.datasets_scripts import storage
from hf_symbinv.datasets_scripts.errors import BusyFolderError, OptionsError, TaskFailedError, WorkFolderError
from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.datasets_scripts.questions import sampling
from hf_symbinv.datasets_scripts.questions.sampling import SHORT, Gate
from hf_symbinv.datasets_scripts.storage import (
    CARD,
    MARKER,
    SPLITS,
    Pair,
    listed_checksums,
    publish,
    read_rows,
    require_whole,
    schema,
    split_files,
)
from hf_symbinv.errors import in_short
from hf_symbinv.files import read_json, write_atomically
from hf_symbinv.hub.cards.dataset import Origin
from hf_symbinv.remote import finished
from hf_symbinv.solvers import Checker
from hf_symbinv.solvers.cluster import RayPool, Workers, open_pool
from hf_symbinv.solvers.pool import MEMORY, Outcome, ProcessPool
from hf_symbinv.tasks import SymbolTask, load_task, symbol_names
from hf_symbinv.tasks.base import solve_ordered
from hf_symbinv.values import described, is_kind, is_text

# Rounds in a row in which no question of a size gets an answer, after which that size counts as exhausted.
FRUITLESS_ROUNDS = 50
# Symbols, and the size of a question: our choice, far above what a model reads.
LARGEST = 100_000
# So many times the limit of CPU time may pass by the clock. Our choice: both cores busy with several other programs.
WALL = 10
# Part of a size's rows that are drawn at a time once more are needed than there are rows. Our choice.
PORTION = 8
NO_ANSWER = "no answer"
UNJUDGED = "answer not judged"
AGAIN = "delete the folder and start again"
# In a data set that is not finished, the folder of finished shards.
WORK = ".work"
# So that every split of 80/10/10 has one.
LEAST_ROWS = 10


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

    def __post_init__(self) -> None:
        super().__post_init__()
        self.validate()

    def validate(self) -> None:
        """Raise ValueError for a value out of range (`datasets` also sets fields of configs that exist)."""
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if item.name in self.recipe() and not is_kind(value, type(item.default)):
                raise OptionsError(
                    f"{item.name}={in_short(value)}: must be {described(type(item.default))}; correct it"
                )
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

    def validate(self) -> None:
        super().validate()
        if self.rows < LEAST_ROWS:
            raise OptionsError(
                f"rows={self.rows}: ask for at least {LEAST_ROWS}, so that every split of 80/10/10 has one"
            )
        if self.like:
            most_rows(load_task(self.task, self.like), self.min_size, self.max_size, self.rows)


@dataclass
class Harvest:
    """What became of questions that were drawn: pairs, and how many ended otherwise (no answer, timeout, error, answer
    not judged)."""

    pairs: list[Pair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Harvest) -> None:
        self.pairs += other.pairs
        self.left_out += other.left_out


class FewerRowsWarning(UserWarning):
    """A data set has fewer rows than were asked for."""


def quotas(task: SymbolTask, min_size: int, max_size: int, rows: int) -> dict[int, int]:
    """Rows of each size, and of all small sizes together under the key `SHORT`."""
    sizes = list(range(max(min_size, task.uniform_from), max_size + 1))
    if not sizes:
        return {SHORT: rows}
    short = int(task.short_share * rows) if min_size < task.uniform_from else 0
    each, rest = divmod(rows - short, len(sizes))
    small = {SHORT: short} if min_size < task.uniform_from else {}
    return small | {size: each + (place < rest) for place, size in enumerate(sizes)}


def most_rows(task: SymbolTask, min_size: int, max_size: int, rows: int) -> dict[int, int]:
    """Rows of each size, at most, as DeepLTL's release has them: of a short size as many as of each longer one.

    Raises:
        OptionsError: If no size is that long.
    """
    sizes = max_size + 1 - max(min_size, task.uniform_from)
    if sizes < 1:
        raise OptionsError(
            f"max_size={max_size}: DeepLTL counts sizes from {task.uniform_from} up; ask for at least "
            f"{task.uniform_from}, or leave out like"
        )
    each = math.ceil(rows * (1 - task.short_share) / sizes)
    return dict.fromkeys(range(min_size, max_size + 1), each)


def missing_rows(quota: dict[int, int], have: Counter[int], exhausted: set[int]) -> dict[int, int]:
    """Rows to draw next; the sizes that are not exhausted stand in for those that are, large ones first."""
    surplus = sum(max(have[size] - rows, 0) for size, rows in quota.items())
    missing = {size: max(quota[size] - have[size], 0) for size in quota if size not in exhausted}
    lost = max(sum(max(quota[size] - have[size], 0) for size in exhausted) - surplus, 0)
    heirs = [size for size in missing if size != SHORT] or list(missing)
    if heirs:
        each, rest = divmod(lost, len(heirs))
        for place, size in enumerate(heirs):
            missing[size] += each + (place < rest)
    return {size: rows for size, rows in missing.items() if rows}


def missing_samples(quota: dict[int, int], have: Counter[int], exhausted: set[int]) -> dict[int, int]:
    """Rows to draw next, where no size stands in for another."""
    return {size: rows - have[size] for size, rows in quota.items() if size not in exhausted and have[size] < rows}


def solving_pool(
    task: SymbolTask, workers: Workers, timeout: float, memory: float = MEMORY, as_solved: bool = False
) -> ProcessPool | RayPool:
    """Processes that find answers with the task's solver, each within `timeout` seconds and `memory` GB."""
    return open_pool(
        task.solve if as_solved else partial(solve_ordered, task),
        workers=workers,
        timeout=timeout,
        initializer=task.prepare,
        isolate=task.shard,
        memory=memory,
        wall=WALL * timeout,
    )


class Candidates:
    """The streams of candidates, one for each quota.

    Args:
        gate: What draws.
        quota: Rows of each quota.
        seed: Of the questions.
    """

    def __init__(self, gate: Gate, quota: dict[int, int], *seed: object) -> None:
        self.gate, self.quota, self.seed = gate, quota, seed
        self.portions = 0
        self.waiting: dict[int, deque[str]] = {key: deque() for key in quota}

    def take(self, missing: dict[int, int], most: int | None = None) -> Iterator[str]:
        """The next candidates, as many of each quota as `missing` says, or as there are; with `most` the first ones."""
        if not self.portions or most is not None:
            self.portions += 1  # all of them are wanted, so they are solved at once
            yield from self.gate.draw(
                missing, *self.seed, self.portions - 1, most=sys.maxsize if most is None else most
            )
            return
        while any(len(self.waiting[key]) < rows for key, rows in missing.items() if key not in self.gate.exhausted):
            # One at least: a size with no rows of its own may stand in for others.
            more = {
                key: max(-(-rows // PORTION), 1) for key, rows in self.quota.items() if key not in self.gate.exhausted
            }
            for question in self.gate.draw(more, *self.seed, self.portions):
                self.waiting[self.gate.quota_of(self.gate.task.size(question))].append(question)
            self.portions += 1
        for key, rows in missing.items():
            for _ in range(min(rows, len(self.waiting[key]))):
                yield self.waiting[key].popleft()


class Rounds:
    """Draws and solves until the quotas are full, round by round.

    Args:
        gate: What draws.
        pool: What solves.
        checker: What judges the answers.
        work: Folder of the finished shards.
        bar: Counts the pairs.
    """

    def __init__(self, gate: Gate, pool: ProcessPool | RayPool, checker: Checker, work: Path, bar: Any) -> None:
        self.gate = gate
        self.pool = pool
        self.checker = checker
        self.work = work
        self.bar = bar

    def run(
        self,
        quota: dict[int, int],
        missing_after: Callable[[Counter[int], set[int]], dict[int, int]],
        name: str,
        *seed: object,
        most: int | None = None,
    ) -> Harvest:
        """Everything that was found.

        Args:
            quota: Rows of each quota.
            missing_after: From the pairs that there are by quota, and the quotas that are exhausted, how many of each
                to solve next; `quota` at first.
            name: Of the shards' files.
            seed: Of the questions.
            most: Pairs in all, those drawn first; None for all that `missing_after` asks for.
        """
        have, harvest, fruitless, rounds = Counter[int](), Harvest(), Counter[int](), count()
        candidates = Candidates(self.gate, quota, *seed)
        while most != len(harvest.pairs) and (missing := missing_after(have, self.gate.exhausted)):
            found, number, left = Counter[int](), next(rounds), most and most - len(harvest.pairs)
            for shard in self.solve(candidates.take(missing, left), f"{name}{number:02d}"):
                harvest.add(shard)
                found.update(self.gate.quota_of(self.gate.task.size(pair.question)) for pair in shard.pairs)
            have += found
            for key in missing:
                fruitless[key] = 0 if found[key] else fruitless[key] + 1
                if fruitless[key] == FRUITLESS_ROUNDS:
                    self.gate.exhausted.add(key)
        return harvest

    def solve(self, questions: Iterator[str], name: str) -> list[Harvest]:
        """Solve the questions shard by shard, and leave a file for each shard.

        Raises:
            TaskFailedError: If `solve` or `judge` raised for a question of a shard, or an answer of `solve` is wrong.
        """
        harvests: dict[int, Harvest] = {}
        waiting: deque[tuple[int, Path, list[str]]] = deque()

        def finish(index: int, harvest: Harvest) -> None:
            harvests[index] = harvest
            self.bar.update(len(harvest.pairs))

        def unsolved() -> Iterator[str]:
            for index in count():
                shard = list(islice(questions, self.gate.task.shard))
                if not shard:
                    return
                path = self.work / f"{name}-{index:06d}.json"
                if path.exists():
                    finish(index, read_shard(path, shard))
                else:
                    waiting.append((index, path, shard))
                    yield from shard

        outcomes: list[Outcome] = []
        for outcome in self.pool.map(unsolved()):
            outcomes.append(outcome)
            index, path, shard = waiting[0]
            if len(outcomes) == len(shard):
                waiting.popleft()
                entries = self.judged(shard, outcomes)
                write_atomically(path, json.dumps(entries, ensure_ascii=False))
                finished(path)
                finish(index, harvest_of(entries))
                outcomes = []
        return [harvests[index] for index in sorted(harvests)]

    def judged(self, questions: Sequence[str], outcomes: Sequence[Outcome]) -> list[list[str]]:
        """What a shard says about each of its questions, now that all of them are solved and the answers are judged.

        Raises:
            TaskFailedError: As `solve`; the traceback of the first exception goes to stderr.
        """
        name, count = self.gate.task.name, f"{len(questions):,}"
        raised = [place for place, outcome in enumerate(outcomes) if outcome.traceback]
        if raised:
            first = raised[0]
            self.bar.write(outcomes[first].traceback.rstrip(), file=sys.stderr)
            raise TaskFailedError(
                f"task {name}: solve raised an exception for {len(raised):,} of {count} questions, first for "
                f"{questions[first]!r} ({outcomes[first].value}); mend the task and repeat the command"
            )
        entries = [[question, *entry_of(outcome)] for question, outcome in zip(questions, outcomes, strict=True)]
        done = [entry for entry in entries if entry[1] == "done"]
        results = list(self.checker.check([(question, answer) for question, _, answer in done]))
        failed = [place for place, result in enumerate(results) if result.traceback]
        if failed:
            question, _, answer = done[failed[0]]
            raise TaskFailedError(
                f"task {name}: judge raised an exception for {len(failed):,} of {len(done):,} answers of solve, first "
                f"for {answer!r} to {question!r} ({results[failed[0]].message}); mend the task and repeat the command"
            )
        wrong = [place for place, result in enumerate(results) if result.verdict in ("incorrect", "invalid")]
        if wrong:
            question, _, answer = done[wrong[0]]
            raise TaskFailedError(
                f"task {name}: judge calls {len(wrong):,} of {len(done):,} answers of solve wrong, first {answer!r} to "
                f"{question!r}: {results[wrong[0]].verdict}, {results[wrong[0]].message or 'no reason given'}; mend "
                "solve or judge and repeat the command"
            )
        for entry, result in zip(done, results, strict=True):
            if result.verdict != "correct":
                entry[1:] = [UNJUDGED, ""]
        return entries


def entry_of(outcome: Outcome) -> tuple[str, str]:
    """What a shard says about a question: `done` and the answer, or why there is none."""
    if outcome.status != "done":
        return outcome.status, ""
    if outcome.value is not None and not is_text(outcome.value):
        raise TaskFailedError(f"solve returned {outcome.value!r:.200}; return a text, or None if there is no answer")
    return (NO_ANSWER, "") if outcome.value is None else ("done", outcome.value)


def harvest_of(entries: Sequence[Sequence[str]]) -> Harvest:
    pairs = [Pair(question, answer) for question, status, answer in entries if status == "done"]
    return Harvest(pairs, Counter(status for _, status, _ in entries if status != "done"))


def read_shard(path: Path, questions: Sequence[str]) -> Harvest:
    """What became of the questions of a finished shard.

    Raises:
        WorkFolderError: If the file does not belong to these questions.
    """
    entries = read_json(path, AGAIN, WorkFolderError)
    whole = isinstance(entries, list) and all(
        isinstance(entry, list) and len(entry) == 3 and all(isinstance(part, str) for part in entry)
        for entry in entries
    )
    if not whole or [question for question, _, _ in entries] != list(questions):
        raise WorkFolderError(f"{path}: not the questions of this data set; {AGAIN}")
    return harvest_of(entries)


def generate(
    config: RandomQuestionsConfig, work: Path, workers: Workers, *, progress: bool = True, memory: float = MEMORY
) -> Harvest:
    """Draw and solve until every size is full, or as a release does it; with finished shards kept in `work`."""
    task = load_task(config.task, config.like)
    asked = task, config.min_size, config.max_size, config.rows
    quota = most_rows(*asked) if config.like else quotas(*asked)
    missing = partial(missing_samples if config.like else missing_rows, quota)
    with (
        solving_pool(task, workers, config.timeout, memory, config.as_solved) as pool,
        task.checker(workers=workers, timeout=config.timeout, memory=memory, wall=WALL * config.timeout) as checker,
        Gate(
            task,
            symbol_names(config.num_symbols),
            config.min_size,
            config.max_size,
            1 if config.like else task.uniform_from,
            memory,
        ) as gate,
        progress_of("pairs", config.rows, show=progress) as bar,
    ):
        rounds = Rounds(gate, pool, checker, work, bar)
        harvest = rounds.run(quota, missing, "", config.seed, most=config.rows if config.like else None)
    return harvest


def assign_splits(pairs: Sequence[Pair], seed: int) -> dict[str, list[Pair]]:
    """Shuffle and cut into 80 % train, 10 % validation and 10 % test.

    The place of a pair follows from the seed and its question, so that a few other pairs move hardly any to another
    split.
    """
    shuffled = sorted(pairs, key=lambda pair: hashlib.sha256(f"{seed}/{pair.question}".encode()).digest())
    tenth = len(shuffled) // 10
    return {"train": shuffled[2 * tenth :], "validation": shuffled[:tenth], "test": shuffled[tenth : 2 * tenth]}


@contextmanager
def claimed(folder: Path, description: dict[str, Any]) -> Iterator[Path | None]:
    """Hold the work folder inside `folder` for the data set that `description` describes; None if it is complete.

    What is refused before anything was made leaves no trace, so that another try may use the folder.

    Raises:
        WorkFolderError: If `folder` holds another data set, or lacks files of its own, or another process holds it.
    """
    marker = folder / MARKER
    if not marker.exists() and ((folder / CARD).exists() or (folder / "data").exists()):
        raise WorkFolderError(f"{folder}: holds a data set of other origin; choose another folder")
    work = folder / WORK
    work.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyFolderError(f"{folder}: another process is writing here; wait or choose another folder") from None
        fresh = not marker.exists()
        if fresh:
            write_atomically(marker, json.dumps(description, indent=2) + "\n")
            finished(marker)
        elif read_json(marker, "delete the folder, or choose another", WorkFolderError) != description:
            raise WorkFolderError(
                f"{folder}: holds a data set made in another way, see {marker.name}; choose another folder or delete it"
            )
        _refuse_lost_files(folder)
        if (folder / CARD).exists():
            require_whole(folder)
        try:
            yield None if (folder / CARD).exists() else work
        except (ValueError, OSError) as error:
            if isinstance(error, TaskFailedError):  # what the task said so far may be as wrong
                for shard in work.iterdir():
                    shard.unlink()
            if fresh and not any(work.iterdir()) and not (folder / "data").exists():
                work.rmdir()
                marker.unlink()
                Path(lock.name).unlink()
                if not any(folder.iterdir()):
                    folder.rmdir()
            raise
        shutil.rmtree(work)


def _refuse_lost_files(folder: Path) -> None:
    """A folder with a card is complete, unless a file that the card lists is gone."""
    lost = [name for name in listed_checksums(folder) if not (folder / name).is_file()]
    if lost:
        raise WorkFolderError(
            f"{folder}: its {CARD} lists {lost[0]}, which is not there; put it back, or delete {CARD} and repeat the "
            "command, which makes the data again"
        )


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
    config: RandomQuestionsConfig,
    folder: Path,
    workers: Workers,
    *,
    progress: bool = True,
    memory: float = MEMORY,
) -> None:
    """Make the data set in `folder`, or finish it, or leave it as it is if it is finished.

    Args:
        config: Of the data set.
        folder: Made if there is none.
        workers: Number of processes, None for one per available core; or the cluster that they run on.
        progress: Whether progress is shown.
        memory: Limit in GB for drawing a batch, solving a question and judging an answer, as `ProcessPool` takes it.

    Raises:
        WorkFolderError: If the folder cannot take it.
        TaskFailedError: If the task's own code raises, or its judge calls an answer of its solver wrong.
        OptionsError: If too little was found for three splits (DrawingError if the task cannot draw what is asked for).
        ImportError: If a solver is not installed.
    """
    task = load_task(config.task, config.like)
    recipe, version = {**config.recipe(), "task": task.name}, task.solver_version()
    with claimed(folder, {"builder": f"random {config.version}", **recipe, "solver_version": version}) as work:
        if work is None:
            return
        harvest = generate(config, work, workers, progress=progress, memory=memory)
        if len(harvest.pairs) < LEAST_ROWS:
            for shard in work.iterdir():
                shard.unlink()
            raise OptionsError(
                f"num_symbols={config.num_symbols}, sizes {config.min_size} to {config.max_size}: only "
                f"{len(harvest.pairs)} different questions with answers turned up, and three splits take at least "
                f"{LEAST_ROWS}; ask for more symbols or larger sizes"
            )
        if len(harvest.pairs) < config.rows:
            warnings.warn(
                f"rows={config.rows}: only {len(harvest.pairs)} different questions with answers turned up "
                f"with num_symbols={config.num_symbols} and sizes {config.min_size} to {config.max_size}",
                FewerRowsWarning,
                stacklevel=2,
            )
        uniform = (
            f" Sizes from {task.uniform_from} up are equally frequent." if task.uniform_from < config.max_size else ""
        )
        if config.like:
            uniform = f" They are drawn as in the release of {config.like}."
        origin = Origin(
            title=f"{task.name}, {config.num_symbols} symbols, sizes {config.min_size} to {config.max_size}",
            story=f"Random questions of the task {task.name} with answers.{uniform} "
            + left_out(harvest.left_out, config.timeout),
            command=config.command(),
            solver_version=version,
        )
        publish(task, folder, origin, assign_splits(harvest.pairs, config.seed))


def source_hash(builder: type[RandomQuestions], task: SymbolTask) -> str:
    """A digest of the code that determines the data."""
    modules = [__file__, sampling.__file__, storage.__file__, inspect.getfile(builder), inspect.getfile(type(task))]
    digest = hashlib.sha256()
    for path in (*map(Path, modules), *sorted(Path(str(solvers.__file__)).parent.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class RandomQuestions(datasets.GeneratorBasedBuilder):
    """Random questions as a builder; keyword arguments are fields of `RandomQuestionsConfig`."""

    VERSION = datasets.Version("3.0.0")
    BUILDER_CONFIG_CLASS: type[QuestionsConfig] = RandomQuestionsConfig
    SPLITS: tuple[str, ...] = SPLITS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        task = load_task(kwargs.get("task", self.BUILDER_CONFIG_CLASS.task))
        # `datasets` does not look at the code to find its cache.
        kwargs.setdefault("hash", source_hash(type(self), task))
        super().__init__(*args, **kwargs)
        self.config.validate()

    def prepare_folder(self, folder: Path, workers: int) -> None:
        """Make the data set in `folder`."""
        prepare(self.config, folder, workers)

    def _info(self) -> datasets.DatasetInfo:
        task = load_task(self.config.task, self.config.like)
        return datasets.DatasetInfo(
            description=task.description,
            features=datasets.Features.from_arrow_schema(schema(task)),
            license="apache-2.0",
        )

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        task = load_task(self.config.task, self.config.like)
        recipe = f"{type(self).__name__} {self.config.recipe()} {task.solver_version()} {source_hash(type(self), task)}"
        name = hashlib.sha256(recipe.encode()).hexdigest()[:16]
        folder = Path(dl_manager.download_config.cache_dir) / f"{task.name}-{name}"
        self.prepare_folder(folder, dl_manager.download_config.num_proc or 1)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"files": list(map(str, split_files(folder, split)))})
            for split in self.SPLITS
        ]

    def _generate_examples(self, files: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        question = load_task(self.config.task, self.config.like).columns[0]
        for file in files:
            for row in read_rows(file):
                yield row[question], row
