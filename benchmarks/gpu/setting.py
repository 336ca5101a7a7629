"""What all parts of the command share: sizes, the machine, the time that is left, and how a result is kept."""

from __future__ import annotations

import gc
import math
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from packed import Pack, Plan, Rows
from store import Store

from hf_symbinv import SymbolInvariantConfig

ROOT = Path(__file__).resolve().parents[2]
TOY = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 24}
SEED = 0  # of everything random
# A step that ends this long before the time is up still gets its state written.
MARGIN = 6.0


@dataclass(frozen=True)
class Sizes:
    """How much is computed.

    Attributes:
        parts: Seconds of law, steps, beams and compiled steps after which no more of their measurements are begun.
        patience: Times its own estimate that a measurement may take.
        model: Fields that make a model of the paper smaller.
        batches: Task → rows of a step; the papers' are 768 and 1,024.
        compiled: Ways that compile layers; each takes long to begin.
        shapes: Of the steps of one training, at most. Each is a CUDA graph.
        steps: Task → steps of a training; the papers' are 52,000 and 50,000.
        repeats: Times that a step of each shape is measured.
        beams: Of the wide search; the paper's is 25.
        batch_sizes: Of questions that are answered together.
        length: Tokens of questions and answers whose number of symbols is varied, about the mean of LTLRandom35.
        tokens: Split → of an answer, at most; the papers write 100, and 128 on their grids.
        together: Steps of a training between two looks at the clock, so that a GPU always has some in line.
        save_every: Seconds between two states of a training that are written.
    """

    parts: tuple[float, float, float, float]
    patience: float
    model: dict[str, int]
    batches: dict[str, int]
    compiled: int
    shapes: int
    steps: dict[str, int]
    repeats: int
    beams: int
    batch_sizes: tuple[int, ...]
    length: int
    tokens: dict[str, int]
    together: int
    save_every: float


PAPER = Sizes(
    parts=(60, 120, 60, 1), patience=3, model={}, batches={"ltl": 768, "prop": 1024}, compiled=3, shapes=24,
    steps={"ltl": 52_000, "prop": 50_000}, repeats=5, beams=25, batch_sizes=(1, 64, 512, 2048), length=24,
    tokens={"valid": 100, "grid": 128}, together=20, save_every=20,
)  # fmt: skip
REHEARSED = Sizes(
    parts=(math.inf,) * 4, patience=math.inf, model=TOY, batches={"ltl": 8, "prop": 8}, compiled=1, shapes=2,
    steps={"ltl": 24, "prop": 12}, repeats=1, beams=4, batch_sizes=(1, 4), length=19, tokens={"valid": 6, "grid": 7},
    together=4, save_every=0,
)  # fmt: skip


@dataclass
class Setting:
    """Where and how the command runs.

    Attributes:
        store: Of the results.
        packs: Folder of what `pack.py` wrote.
        sizes: `PAPER`, or `REHEARSED`.
        device: `cuda`, or `cpu` for a rehearsal.
        deadline: By `time.monotonic()`; nothing runs beyond it.
    """

    store: Store
    packs: Path
    sizes: Sizes
    device: str
    deadline: float

    @property
    def left(self) -> float:
        """Seconds until the last moment at which a state can be written."""
        return self.deadline - MARGIN - time.monotonic()

    def pack(self, task: str) -> Pack:
        """The data of a task, or of the `law`.

        Raises:
            FileNotFoundError: If it was not packed.
        """
        return _pack(self.packs / f"{task}.npz")

    def training_rows(self, task: str) -> tuple[Rows, Plan]:
        """The rows that a task's training takes, on the CPU, and its plan."""
        return _training_rows(self.packs / f"{task}.npz", self.sizes.batches[task], self.sizes.shapes)

    def config(self, task: str, **fields: Any) -> SymbolInvariantConfig:
        """The paper's model for a task, or in a rehearsal a toy one."""
        return SymbolInvariantConfig.from_preset(task, **{**self.sizes.model, **fields})


