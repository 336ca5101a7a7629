"""How numbers were made: commit, versions, machine and seconds of what was trained and measured for them.

A record is an object with `seconds` and `environment`, as `run.json` has them for a training; `timed` writes one for
anything else, and `commit` with it.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically

# What a line at the foot of a table names; JSON has all versions.
PACKAGES = ("hf_symbinv", "torch", "transformers", "spottl", "py-aiger-sat")


def commit() -> str | None:
    """The commit of this package's code, with `+` where files differ from it; None outside a checkout of it."""
    folder = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        # An installed package may lie in a folder of another repository, which does not track it.
        git("ls-files", "--error-unmatch", "__init__.py")
        name = git("rev-parse", "--short", "HEAD")
        return f"{name}+" if git("status", "--porcelain", "--untracked-files=no") else name
    except (OSError, subprocess.CalledProcessError):
        return None


@contextmanager
def timed(path: Path) -> Iterator[None]:
    """Writes a record of what is done inside to `path`; seconds add up over calls, also over those that are stopped."""
    from hf_symbinv.training.cards import environment  # torch only where it is needed

    before, started = read_record(path).get("seconds", 0.0), time.monotonic()
    try:
        yield
    finally:
        seconds = round(before + time.monotonic() - started, 1)
        record = {"seconds": seconds, "commit": commit(), "environment": environment()}
        write_atomically(path, json.dumps(record, indent=2) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    """What a file says of how something was made; nothing if it is not there or says nothing."""
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return {
                name: content[name] for name in ("seconds", "commit", "environment") if content.get(name) is not None
            }
    return {}


def summary(records: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """How a table was made.

    Args:
        records: For each kind of work, such as `training`, a record of each piece; empty ones for what is not known.

    Returns:
        `commit`, of the code that made the table; `measured_at`, the commits of the records; `environments`, theirs,
        or that of now if none has one; `seconds` of each kind of work, and `unknown`, the pieces that are not in them.
    """
    from hf_symbinv.training.cards import environment

    every = [record for same in records.values() for record in same]
    return {
        "commit": commit(),
        "measured_at": _different([record["commit"] for record in every if "commit" in record]),
        "environments": _different([record["environment"] for record in every if "environment" in record])
        or [environment()],
        "seconds": {kind: total_seconds(same) for kind, same in records.items() if same},
        "unknown": {kind: sum("seconds" not in record for record in same) for kind, same in records.items() if same},
    }


def total_seconds(records: Sequence[Mapping[str, Any]]) -> float:
    """Of all records that know their seconds."""
    return float(round(sum(record.get("seconds", 0.0) for record in records), 1))


def line(made: Mapping[str, Any]) -> str:
    """What `summary` gave, on one line: versions, machines, commit, and the time of each kind of work."""
    environments = made["environments"]
    versions = []
    for package in PACKAGES:
        found = _different([v for v in (e.get("packages", {}).get(package) for e in environments) if v])
        if found:
            versions.append(f"{package} {' and '.join(found)}")
    pythons = _different([e["python"] for e in environments if e.get("python")])
    if pythons:
        versions.append(f"Python {' and '.join(pythons)}")
    machines = _different([str(e.get("accelerator") or e["cpu"]) for e in environments if e.get("cpu")])
    commit_of_code = f"commit {made['commit']}" if made["commit"] else "commit not known"
    times = []
    for kind, seconds in made["seconds"].items():
        if seconds:
            least = "at least " if made["unknown"][kind] else ""
            times.append(f"{kind} {least}{duration(seconds)}")
    parts = [", ".join(versions), " and ".join(machines), commit_of_code, ", ".join(times)]
    return "; ".join(part for part in parts if part) + "."


def duration(seconds: float) -> str:
    """Such as `34 s`, `12 min` and `2.5 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _different(values: Sequence[Any]) -> list[Any]:
    """Each value once, in the order of the first; they need not be hashable."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
