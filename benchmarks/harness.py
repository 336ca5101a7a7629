"""What every benchmark shares: ours and its peer in turn, the ratio, and the machine that it was measured on."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from hf_symbinv.solvers import available_cores

FOLDER = Path(__file__).resolve().parent
PACKAGES = ("torch", "transformers", "datasets", "spottl", "numpy")
LEAST_REPEATS = 5


@dataclass(frozen=True)
class Setting:
    """How benchmarks run.

    Attributes:
        repeats: Turns of ours and peer that count.
        threads: Of torch and of the libraries beneath it.
        device: `cpu` or `cuda`.
        tiny: Toy sizes: a rehearsal that shows that everything runs and says nothing of speed.
        folder: Where plots go.
    """

    repeats: int = LEAST_REPEATS
    threads: int = 1
    device: str = "cpu"
    tiny: bool = False
    folder: Path = FOLDER / "results"


@dataclass(frozen=True)
class Row:
    """One claim, measured.

    Attributes:
        name: Of the row.
        what, peer: What is ours and what it is measured beside; no peer where the goal is a value of ours.
        unit: Of the values: `s` or `MB`, or `/s` of rates.
        sense: `at least` bounds how many times better ours is than the peer, `at most` how many times as much it takes.
        goal: The bound.
        ours, theirs: One value per repeat.
        note: What else a reader must know.
        extra: Whatever else was measured.
    """

    name: str
    what: str
    peer: str
    unit: str
    sense: str
    goal: float
    ours: Sequence[float]
    theirs: Sequence[float] = ()
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def ratios(self) -> list[float]:
        """How many times better ours is (`at least`) or takes (`at most`) in each repeat; its values without a peer."""
        if not self.theirs:
            return list(self.ours)
        quotients = [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]
        less_is_better = not self.unit.endswith("/s")
        return [1 / quotient for quotient in quotients] if self.sense == "at least" and less_is_better else quotients

    @property
    def met(self) -> bool:
        """Whether the median keeps the goal."""
        value = median(self.ratios)
        return value >= self.goal if self.sense == "at least" else value <= self.goal

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        ratios = self.ratios
        summary = {"min": min(ratios), "median": median(ratios), "max": max(ratios)}
        return {**asdict(self), "ratio": summary, "met": self.met}

    def line(self) -> str:
        """As a terminal shows it."""
        low, middle, high = min(self.ratios), median(self.ratios), max(self.ratios)
        goal = f"goal {self.sense} {self.goal:g}: {'met' if self.met else 'missed'}"
        values = shown(median(self.ours), self.unit)
        if self.theirs:
            values += f" beside {shown(median(self.theirs), self.unit)}"
        return f"{self.name:28} {low:8.3g} {middle:8.3g} {high:8.3g}   {goal:26} {values}"


def shown(value: float, unit: str) -> str:
    """A value with its unit, three digits."""
    if unit == "s" and value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def in_turn(setting: Setting, *actions: Callable[[], float | None], warm_up: bool = True) -> list[list[float]]:
    """Values of each action, `setting.repeats` times A B A B …, after one of each that does not count.

    An action that returns None is timed; one that returns a number has measured itself, and needs no `warm_up` if it
    does so in a process of its own.
    """
    values: list[list[float]] = [[] for _ in actions]
    for repeat in range(0 if warm_up else 1, setting.repeats + 1):
        for action, found in zip(actions, values, strict=True):
            synchronize(setting)
            start = time.perf_counter()
            value = action()
            synchronize(setting)
            if repeat:
                found.append(time.perf_counter() - start if value is None else value)
    return values


def synchronize(setting: Setting) -> None:
    """Waits for the GPU."""
    if setting.device == "cuda":
        import torch

        torch.cuda.synchronize()


def in_own_process(module: str, function: str, setting: Setting, **arguments: Any) -> Any:
    """What a function of a module in this folder returns in a fresh process, so that no memory is inherited.

    Raises:
        RuntimeError: If the process fails.
    """
    program = (
        "import json, sys; from importlib import import_module; job = json.load(sys.stdin); "
        f"sys.path.insert(0, {str(FOLDER)!r}); import harness; setting = harness.Setting(**job['setting']); "
        "harness.use(setting); "
        "print(json.dumps(getattr(import_module(job['module']), job['function'])(setting, **job['arguments'])))"
    )
    job = {"module": module, "function": function, "arguments": arguments}
    job["setting"] = {**asdict(setting), "folder": str(setting.folder)}
    environment = {**os.environ, "OMP_NUM_THREADS": str(setting.threads)}
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(job), capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"{module}.{function}{arguments}: the process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def use(setting: Setting) -> None:
    """Makes torch use as many threads as `setting` says."""
    import torch

    torch.set_num_threads(setting.threads)


def start_memory(setting: Setting) -> float:
    """Starts a measurement of peak memory; what is held now, in MB, for `peak_memory`."""
    if setting.device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 1e6
    with suppress(OSError):  # resets the high-water mark, on Linux
        Path("/proc/self/clear_refs").write_text("5")
    return _resident()


def peak_memory(setting: Setting, held: float) -> dict[str, float]:
    """Peak memory in MB since `start_memory`: of the process (on a GPU of torch), and above what was held."""
    if setting.device == "cuda":
        import torch

        peak = torch.cuda.max_memory_allocated() / 1e6
    else:
        peak = _resident()
    return {"peak": peak, "above": peak - held}


def _resident() -> float:
    """The high-water mark of resident memory, in MB."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def environment(setting: Setting) -> dict[str, Any]:
    """Machine, versions and commit: what a number depends on, and nothing that names a host."""
    import torch

    versions = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "cpu": _line("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": available_cores(),
        "memory_GB": round(int((_line("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 1e6, 1),
        "load": round(os.getloadavg()[0], 2),
        "gpu": torch.cuda.get_device_name() if setting.device == "cuda" else None,
        "threads": setting.threads,
        "python": platform.python_version(),
        "system": platform.system(),
        "packages": versions,
        "commit": _commit(),
    }


def _line(path: str, key: str) -> str | None:
    """The value of the first line `key : value` of a file of the kernel."""
    with suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.partition(":")[2].strip()
    return None


def _commit() -> str | None:
    """The commit of the code, with `+` where files differ from it; None outside a repository."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(FOLDER), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def table(report: dict[str, Any]) -> str:
    """A report as Markdown: the machine, and a row per claim with the median and the extremes of its ratio."""
    machine = report["environment"]
    where = machine["gpu"] or machine["cpu"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        f"{where}, {machine['cores']} cores of which torch uses {machine['threads']}, {machine['memory_GB']} GB; "
        f"Python {machine['python']}, {packages}; commit {machine['commit']}; load {machine['load']} at the start",
        "",
        "| what | peer | ratio: median (min-max) | goal | | ours | peer |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        ratio, unit = row["ratio"], row["unit"]
        value = f"{ratio['median']:.3g} ({ratio['min']:.3g}-{ratio['max']:.3g})"
        ours = shown(median(row["ours"]), unit)
        theirs = shown(median(row["theirs"]), unit) if row["theirs"] else ""
        sign = "≥" if row["sense"] == "at least" else "≤"
        note = f" ({row['note']})" if row["note"] else ""
        lines.append(
            f"| {row['what']}{note} | {row['peer']} | {value} | {sign} {row['goal']:g} | "
            f"{'met' if row['met'] else 'missed'} | {ours} | {theirs} |"
        )
    return "\n".join(lines) + "\n"
