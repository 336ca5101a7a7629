"""Random questions with the sizes that are asked for, drawn by a task in a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from hf_symbinv.datasets_scripts.errors import DrawingError
from hf_symbinv.datasets_scripts.progress import Watch
from hf_symbinv.solvers.pool import MEMORY, ProcessPool
from hf_symbinv.solvers.worker import traceback_of
from hf_symbinv.tasks import SymbolTask
from hf_symbinv.tasks.base import MeasureError, size_of, symbols_of
from hf_symbinv.values import is_text

# Questions tried at a time: some 5 ms of work for LTL.
BATCH = 1000
# Seconds for a batch, at most. Our choice: the slowest of the package's tasks takes under one.
DRAW_SECONDS = 600.0
# Batches that are drawn while earlier ones are looked through.
AHEAD = 4
# Questions drawn for a cell of a grid in a row without a new one, after which it counts as exhausted. Our choice: of
# strings with 60 symbols and up to 80 places, one in 5,000 falls into a given cell.
GRID_DROUGHT = 200_000
# The quota of all sizes below the task's `uniform_from` together.
SHORT = 0


def seed_of(*parts: object) -> int:
    """A seed for a generator, a function of `parts` alone."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1  # Spot takes a signed 32-bit integer


def is_users(task: SymbolTask) -> bool:
    """Whether a task comes from a user's file: its refusals are shown with tracebacks, as they may be bugs."""
    return not type(task).__module__.startswith("hf_symbinv.")


class Order(NamedTuple):
    """A batch of questions to draw: the arguments of `SymbolTask.draw`."""

    symbols: tuple[str, ...]
    smallest: int
    largest: int
    seed: int
    tries: int


def draw_batch(task: SymbolTask, order: Order) -> list[str]:
    """The questions of an order; a function of the order only in a process that does nothing else.

    A user's task also measures them here first: if that ends its process, the command that draws goes on and says so.
    """
    questions = task.draw(*order)
    if is_users(task):
        with contextlib.suppress(Exception, SystemExit):  # it comes again where the sizes are used
            for question in questions:
                task.size(question)
                task.symbols(question)
    return questions


