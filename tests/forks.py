"""Programs in processes of their own that do not import torch anew: each is a fork of one that has imported it.

A fork takes a tenth of a second where a new interpreter takes seconds. It is alone as a new one is: with its own
arguments, environment, folder and streams; but what is read while libraries are imported, such as HF_HOME, is that of
the process that runs the tests.
"""

import multiprocessing
import multiprocessing.connection
import os
import runpy
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

CONTEXT = multiprocessing.get_context("forkserver")
# What trainings import, and where they spend seconds on importing later.
IMPORTED = ["hf_symbinv.training", "hf_symbinv.training.trainer", "hf_symbinv.cli.train", "transformers.trainer"]


class Done(NamedTuple):
    """How programs ended: the first exit code that is not 0, and what they all printed."""

    returncode: int
    stdout: str
    stderr: str


def begin(words: Sequence[str], environment: Mapping[str, str], folder: str, output: str) -> None:
    """What a fork does: `python WORD...` in a folder, with its streams in two files."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(f"{output}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.argv = list(words)
    sys.path.insert(0, str(Path(words[0]).parent))  # as Python does for a script
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def start(
    words: Sequence[str], output: Path, *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> ForkServerProcess:
    """A fork that runs `python WORD...`, its streams going to `output` with .out and .err behind it."""
    CONTEXT.set_forkserver_preload(IMPORTED)
    around = {**os.environ, **(environment or {})}
    process = CONTEXT.Process(target=begin, args=(list(words), around, str(folder or Path.cwd()), str(output)))
    process.start()
    return process


def run(
    words: Sequence[str],
    output: Path,
    *,
    processes: int = 1,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Runs `python WORD...` in as many forks, which find each other as those of `torchrun` do."""
    ranks: list[dict[str, str]] = [{}]
    if processes > 1:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
        world["LOCAL_WORLD_SIZE"] = world["WORLD_SIZE"]
        ranks = [{**world, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
    forks = [start(words, output, folder=folder, environment={**(environment or {}), **rank}) for rank in ranks]
    while any(fork.exitcode is None for fork in forks) and not any(fork.exitcode for fork in forks):
        multiprocessing.connection.wait([fork.sentinel for fork in forks if fork.exitcode is None])
    for fork in forks:
        if any(one.exitcode for one in forks):  # the others would wait for it
            fork.terminate()
        fork.join()
    codes = [code for fork in forks if (code := fork.exitcode)]
    texts = [path.read_text() if (path := Path(f"{output}.{name}")).exists() else "" for name in ("out", "err")]
    return Done(next(iter(codes), 0), *texts)


def kill_when(path: Path, process: ForkServerProcess) -> None:
    """Kills a fork as soon as a file is there."""
    until = time.monotonic() + 240
    while not path.is_file() and process.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.join()
