"""Data generation and verification beside Spot alone: what do pool, bookkeeping and files cost?

In each repetition the builder makes a new data set (drawing, solving, Parquet, card), then a plain loop in another
process solves with Spot the very formulas that the builder solved. Then, in turns of 200 pairs, `Checker` verifies the
pairs and a plain loop puts the same questions to Spot. The loops get their texts in Spot's own syntax and keep nothing.
Rates are per core: everything is bound to one, and generation is measured in processor time of all processes together.
What takes over a second is left out on both sides. Every repetition has data of its own, so none is a warm-up.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spot
from harness import Row, Setting, in_own_process, in_turn

from hf_symbinv import LTL
from hf_symbinv.datasets_scripts.questions.benchmarks import LtlRandomConfig
from hf_symbinv.datasets_scripts.questions.builder import assign_splits, generate
from hf_symbinv.datasets_scripts.storage import Origin, Pair, publish
from hf_symbinv.logic import parse_prefix, parse_trace, to_lbt, trace_to_infix
from hf_symbinv.solvers import Checker, available_cores

LIMIT = 1.0
TURN = 200
ROWS, SIZE = 8000, 25


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


def measure_generation(setting: Setting, config: LtlRandomConfig, folder: Path) -> tuple[int, list[Pair], float, float]:
    """Number of solved formulas, the pairs, and processor time of the builder and of Spot alone."""
    made: list[tuple[list[str], list[Pair]]] = []
    ours = processor_seconds(lambda: made.append(build(config, folder)))
    ((solved, pairs),) = made
    formulas = [to_lbt(parse_prefix(formula)) for formula in solved]
    return len(solved), pairs, ours, in_own_process("spot_ratio", "loop_over_formulas", setting, formulas=formulas)


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


def measure(setting: Setting, config: LtlRandomConfig, folder: Path) -> dict[str, float]:
    """Items per second and core, ours and Spot's, for one data set."""
    solved, pairs, build_seconds, solve_seconds = measure_generation(setting, config, folder)
    count, check_seconds, verify_seconds = measure_verification(pairs)
    return {
        "builder": solved / build_seconds,
        "Spot solves": solved / solve_seconds,
        "checker": count / check_seconds,
        "Spot verifies": count / verify_seconds,
    }


def loop_over_formulas(setting: Setting, formulas: list[str]) -> float:
    """Processor time of `solve`, for a process of its own."""
    return processor_seconds(lambda: solve(formulas))


def spot_alone(setting: Setting) -> list[Row]:
    """Items per second and core of the builder and of the checker, beside Spot's."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    rows, size = (30, 10) if setting.tiny else (ROWS, SIZE)
    found: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        if allowed:
            os.sched_setaffinity(0, {max(allowed)})
        try:
            for repeat in range(setting.repeats):
                config = LtlRandomConfig(name="benchmark", max_size=size, rows=rows, seed=repeat, timeout=LIMIT)
                found.append(measure(setting, config, Path(folder) / str(repeat)))
        finally:
            if allowed:
                os.sched_setaffinity(0, allowed)
    note, spot_version = f"{rows} pairs up to {size} nodes, per core", LTL.solver_version()
    return [
        Row(f"spot-{job}", what, f"{spot_version} alone in one process", "/s", "at least", 0.9,
            [values[ours] for values in found], [values[theirs] for values in found], note)
        for job, what, ours, theirs in (
            ("generation", "data generation", "builder", "Spot solves"),
            ("verification", "verification", "checker", "Spot verifies"),
        )
    ]  # fmt: skip


def all_cores(setting: Setting) -> list[Row]:
    """Pairs per second of the builder with a process on every core, beside one process, in wall-clock time.

    Three times as many pairs as elsewhere, since the start and the last formulas, up to the limit each, use no more
    cores than one: of 8,000 pairs on two cores they took more than three seconds in eight.
    """
    rows, size = (30, 10) if setting.tiny else (3 * ROWS, SIZE)

    def rate(processes: int) -> float:
        config = LtlRandomConfig(name="benchmark", max_size=size, rows=rows, timeout=LIMIT)
        with tempfile.TemporaryDirectory() as folder:
            return rows / seconds(lambda: generate(config, Path(folder), processes, progress=False))

    cores = available_cores()
    many, one = in_turn(setting, lambda: rate(cores), lambda: rate(1), warm_up=False)
    what, note = f"data generation in {cores} processes", f"{rows} pairs up to {size} nodes, wall-clock time"
    return [Row("spot-all-cores", what, "one process", "/s", "at least", 0.9 * cores, many, one, note)]


BENCHMARKS = {"spot": spot_alone, "spot-all-cores": all_cores}
