"""Measures speed and memory beside named peers.

    python benchmarks/run.py all --out benchmarks/results/speed-cpu.json
    python benchmarks/run.py training-step decoding-bart --repeats 7 --threads 2

Ours and its peer take turns; the first turn does not count. Printed are minimum, median and maximum of the ratio, the
goal, and the medians. `--out FILE.json` keeps every value with machine, versions and commit, and writes the table
beside it as FILE.md. Runs on the GPU if there is one. benchmarks/README.md says what each benchmark measures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import harness

from hf_symbinv.solvers import available_cores

MODULES = (
    "starting",
    "tokenizing",
    "training",
    "processes",
    "decoding",
    "memory",
    "scaling",
    "covariance",
    "spot_ratio",
    "visitors",
    "vectors",
)


def benchmarks() -> dict[str, Callable]:
    """Name → benchmark, of all files."""
    from importlib import import_module

    return {name: run for module in MODULES for name, run in import_module(module).BENCHMARKS.items()}


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("names", nargs="*", metavar="NAME", help="`all`, or some of those that --list shows")
    command.add_argument("--list", action="store_true", help="print the names of all benchmarks")
    command.add_argument("--repeats", type=int, default=5, help="turns that count, at least 5 (default: %(default)s)")
    command.add_argument("--threads", type=int, help="of torch (default: all cores that this process may use)")
    command.add_argument("--device", choices=("cpu", "cuda"), help="(default: cuda if there is a GPU)")
    command.add_argument("--out", type=Path, help="FILE.json for the report; its table goes to FILE.md")
    command.add_argument("--tiny", action="store_true", help="a rehearsal at toy sizes, whose numbers say nothing")
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    threads = available_cores() if options.threads is None else options.threads
    if threads < 1:
        command.error(f"--threads {threads}: torch needs at least 1")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # read when torch is loaded, by this process and its children
        os.environ[name] = str(threads)
    known = benchmarks()
    if options.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in options.names if name not in known and name != "all"]
    if unknown or not options.names:
        command.error(f"{', '.join(unknown) or 'no NAME'}: use `all` or some of {', '.join(known)}")

    import torch

    least = 1 if options.tiny else harness.LEAST_REPEATS
    if options.repeats < least:
        command.error(f"--repeats {options.repeats}: a median needs at least {least}")
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    folder = options.out.parent if options.out else harness.FOLDER / "results"
    setting = harness.Setting(options.repeats, threads, device, options.tiny, folder)
    harness.use(setting)
    report = {"environment": harness.environment(setting), "repeats": setting.repeats, "tiny": setting.tiny}
    report |= {"seconds": {}, "rows": []}
    print(f"{'ratio':28} {'min':>8} {'median':>8} {'max':>8}")
    for name in known if "all" in options.names else dict.fromkeys(options.names):
        start = time.perf_counter()
        rows = known[name](setting)
        report["seconds"][name] = round(time.perf_counter() - start)
        print(f"{name}: {report['seconds'][name]} s", file=sys.stderr)
        for row in rows:
            print(row.line(), flush=True)
            report["rows"].append(row.to_dict())
        if options.out:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            options.out.with_suffix(".md").write_text(harness.table(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
