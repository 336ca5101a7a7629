"""The other end of `ProcessPool`: a script that computes items until its parent goes away.

It runs as `python worker.py SOCKET LIFELINE STAMP` (three inherited file descriptors) and imports nothing but the
standard library until it has been told what to compute, so that it starts in some 20 ms.

Messages are pickles. The parent sends a `Setup` (as a plain tuple), then chunks, each a list of items. The worker
answers with `("failed", (error, message, traceback))` if it cannot start, where `error` is None unless a library is
missing, else with `("ready", None)`, and then with `("results", [Result, ...])` as often as it likes; the results of a
chunk are complete before the next chunk starts. The value of a `done` item is what the function returned, that of an
`error` the pair of its message and its traceback.

The stamp is a piece of shared memory that tells the parent which item of the chunk is being computed and since when;
it is what lets the parent name the item that hangs without a message per item.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import math
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

# Monotonic time at which the current item started (IDLE between items), its position in the chunk, the process that
# computes it, and the CPU time that this had used by then. The time is set last and taken away first, so what stands
# beside it is of its item.
STAMP, TIME = struct.Struct("<dqqd"), struct.Struct("<d")
IDLE = 0.0

# Length of the pickle that follows.
HEADER = struct.Struct("<Q")

# Results are sent when this many seconds have passed since the last message: rare enough to cost nothing beside
# millisecond items, often enough to keep the parent and its progress bar busy.
FLUSH_SECONDS = 0.02

# Characters of what an exception says and of a line of its traceback, at most: our choice, half a screen.
LONGEST = 1_000
# Characters of a traceback, at most: our choice, some hundred lines.
LONGEST_TRACEBACK = 10_000


# Status, value, and seconds by the clock and of CPU time.
Result = tuple[str, Any, float, float]


class Setup(NamedTuple):
    """What a worker needs before its first chunk.

    `light` is whether to import the package without torch, see `hf_symbinv/auto_classes.py`. The two functions are
    pickles inside the pickle, because they can only be read after the path is set.
    """

    path: Sequence[str]
    function: bytes
    initializer: bytes
    isolate: bool
    light: bool
    memory: float


def encode(message: Any) -> bytes:
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(payload)) + payload


def die_with_parent(lifeline: int) -> None:
    """Ask the kernel to end this process group as soon as nobody holds the other end of the pipe any more.

    SIGIO ends a process by default, and reaches one that is deep in C++ and holds the interpreter's lock; unlike
    PR_SET_PDEATHSIG it does not mistake the end of the thread that started the worker for the end of the parent.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | fcntl.FASYNC)


def limit_memory(gigabytes: float) -> None:
    """Let this process and its forks have so much more address space than it has now, where Linux can tell.

    Counted from now, because libraries reserve more than they use: torch some gigabytes, and CUDA some tens.
    """
    if math.isinf(gigabytes):
        return
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


class Worker:
    """Computes chunks; `connection` and `stamp` lead to the parent."""

    def __init__(self, connection: socket.socket, stamp: mmap.mmap, function: Any, memory: float) -> None:
        self.connection = connection
        self.stamp = stamp
        self.function = function
        self.memory = memory

    def send(self, kind: str, value: Any) -> None:
        self.connection.sendall(encode((kind, value)))

    def send_results(self, results: list[Result]) -> None:
        try:
            message = encode(("results", results))
        except Exception:  # whatever a user's object raises while it is pickled
            message = encode(("results", [portable(result) for result in results]))
        self.connection.sendall(message)

    def compute(self, items: list[Any]) -> None:
        function, stamp, now, used, pid = self.function, self.stamp, time.monotonic, time.process_time, os.getpid()
        results: list[Result] = []
        flushed = now()
        for position, item in enumerate(items):
            start, begin = now(), used()
            STAMP.pack_into(stamp, 0, IDLE, position, pid, begin)
            TIME.pack_into(stamp, 0, start)
            try:
                outcome = ("done", function(item))
            except MemoryError:  # of the item, and no bug of the function
                outcome = ("error", (f"stopped at the limit of {self.memory:g} GB of memory", ""))
            except (Exception, SystemExit) as error:
                outcome = ("error", (describe(error), traceback_of(error)))
            end = now()
            TIME.pack_into(stamp, 0, IDLE)
            results.append((*outcome, end - start, used() - begin))
            if end - flushed > FLUSH_SECONDS:
                self.send_results(results)
                results, flushed = [], end
        if results:
            self.send_results(results)

    def compute_in_a_fork(self, items: list[Any]) -> None:
        """Compute a chunk from the state that this process had after its warm-up, and leave that state untouched."""
        pid = os.fork()
        if pid == 0:
            try:
                self.compute(items)
            except OSError:  # the parent has gone away
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:  # die as the child did, so that the parent sees one kind of death
            os.kill(os.getpid(), -code)
        if code or STAMP.unpack_from(self.stamp, 0)[0] != IDLE:
            os._exit(code)


def describe(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def traceback_of(error: BaseException) -> str:
    """The traceback below the caller's own line, with `LONGEST_TRACEBACK` characters at most."""
    below = error.__traceback__ and error.__traceback__.tb_next
    text = "".join(traceback.format_exception(type(error), error, below))
    return _shortened("\n".join(_shortened(line, LONGEST) for line in text.split("\n")), LONGEST_TRACEBACK)


def _shortened(text: str, most: int) -> str:
    """A text of at most `most` characters: of a longer one its beginning and its end."""
    half = most // 2
    return text if len(text) <= most else f"{text[: half - 1]}…{text[-half:]}"


def portable(result: Result) -> Result:
    """The result itself, or an error in its place if it cannot be pickled."""
    try:
        pickle.dumps(result)
    except Exception as error:
        return "error", (f"the result cannot be sent back: {describe(error)}", ""), *result[2:]
    return result


def read(stream: BinaryIO) -> Any:
    """The next message, or None when the parent has closed the connection."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    payload = stream.read(length)
    return pickle.loads(payload) if len(payload) == length else None


def main() -> None:
    connection_fd, lifeline_fd, stamp_fd = (int(argument) for argument in sys.argv[1:4])
    die_with_parent(lifeline_fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    connection = socket.socket(fileno=connection_fd)
    stream = connection.makefile("rb")
    if (message := read(stream)) is None:
        return
    setup = Setup(*message)
    worker = Worker(connection, mmap.mmap(stamp_fd, STAMP.size), None, setup.memory)
    try:
        sys.path[:] = setup.path
        if setup.light:
            os.environ["HF_SYMBINV_LIGHT"] = "1"
        importlib.import_module("hf_symbinv")
        os.environ.pop("HF_SYMBINV_LIGHT", None)
        worker.function = pickle.loads(setup.function)
        pickle.loads(setup.initializer)()
    except (Exception, SystemExit) as error:
        told = (describe(error), traceback_of(error))
        try:
            worker.send("failed", (error if isinstance(error, ImportError) else None, *told))
        except (pickle.PicklingError, AttributeError, TypeError):  # an error of a user's own kind
            worker.send("failed", (None, *told))
        return
    limit_memory(setup.memory)
    worker.send("ready", None)
    gc.collect()
    gc.freeze()  # what is loaded now stays: no need to look at it again, nor to copy its pages in forks
    compute = worker.compute_in_a_fork if setup.isolate else worker.compute
    while (items := read(stream)) is not None:
        compute(items)


if __name__ == "__main__":
    try:
        main()
    except OSError:  # the parent has gone away in the middle of a message
        os._exit(1)