class Gate:
    """Draws new questions of a task until every size has as many as are missing, in a process of its own.

    Sizes from `uniform_from` up have a quota of their own; those below share the quota `SHORT`. A batch may take
    `memory` GB.
    """

    def __init__(
        self,
        task: SymbolTask,
        symbols: Sequence[str],
        min_size: int,
        max_size: int,
        uniform_from: int,
        memory: float = MEMORY,
    ) -> None:
        self.task, self.symbols = task, tuple(symbols)
        self.min_size, self.max_size, self.uniform_from = min_size, max_size, uniform_from
        self.seen: set[str] = set()
        self.exhausted: set[int] = set()
        self._drought = -(-task.drought // BATCH)  # in batches
        self._dry: Counter[int] = Counter()  # batches in a row without a hit, by quota
        remedy = f", or give the task a `drought` of less than {task.drought:,}" if is_users(task) else ""
        self._watch = Watch(
            1 / BATCH,
            "were new",
            "the size leaves its rows to others when no new one turns up; "
            f"to wait less, ask for more symbols or larger sizes{remedy}",
        )
        self._pool = ProcessPool(
            partial(draw_batch, task), workers=1, timeout=DRAW_SECONDS, initializer=task.prepare, memory=memory
        )

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def quota_of(self, size: int) -> int:
        """The quota that questions of this size count for: the size itself, or `SHORT` for the small ones."""
        return size if size >= self.uniform_from else SHORT

    def accepts(self, question: str) -> bool:
        """Whether a question of a wanted size is wanted."""
        return True

    def draw(self, missing: dict[int, int], *seed: object, most: int = sys.maxsize) -> Iterator[str]:
        """Yield, for every quota, as many new questions as `missing` says, and `most` in all."""
        missing = {quota: rows for quota, rows in missing.items() if rows}
        # The smallest quota that was missing when each batch had been looked through, None if there was none.
        history = [min(missing, default=None)] * AHEAD

        def orders() -> Iterator[Order]:
            for batch in count():
                # This one is known whatever the processes' speed, since no more than AHEAD batches are under way.
                quota = history[batch]
                if quota is None:
                    return
                yield Order(self.symbols, quota or self.min_size, self.max_size, seed_of(*seed, batch), BATCH)

        self._dry.clear()
        for outcome in self._pool.map(orders(), window=AHEAD):
            if outcome.status != "done":
                if outcome.traceback and is_users(self.task):
                    print(outcome.traceback, end="", file=sys.stderr)
                raise DrawingError(
                    f"task {self.task.name} cannot draw sizes {self.min_size} to {self.max_size} with "
                    f"{len(self.symbols)} symbols: {outcome.value}; --num-symbols and, of a grid, --min-symbols say "
                    "how many it gets"
                )
            hits, before = set[int](), len(self.seen)
            for question, size in self._sizes(outcome.value):
                quota = self.quota_of(size)
                if quota in missing and size >= self.min_size and question not in self.seen and self.accepts(question):
                    self.seen.add(question)
                    hits.add(quota)
                    missing[quota] -= 1
                    if not missing[quota]:
                        del missing[quota]
                    most -= 1
                    if not most:
                        missing.clear()
                    self._measured("symbols", symbols_of, question)
                    yield question
            for quota in self.given_up(missing, hits):
                self.exhausted.add(quota)
                del missing[quota]
            history.append(min(missing, default=None))
            self._watch.look(len(outcome.value), len(self.seen) - before, missing, self.uniform_from)

    def _sizes(self, questions: Sequence[str]) -> Iterator[tuple[str, int]]:
        """The questions of a batch with their sizes."""
        if not isinstance(questions, list) or not all(map(is_text, questions)):
            raise DrawingError(f"task {self.task.name}: draw returned {questions!r:.200}; return a list of texts")
        for question in questions:
            yield question, self._measured("size", size_of, question)

    def _measured(self, method: str, measure: Callable[[SymbolTask, str], Any], question: str) -> Any:
        """What a method of the task says of a question that it drew."""
        try:
            return measure(self.task, question)
        except MeasureError:
            raise
        except Exception as error:  # whatever a user's task raises
            print(traceback_of(error), end="", file=sys.stderr)
            raise DrawingError(
                f"task {self.task.name}: {method} raised {type(error).__name__} for {question!r}, which draw returned; "
                "mend the task"
            ) from error

    def given_up(self, missing: dict[int, int], hits: set[int]) -> list[int]:
        """The quotas of `missing` that count as exhausted after another batch, which had `hits`."""
        smallest = min(missing, default=SHORT)
        self._dry[SHORT] = 0 if hits else self._dry[SHORT] + 1
        if not missing or self._dry[SHORT] < self._drought:
            return []
        self._dry[SHORT] = 0
        return [smallest]


class GridGate(Gate):
    """Draws questions in which all of `symbols` occur, with a quota for every size, and none that is in `known` up to a
    renaming.

    Sizes that are too small for so many symbols wait for nothing beside those that turn up; so every size is given up
    after a drought of its own.
    """

    def __init__(
        self,
        task: SymbolTask,
        symbols: Sequence[str],
        min_size: int,
        max_size: int,
        known: Set[str] = frozenset(),
        memory: float = MEMORY,
    ) -> None:
        super().__init__(task, symbols, min_size, max_size, uniform_from=1, memory=memory)
        self._known = known
        self._drought = GRID_DROUGHT // BATCH

    def accepts(self, question: str) -> bool:
        fits = len(self.task.symbols(question)) == len(self.symbols)
        return fits and not (self._known and self.task.alpha_class(question) in self._known)

    def given_up(self, missing: dict[int, int], hits: set[int]) -> list[int]:
        for quota in missing:
            self._dry[quota] = 0 if quota in hits else self._dry[quota] + 1
        return [quota for quota in missing if self._dry[quota] >= self._drought]