# Kept, because every measurement begins with them, and a million rows take seconds.
@cache
def _pack(path: Path) -> Pack:
    return Pack(path)


@cache
def _training_rows(path: Path, batch: int, shapes: int) -> tuple[Rows, Plan]:
    rows = _pack(path).rows("train")
    return rows, Plan(rows.keys, batch, shapes, SEED)


@dataclass(frozen=True)
class Job:
    """One measurement.

    Attributes:
        name: Of its result.
        compute: What returns the values that are kept, as JSON holds them; `tensors` of them go into a file beside.
        seconds: That it takes, as far as can be told before: it is not begun when less is left.
    """

    name: str
    compute: Callable[[Setting], dict[str, Any]]
    seconds: float


def kept(setting: Setting, name: str) -> bool:
    """Whether there is a result of a name that need not be made again: one that failed is, with other code."""
    result = setting.store.results.get(name)
    return result is not None and ("error" not in result or result["machine"]["commit"] == machine(setting)["commit"])


def carry_out(setting: Setting, job: Job) -> None:
    """Computes a job and keeps its values, or the error that ended it."""
    start = time.monotonic()
    print(f"{job.name} …", file=sys.stderr, flush=True)
    try:
        with at_most(setting.sizes.patience * job.seconds):
            values = job.compute(setting)
    except Exception as error:  # one measurement that cannot be made takes no other with it
        values = {"error": f"{type(error).__name__}: {error}"[:2000]}
    print(f"{job.name}: {values.get('error', 'done')}"[:300], file=sys.stderr, flush=True)
    tensors = {job.name: values.pop("tensors")} if "tensors" in values else None
    seconds = round(time.monotonic() - start, 2)
    result = {"values": values, "seconds": seconds, "machine": machine(setting)}
    setting.store.write(job.name, result | error_of(values), tensors)
    revive(setting)


def revive(setting: Setting) -> None:
    """Gives memory back. Where the device no longer answers this process, the program starts anew and goes on."""
    gc.collect()
    if setting.device == "cuda":
        with suppress(RuntimeError):
            torch.cuda.empty_cache()
            torch.zeros(1, device="cuda").add_(1).cpu()
            return
        left = (setting.deadline - time.monotonic()) / 60
        os.execv(sys.executable, [sys.executable, *sys.argv, "--minutes", f"{left:.3f}"])  # the last one counts


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends what is done within when it takes longer, as soon as Python is asked again.

    Raises:
        TimeoutError: Within.
    """

    def end(*_: object) -> None:
        raise TimeoutError(f"took more than {seconds:.3g} s")

    if seconds == math.inf:
        yield
        return
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def error_of(values: dict[str, Any]) -> dict[str, Any]:
    """The error of values, if they are one."""
    return {"error": values["error"]} if "error" in values else {}


def stop_at(deadline: float) -> None:
    """Ends the process at a time, whatever it does: what was written is whole, and the rest can be done again."""

    def end() -> None:
        time.sleep(max(deadline - time.monotonic(), 0))
        print("the time is up", file=sys.stderr, flush=True)
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()


def machine(setting: Setting) -> dict[str, Any]:
    """What a number depends on: card, driver, versions, commit."""
    return _machine(setting.device, setting.packs)


@cache
def _machine(device: str, packs: Path) -> dict[str, Any]:
    versions = {"python": platform.python_version(), "cuda": torch.version.cuda}
    for package in ("torch", "transformers", "triton", "numpy", "safetensors"):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    on_gpu = device == "cuda"
    return {
        "card": torch.cuda.get_device_name() if on_gpu else "CPU",
        "driver": _printed("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") if on_gpu else None,
        "versions": versions,
        "commit": commit(packs),
    }


def commit(packs: Path) -> str | None:
    """The commit of the code, or where there is no repository the one that packed; None if that is not known."""
    found = _printed("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    noted = packs / "commit.txt"
    return found or (noted.read_text(encoding="utf-8").strip() if noted.is_file() else None)


def _printed(*command: str) -> str | None:
    """The first line that a command prints; None if it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter(done.stdout.splitlines()), None)
