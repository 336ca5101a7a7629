"""Programs in processes of their own that do not import torch anew: each is a fork of one that has imported it.

A fork takes a tenth of a second where a new interpreter takes seconds. It is alone as a new one is: with its own
arguments, environment, folder, streams and cache of data sets. What libraries read while they are imported, such as
HF_HOME, is its own too, if it is one of those that import them themselves: of TORCH, and not of TRAINING.
"""

import multiprocessing
import multiprocessing.connection
import os
import runpy
import socket
import sys
import tempfile
import time
import types
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from multiprocessing.forkserver import ForkServer
from pathlib import Path
from typing import NamedTuple

import pytest

# What a fork finds imported: nothing that knows Hugging Face, though they will import it, or what trainings do.
TORCH = ("torch._dynamo", "torch.distributed.tensor", "pandas", "pyarrow.parquet", "scipy.optimize")
TRAINING = ("hf_symbinv.training.trainer", "hf_symbinv.cli.train", "transformers.trainer")
CONTEXT = multiprocessing.get_context("forkserver")
SERVERS: dict[tuple[str, ...], ForkServer] = {}


class Done(NamedTuple):
    """How programs ended: the first exit code that is not 0, and what they all printed."""

    returncode: int
    stdout: str
    stderr: str


def begin(words: Sequence[str], environment: Mapping[str, str], folder: str, output: str) -> None:
    """What a fork does: `python WORD...` in a folder, with its streams in two files."""
    multiprocessing.set_start_method(None, force=True)  # which is this fork's own way for its processes
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(f"{output}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    if "datasets" in sys.modules and "HF_DATASETS_CACHE" in environment:
        sys.modules["datasets"].config.HF_DATASETS_CACHE = environment["HF_DATASETS_CACHE"]
    # What the test's process has put there, such as its cache of modules, a new interpreter would not have.
    given = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [path for path in sys.path if path in given or path.startswith((sys.prefix, sys.base_prefix))]
    program, *arguments = words
    sys.argv = [program, *arguments]
    try:
        if program == "-c":
            sys.path.insert(0, "")
            sys.argv = [program, *arguments[1:]]
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(arguments[0], "<string>", "exec"), vars(main))
        else:
            sys.path.insert(0, str(Path(program).parent))  # as Python does for a script
            runpy.run_path(program, run_name="__main__")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def start(
    words: Sequence[str],
    output: Path,
    *,
    imported: tuple[str, ...] = TRAINING,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> ForkServerProcess:
    """A fork that runs `python WORD...`, its streams going to `output` with .out and .err behind it.

    Args:
        environment: All of it; that of this process if there is none.
    """
    if imported not in SERVERS:
        SERVERS[imported] = ForkServer()
        SERVERS[imported].set_forkserver_preload(list(imported))
    around = dict(os.environ if environment is None else environment)
    process = CONTEXT.Process(target=begin, args=(list(words), around, str(folder or Path.cwd()), str(output)))
    with pytest.MonkeyPatch.context() as patch:  # Python has one server, which imports one list
        patch.setattr("multiprocessing.forkserver.connect_to_new_process", SERVERS[imported].connect_to_new_process)
        process.start()
    return process


def run(
    words: Sequence[str],
    *,
    processes: int = 1,
    imported: tuple[str, ...] = TRAINING,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Runs `python WORD...` in as many forks, which find each other as those of `torchrun` do."""
    ranks: list[dict[str, str]] = [{}]
    around = os.environ if environment is None else environment
    if processes > 1:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
        world["LOCAL_WORLD_SIZE"] = world["WORLD_SIZE"]
        ranks = [{**world, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "printed"
        forks = [
            start(words, output, imported=imported, folder=folder, environment={**around, **rank}) for rank in ranks
        ]
        while any(fork.exitcode is None for fork in forks) and not any(fork.exitcode for fork in forks):
            multiprocessing.connection.wait([fork.sentinel for fork in forks if fork.exitcode is None])
        codes = [code for fork in forks if (code := fork.exitcode)]
        for fork in forks:
            if codes:  # the others would wait for it
                fork.terminate()
            fork.join()
        texts = [Path(f"{output}.{name}").read_text() for name in ("out", "err")]
    return Done(codes[0] if codes else 0, *texts)


def kill_when(there: Callable[[], object], process: ForkServerProcess) -> None:
    """Kills a fork as soon as something is there."""
    while not there() and process.is_alive():
        time.sleep(0.005)
    process.kill()
    process.join()
