"""Data generation and verification beside Spot alone: what do pool, bookkeeping and files cost?

    python benchmarks/spot_ratio.py

In each repetition the builder makes a new data set (drawing, solving, Parquet, card), then a plain loop in another
process solves with Spot the very formulas that the builder solved. Then, in turns of 200 pairs, `Checker` verifies the
pairs and a plain loop puts the same questions to Spot. The loops get their texts in Spot's own syntax and keep nothing.
Rates are per core: everything is bound to one, and generation is measured in processor time of all processes together.
What takes over a second is left out on both sides. The goal is a ratio of 90 % or more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import spot

from hf_symbinv import LTL
from hf_symbinv.datasets_scripts.builder import assign_splits, generate
from hf_symbinv.datasets_scripts.ltl_random import LtlRandomConfig
from hf_symbinv.datasets_scripts.storage import Origin, Pair, publish
from hf_symbinv.logic import parse_prefix, parse_trace, to_lbt, trace_to_infix
from hf_symbinv.solvers import Checker

LIMIT = 1.0
TURN = 200


def processor_seconds(action: Callable[[], Any]) -> float:
    """Processor time of a call, in this process and in those that it starts and ends."""

    def used() -> float:
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    start = used()
    action()
    return used() - start


def seconds(action: Callable[[], Any]) -> float:
    """Wall-clock time of a call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def build(config: LtlRandomConfig, folder: Path) -> tuple[list[str], list[Pair]]:
    """What the command of the builder does; the formulas that it solved, and those of them that have a witness."""
    work = folder / "work"
    work.mkdir(parents=True)
    harvest = generate(config, work, 1, progress=False)
    publish(LTL, folder, Origin("benchmark", "", "", LTL.solver_version()), assign_splits(harvest.pairs, config.seed))
    entries = [entry for path in sorted(work.glob("*.json")) for entry in json.loads(path.read_text(encoding="utf-8"))]
    solved = [formula for formula, status, _ in entries if status not in ("timeout", "error")]
    return solved, harvest.pairs


def solve(formulas: list[str]) -> None:
    """What DeepLTL's recipe asks of Spot, and nothing else."""
    for formula in formulas:
        automaton = spot.parse_prefix_ltl(formula).f.translate()
        automaton.merge_edges()
        run = automaton.accepting_run()
        if run is not None:
            str(spot.twa_word(run))


def verify(questions: list[tuple[str, str]]) -> None:
    """Whether some word of the trace violates the formula, as `Checker` asks it."""
    for formula, trace in questions:
        violations = spot.formula.Not(spot.parse_prefix_ltl(formula).f).translate("any", "low")
        violations.intersects(spot.parse_word(trace, violations.get_dict()).as_automaton())


def measure_generation(config: LtlRandomConfig, folder: Path) -> tuple[int, list[Pair], float, float]:
    """Number of solved formulas, the pairs, and processor time of the builder and of Spot alone."""
    made: list[tuple[list[str], list[Pair]]] = []
    ours = processor_seconds(lambda: made.append(build(config, folder)))
    ((solved, pairs),) = made
    formulas = json.dumps([to_lbt(parse_prefix(formula)) for formula in solved])
    loop = [sys.executable, __file__, "--solve"]
    process = subprocess.run(loop, input=formulas, stdout=subprocess.PIPE, text=True, check=True)
    return len(solved), pairs, ours, float(process.stdout)


def measure_verification(pairs: list[Pair]) -> tuple[int, float, float]:
    """Number of pairs, and wall-clock time of the checker and of Spot alone."""
    with Checker(workers=1, timeout=LIMIT) as checker:
        results = list(checker.check(pairs))
        pairs = [pair for pair, result in zip(pairs, results, strict=True) if result.verdict == "correct"]
        questions = [(to_lbt(parse_prefix(pair.question)), trace_to_infix(parse_trace(pair.answer))) for pair in pairs]
        ours = alone = 0.0
        for start in range(0, len(pairs), TURN):
            turn = slice(start, start + TURN)
            ours += seconds(lambda turn=turn: list(checker.check(pairs[turn])))
            alone += seconds(lambda turn=turn: verify(questions[turn]))
    return len(pairs), ours, alone


def measure(config: LtlRandomConfig, folder: Path) -> dict[str, float]:
    """Items per second and core, ours and Spot's, for one data set."""
    solved, pairs, build_seconds, solve_seconds = measure_generation(config, folder)
    count, check_seconds, verify_seconds = measure_verification(pairs)
    return {
        "builder": solved / build_seconds,
        "Spot solves": solved / solve_seconds,
        "generation ratio": solve_seconds / build_seconds,
        "checker": count / check_seconds,
        "Spot verifies": count / verify_seconds,
        "verification ratio": verify_seconds / check_seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8000, help="pairs per repetition (default: %(default)s)")
    parser.add_argument("--max-size", type=int, default=25, help="longest formula in nodes (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one object with all measurements")
    parser.add_argument("--solve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.solve:
        formulas = json.load(sys.stdin)
        print(processor_seconds(lambda: solve(formulas)))
        return 0
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(options.repeats):
            config = LtlRandomConfig(
                name="benchmark", max_size=options.max_size, rows=options.rows, seed=repeat, timeout=LIMIT
            )
            found.append(measure(config, Path(folder) / str(repeat)))
            print(f"repetition {repeat + 1} of {options.repeats} done", file=sys.stderr)
    if options.json:
        print(json.dumps({"rows": options.rows, "max_size": options.max_size, "repetitions": found}))
        return 0
    print(f"{options.repeats} data sets of {options.rows} pairs up to {options.max_size} nodes, {LTL.solver_version()}")
    print(f"{'':24}{'min':>10}{'median':>10}{'max':>10}")
    for name in found[0]:
        values = [repetition[name] for repetition in found]
        unit = "{:>10.1%}" if "ratio" in name else "{:>8.0f}/s"
        print(f"{name:24}" + "".join(unit.format(value) for value in (min(values), median(values), max(values))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
