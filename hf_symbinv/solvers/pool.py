"""A pool of processes with a hard limit for every item.

Spot can spend minutes inside one C++ call in which no Python signal arrives; the only thing that stops it is the end of
its process. `ProcessPool` therefore watches its workers from outside: it kills the one whose item has run out of time,
starts another, and goes on with everything else as if nothing had happened.

    with ProcessPool(math.factorial, workers=2, timeout=10.0) as pool:
        for outcome in pool.map([10, 100, 1000]):
            print(outcome.status, outcome.value)

Workers are fresh interpreters that run `worker.py`, not forks of this process and not children of `multiprocessing`. A
fork of a process that has loaded torch or started threads may deadlock; spawn and forkserver import the main script
again, which then needs an `if __name__ == "__main__"`, and forbid pools inside of pools. A worker is ready 0.05 s after
its start, plus what its function imports (0.05 s for Spot), and serves any number of items.
"""

from __future__ import annotations

import contextlib
import logging
import math
import mmap
import os
import pickle
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hf_symbinv.auto_classes import imports_transformers
from hf_symbinv.errors import UserError, explain
from hf_symbinv.solvers.worker import HEADER, IDLE, STAMP, Result, Setup, encode

# Work per message: enough that the 0.1 ms a message costs is lost in it, little enough that the pool stays responsive.
CHUNK_SECONDS = 0.02
LARGEST_CHUNK = 256
# Chunks that a worker holds, so that the next is there when one is finished.
CHUNKS_PER_WORKER = 2
# Items read ahead of the oldest unfinished one, for each worker: at 0.5 ms an item two seconds of work for the others
# while one hangs.
WINDOW_PER_WORKER = 4096
# How often a slow consumer's calls look after the workers.
POLL_SECONDS = 0.005
# Workers lost in a row with no item to blame and no result in between, after which the pool gives up.
PATIENCE = 3
# Address space of a worker beyond what it has when it is ready, in GB. Our choice: formulas of the papers take some ten
# MB, and one that grows without end 160 MB a second.
MEMORY = 4.0
# Seconds from the start of a worker until it is ready. Our choice: the largest libraries load in some ten.
PREPARE_SECONDS = 300.0
# How often the memory of a worker that is not ready is looked at.
PREPARE_POLL_SECONDS = 0.05
BUSY = "this pool is busy: exhaust or close the iterator of its other map first"

_logger = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """What became of one item.

    Args:
        status: `done`, `timeout` (the hard limit was reached) or `error` (the function raised, or its process died).
        value: The function's result, or a message if there is none.
        seconds: Time spent on the item, by the clock.
        traceback: Of the exception that the function raised; empty for everything else.
    """

    status: Literal["done", "timeout", "error"]
    value: Any
    seconds: float
    traceback: str = ""


class PoolError(UserError):
    """The workers of a `ProcessPool` cannot run at all."""


class Chunk(NamedTuple):
    """Consecutive items that travel in one message."""

    numbers: list[int]
    items: list[Any]

    def only(self, places: list[int]) -> Chunk:
        return Chunk([self.numbers[place] for place in places], [self.items[place] for place in places])


def available_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def no_preparation() -> None:
    """The initializer of a pool that needs none."""


class Running(NamedTuple):
    """An item that is being computed: since when, its position in its chunk, by which process, and the CPU time that
    this process had used before."""

    start: float
    position: int
    process: int
    used: float

    def left(self, timeout: float, wall: float) -> float:
        """Seconds until it may reach a limit: of CPU time, where the system tells, or by the clock."""
        elapsed = time.monotonic() - self.start
        try:  # the clock of another process, as clock_getcpuclockid(3) of Linux makes it
            elapsed_cpu = time.clock_gettime(~self.process << 3 | 2) - self.used
        except (OSError, OverflowError):
            elapsed_cpu = elapsed
        return min(timeout - elapsed_cpu, wall - elapsed)


