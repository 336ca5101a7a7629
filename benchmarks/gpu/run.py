"""Measures on a GPU what is worth most first, in so many minutes, and goes on where it stopped.

    python benchmarks/gpu/pack.py                                       # before, where solvers and data are
    python benchmarks/gpu/run.py --minutes 6.5 --out build/gpu/results  # on the GPU; again to go on
    python benchmarks/gpu/report.py build/gpu/results                   # afterwards, where solvers are
    python benchmarks/gpu/run.py --rehearse                             # all three on a CPU, at toy size

In this order: the renaming law; a training step in every way beside its peers; beam search; the papers' trainings, as
far as they come. Each result is written as soon as it exists, and none is made twice. A process that is
killed loses at most one result, or some seconds of a training. Needs torch and transformers only.
"""

from __future__ import annotations

import time

BEGAN = time.monotonic()  # before torch is loaded, which takes seconds of the minutes

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # before torch and the package are loaded, and for this process alone
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # products are then the same each time
    os.environ["HF_SYMBINV_LIGHT"] = "1"  # nothing here asks for Auto classes or pipelines
FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

import beams
import law
import runs
import steps
import torch
from setting import PAPER, REHEARSED, ROOT, Job, Setting, carry_out, kept, revive, stop_at
from store import Store


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--minutes", type=float, help="after which the command has ended; counted from its start")
    command.add_argument("--out", type=Path, help="folder of the results (default: build/gpu/results)")
    command.add_argument(
        "--packs", type=Path, default=ROOT / "build/gpu/packs", help="what pack.py wrote, there (default)"
    )
    command.add_argument("--rehearse", action="store_true", help="pack, run and report at toy size, all in --out")
    return command


def measure(setting: Setting) -> None:
    """Everything that is not there yet and still fits the time."""
    parts = law.jobs, steps.jobs, beams.jobs, steps.compiled_jobs
    for jobs, seconds in zip(parts, setting.sizes.parts, strict=True):
        start = time.monotonic()
        for job in jobs(setting):
            attempt(setting, job, seconds - (time.monotonic() - start))
    attempt(setting, Job("resumed", runs.same_bits, 30), setting.left)
    for run in runs.RUNS:
        if setting.left <= 0 or not trained(setting, run):
            return
        for job in runs.answers(run):
            attempt(setting, job, setting.left)


def trained(setting: Setting, run: runs.Run) -> bool:
    """Goes on with a training, in another way if it cannot begin in the fastest one; whether it has ended."""
    while True:
        try:
            return runs.go_on(setting, run)
        except RuntimeError as error:  # of the device, or its memory
            if not runs.without_its_way(setting, run, error):
                raise
        revive(setting)


def attempt(setting: Setting, job: Job, seconds: float) -> None:
    """Carries out a job, unless it was, or fewer seconds are left than it may take, or none of its part's."""
    if kept(setting, job.name):
        return
    if seconds <= 0 or setting.left < job.seconds:
        print(f"{job.name}: left for another time", file=sys.stderr, flush=True)
        return
    carry_out(setting, job)


def rehearse(folder: Path) -> None:
    """Packs toy data, measures on the CPU, and reads the results, each in a folder of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = [sys.executable, str(FOLDER / "pack.py"), "--rehearse", "--out", str(folder / "packs")]
    subprocess.run(script, check=True, env=environment)
    torch.set_num_threads(1)
    measure(Setting(Store(folder / "results"), folder / "packs", REHEARSED, "cpu", time.monotonic() + 3600))
    script = [sys.executable, str(FOLDER / "report.py"), str(folder / "results"), "--rehearse"]
    subprocess.run(script, check=True, env=environment)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.rehearse:
        rehearse(options.out or ROOT / "build/gpu/rehearsal")
        return 0
    if options.minutes is None or options.minutes <= 0:
        command.error("--minutes is missing; say how long the command may take, such as --minutes 6.5")
    if not torch.cuda.is_available():
        command.error("there is no GPU; --rehearse runs everything at toy size on a CPU")
    deadline = BEGAN + 60 * options.minutes
    stop_at(deadline)
    measure(Setting(Store(options.out or ROOT / "build/gpu/results"), options.packs, PAPER, "cuda", deadline))
    return 0


if __name__ == "__main__":
    sys.exit(main())