class _Worker:
    """One worker process and the chunks it holds, the first of which it is computing."""

    def __init__(self, setup: bytes) -> None:
        self.started, self.is_ready = time.monotonic(), False
        self.connection, theirs = socket.socketpair()
        lifeline, self.lifeline = os.pipe()
        with theirs, tempfile.TemporaryFile() as stamp_file:
            stamp_file.truncate(STAMP.size)
            self.stamp = mmap.mmap(stamp_file.fileno(), STAMP.size)
            descriptors = (theirs.fileno(), lifeline, stamp_file.fileno())
            script = Path(__file__).with_name("worker.py")
            self.process = subprocess.Popen(
                [sys.executable, str(script), *map(str, descriptors)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a function prints must not mix with the results of the command that runs it
                pass_fds=descriptors,
                start_new_session=True,  # a group of its own, so that `kill` takes forks along
            )
        os.close(lifeline)
        self.owner = os.getpid()
        self.connection.setblocking(False)
        self.chunks: deque[Chunk] = deque()
        self.results: list[Outcome] = []  # of chunks[0]
        self.incoming = bytearray()
        self.outgoing = bytearray(setup)

    def resident(self) -> float:
        """The memory that the process takes, in GB, as far as Linux tells."""
        try:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * resource.getpagesize() / 1e9
        except (OSError, IndexError):
            return 0.0

    def running(self) -> Running | None:
        """The item that is being computed, None if there is none."""
        found = Running(*STAMP.unpack_from(self.stamp, 0))
        return None if found.start == IDLE else found

    def write(self) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self.outgoing:
                del self.outgoing[: self.connection.send(self.outgoing)]

    def read(self) -> tuple[list[tuple[str, Any]], bool]:
        """The messages that have arrived, and whether more can."""
        alive = True
        while True:
            try:
                data = self.connection.recv(1 << 18)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            if not data:
                alive = False
                break
            self.incoming += data
        messages = []
        while len(self.incoming) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self.incoming)[0]
            if len(self.incoming) < end:
                break
            messages.append(pickle.loads(memoryview(self.incoming)[HEADER.size : end]))
            del self.incoming[:end]
        return messages, alive

    def kill(self) -> int:
        """End the process and its forks; its exit code."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def close(self) -> None:
        if os.getpid() != self.owner:  # a fork of the owner: the worker is not its own
            return
        if self.process.returncode is None:
            self.kill()
        self.connection.close()
        os.close(self.lifeline)
        self.stamp.close()


def _close_all(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().close()


class ProcessPool:
    """Calls a function on items in other processes, with a hard limit for every item.

    Args:
        function: Takes one item; defined at the top level of an importable module.
        workers: Number of processes, at most; None for one per available core. They are started when there is work.
        timeout: Limit for one item in seconds of CPU time, `math.inf` for none. Starting a worker does not count.
        initializer: Called once in every worker before its first item, for imports that shall not count either.
        isolate: None, or the length of the runs into which the items are cut. The items of a run are computed in order
            by a fresh fork of a worker as it was after `initializer`, so that a result depends on nothing but the items
            before it in its run, whatever hidden state the function leaves behind; a run in which an item reaches the
            limit is computed again without that item. A run costs some 5 ms more than its items.
        memory: Address space in GB that an item may take beyond what its worker has after `initializer`, on Linux;
            `math.inf` for no limit. An item that takes more is an `error`. `initializer` may take as much memory.
        wall: Limit for one item in seconds by the clock; default `timeout`. With a much larger one it does not depend
            on what else the machine does whether an item reaches the limit.

    Raises:
        ValueError: For an argument out of range, or a function that other processes cannot import.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        workers: int | None = None,
        timeout: float,
        initializer: Callable[[], object] = no_preparation,
        isolate: int | None = None,
        memory: float = MEMORY,
        wall: float | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: a pool needs at least one worker; use None for one per core")
        if not memory > 0:
            raise ValueError(f"memory={memory}: the limit must be positive gigabytes; use math.inf for no limit")
        if not timeout > 0:
            raise ValueError(f"timeout={timeout}: the limit must be positive seconds; use math.inf for no limit")
        if isolate is not None and isolate < 1:
            raise ValueError(f"isolate={isolate}: a run has at least one item; use None to do without runs")
        self.workers = workers or available_cores()
        self.timeout, self.memory, self._isolate = timeout, memory, isolate
        self.wall = timeout if wall is None else wall
        light = not any(map(imports_transformers, _files(function)))
        pickles = _pickled(function), _pickled(initializer)
        self._setup = encode(tuple(Setup(sys.path, *pickles, isolate is not None, light, memory)))
        self._team: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _close_all, self._team)
        self._mapping = False
        self._item_seconds = CHUNK_SECONDS  # moving average; the first chunks hold one item

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, busy or not."""
        _close_all(self._team)

    def warm_up(self) -> None:
        """Wait until a worker is ready, which shows that `initializer` does its work within its limits.

        Raises:
            ImportError: If `initializer` raised it because a library is missing, with a sentence on it.
            PoolError: If it raised another exception, or took too long or too much memory.
        """
        job = _Job(self, iter(()), 1)
        try:
            while not any(worker.is_ready for worker in self._team):
                if not self._team:
                    self._team.append(_Worker(self._setup))
                job.look_after_workers(block=True)
        except BaseException:
            self.close()
            raise

    @property
    def busy(self) -> bool:
        """A `map` or an attempt has not ended."""
        return self._mapping

    def start(self, item: Any) -> Attempt:
        """Compute one item beside other work of this process; `poll` the attempt, often, for what became of it.

        Raises:
            RuntimeError: If a `map` or another attempt of this pool has not ended.
        """
        if self._mapping:
            raise RuntimeError(BUSY)
        return Attempt(self, item)

    def map(self, items: Iterable[Any], *, window: int | None = None) -> Generator[Outcome, None, None]:
        """Yield one `Outcome` for every item, in order, as soon as it and all before it are known.

        Items are read lazily, in the calling thread, at most `window` (and at least one run) ahead of the oldest that
        is not finished. Limits are enforced while the iterator is advanced; an item that took longer while nobody
        looked is a `timeout` all the same. If the iterator is dropped half-way, the items in progress are abandoned and
        their workers killed.

        Raises:
            RuntimeError: If another `map` of this pool has not ended.
            ImportError, PoolError: As `start`, or if workers keep dying for no item's fault.
        """
        if window is not None and window < 1:
            raise ValueError(f"window={window}: at least one item must be read ahead")
        if self._mapping:
            raise RuntimeError(BUSY)
        self._mapping = True
        job = _Job(self, iter(items), max(window or WINDOW_PER_WORKER * self.workers, self._isolate or 1))
        try:
            yield from job.run()
        finally:
            self._mapping = False
            for worker in [worker for worker in self._team if worker.chunks]:
                self._team.remove(worker)
                worker.close()


class Attempt:
    """One item in a pool that has no other work; `ProcessPool.start` makes it."""

    def __init__(self, pool: ProcessPool, item: Any) -> None:
        self._pool, self._job = pool, _Job(pool, iter([item]), 1)
        pool._mapping = True
        self._outcome: Outcome | None = None

    def poll(self) -> Outcome | None:
        """What became of the item, None while it is being computed; limits are enforced in this call."""
        if self._outcome is None and self._pool._mapping:
            self._job.look_after_workers(block=False)
            self._outcome = self._job.finished.get(0)
            if self._outcome is not None:
                self._pool._mapping = False
        return self._outcome

    def seconds(self) -> float:
        """Wall-clock time spent on the item; 0 while its worker is not ready."""
        if self._outcome is not None:
            return self._outcome.seconds
        starts = [running.start for worker in self._pool._team if (running := worker.running())]
        return time.monotonic() - starts[0] if starts else 0.0

    def cancel(self) -> None:
        """Stop it, whether it is finished or not; its worker ends if it is not."""
        if self._outcome is None and self._pool._mapping:
            self._pool._mapping = False
            self._pool.close()


class _Job:
    """One call of `ProcessPool.map`."""

    def __init__(self, pool: ProcessPool, items: Iterator[Any], window: int) -> None:
        self.pool, self.team = pool, pool._team
        self.items, self.window = items, window
        self.pulled = self.yielded = 0
        self.exhausted = False
        self.finished: dict[int, Outcome] = {}
        self.again: deque[Chunk] = deque()
        self.losses = 0

    def run(self) -> Iterator[Outcome]:
        polled = -math.inf
        while True:
            if time.monotonic() - polled > POLL_SECONDS:
                self.look_after_workers(block=False)
                polled = time.monotonic()
            if self.yielded in self.finished:
                outcome = self.finished.pop(self.yielded)
                self.yielded += 1
                yield outcome
            elif self.exhausted and self.yielded == self.pulled:
                return
            else:
                self.look_after_workers(block=True)
                polled = time.monotonic()

    def look_after_workers(self, *, block: bool) -> None:
        self.hand_out_chunks()
        with selectors.DefaultSelector() as selector:
            for worker in self.team:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.outgoing else 0)
                selector.register(worker.connection, events, worker)
            ready = selector.select(self.time_left() if block else 0)
        for key, events in ready:
            if events & selectors.EVENT_WRITE:
                key.data.write()
            if events & selectors.EVENT_READ:
                self.receive(key.data)
        for worker in list(self.team):
            if not worker.is_ready:
                self.refuse_slow_start(worker)
            running = worker.running()
            if worker.chunks and running and running.left(self.pool.timeout, self.pool.wall) < 0:
                self.bury(worker, late=running)
        self.hand_out_chunks()

    def refuse_slow_start(self, worker: _Worker) -> None:
        """Ends a worker that takes too long, or too much memory, to be ready."""
        limit, reason = self.pool.memory, None
        if time.monotonic() - worker.started > PREPARE_SECONDS:
            reason = f"was not ready after {PREPARE_SECONDS:g} s"
        elif not math.isinf(limit) and worker.resident() > limit:
            reason = f"took more than {limit:g} GB of memory before it was ready"
        if reason is not None:
            self.team.remove(worker)
            worker.close()
            raise PoolError(f"a worker {reason}; load in `prepare` only what `draw`, `solve` and `judge` need")

    def time_left(self) -> float:
        """Seconds until some item, or a worker that is not ready, may run out of time."""
        left = [1.0, *(PREPARE_POLL_SECONDS for worker in self.team if not worker.is_ready)]
        for worker in self.team:
            if worker.chunks and (running := worker.running()):
                left.append(running.left(self.pool.timeout, self.pool.wall))
        return max(min(*left, self.pool.timeout), 0.001)

    def hand_out_chunks(self) -> None:
        while True:
            idle = min(self.team, key=lambda worker: len(worker.chunks), default=None)
            if (idle is None or idle.chunks) and len(self.team) < self.pool.workers:
                idle = None
            elif idle is None or len(idle.chunks) >= CHUNKS_PER_WORKER:
                return
            chunk = self.next_chunk()
            if chunk is None:
                return
            message = encode(chunk.items)
            if idle is None:
                idle = _Worker(self.pool._setup)
                self.team.append(idle)
            idle.chunks.append(chunk)
            idle.outgoing += message
            idle.write()

    def next_chunk(self) -> Chunk | None:
        if self.again:
            return self.again.popleft()
        size = self.pool._isolate or min(max(int(CHUNK_SECONDS / self.pool._item_seconds), 1), LARGEST_CHUNK)
        room = self.window - (self.pulled - self.yielded)
        if self.exhausted or room < (self.pool._isolate or 1):
            return None
        size = min(size, room)
        items = list(islice(self.items, size))
        self.exhausted = len(items) < size
        numbers = list(range(self.pulled, self.pulled + len(items)))
        self.pulled += len(items)
        return Chunk(numbers, items) if items else None

    def receive(self, worker: _Worker) -> None:
        messages, alive = worker.read()
        for kind, value in messages:
            if kind == "failed":
                raise cannot_start(*value)
            if kind == "ready":
                worker.is_ready = True
            if kind == "results":
                self.losses = 0
                self.accept(worker, value)
        if not alive:
            self.bury(worker)

    def accept(self, worker: _Worker, results: list[Result]) -> None:
        for status, value, seconds, used in results:
            if used > self.pool.timeout or seconds > self.pool.wall:  # the parent was elsewhere and did not see it
                worker.results.append(self.timed_out(seconds))
            elif status == "error":
                message, traceback = value
                worker.results.append(Outcome("error", message, seconds, traceback))
            else:
                worker.results.append(Outcome("done", value, seconds))
        chunk = worker.chunks[0]
        if len(worker.results) == len(chunk.items):
            mean = sum(outcome.seconds for outcome in worker.results) / len(chunk.items)
            self.pool._item_seconds = max(0.5 * self.pool._item_seconds + 0.5 * mean, 1e-6)
            self.finished.update(zip(chunk.numbers, worker.results, strict=True))
            worker.chunks.popleft()
            worker.results = []

    def timed_out(self, seconds: float) -> Outcome:
        return Outcome("timeout", f"stopped at the limit of {self.pool.timeout:g} s", seconds)

    def bury(self, worker: _Worker, *, late: Running | None = None) -> None:
        """Take out a worker that hangs at the `late` item or has died, blame its item and requeue the rest."""
        code = worker.kill()
        for kind, value in worker.read()[0]:
            if kind == "results":
                self.accept(worker, value)
        self.team.remove(worker)
        running, now = worker.running(), time.monotonic()
        worker.close()
        if worker.chunks:
            first = worker.chunks.popleft()
            # A run is computed again without the item that is to blame, and everything else once.
            known = worker.results if self.pool._isolate is None else []
            self.finished.update(zip(first.numbers, known, strict=False))
            left = list(range(len(known), len(first.items)))
            if running is not None and (
                late is None or running.start == late.start
            ):  # else it ended at the last moment
                seconds = now - running.start
                blame = self.timed_out(seconds) if late else Outcome("error", describe_death(code), seconds)
                self.finished[first.numbers[running.position]] = blame
                left.remove(running.position)
            if left:
                worker.chunks.appendleft(first.only(left))
            self.again.extendleft(reversed(worker.chunks))
        if running is None and late is None:
            self.losses += 1
            if self.losses == PATIENCE:
                raise PoolError(f"{PATIENCE} workers in a row {describe_death(code)} before they computed anything")


def _parts(function: Callable[..., Any]) -> Iterator[Any]:
    """A function and the arguments of a `functools.partial`, and the objects of those that are methods."""
    for part in (function, *getattr(function, "args", ())):
        yield part
        yield getattr(part, "__self__", None)


def _files(function: Callable[..., Any]) -> Iterator[Path]:
    """The files of other packages that define the parts of a function."""
    for part in _parts(function):
        name = getattr(part, "__module__", None) or ""
        file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
        if file.suffix == ".py" and file.is_file() and name.partition(".")[0] != "hf_symbinv":
            yield file


def _pickled(function: Callable[..., Any]) -> bytes:
    for part in _parts(function):
        if getattr(part, "__module__", None) == "__main__":
            name = getattr(part, "__qualname__", repr(part))
            raise ValueError(
                f"{name}: what the main script defines cannot be imported by other processes; move it into a module"
            )
    try:
        return pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"{function!r}: use a function at the top level of a module ({error})") from error


def cannot_start(error: BaseException | None, message: str, traceback: str) -> Exception:
    """What is raised if a worker says that it cannot start; errors that `explain` has no sentence for are logged."""
    if isinstance(error, ImportError) and explain(error) is not None:
        return error
    _logger.error("a worker could not start:\n%s", traceback.rstrip())
    return PoolError(
        f"a worker could not start: {message}; mend `prepare` and what is imported, whose traceback is above"
    )


def describe_death(code: int) -> str:
    """An exit code of `subprocess` in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    why = ", as programs in C++ do that get no more memory" if -code == signal.SIGABRT else ""
    return f"died of {names.get(-code, f'signal {-code}')}{why}"
