"""Recorded traces against specifications: for each property, whether the recording satisfies it."""

from __future__ import annotations

from dataclasses import dataclass

from hf_symbinv.answers.portfolio import Portfolio
from hf_symbinv.answers.specification import Specification
from hf_symbinv.answers.traces import Recording
from hf_symbinv.logic import Formula, Trace
from hf_symbinv.solvers.lasso import literals, truth
from hf_symbinv.solvers.progression import remainder


@dataclass(frozen=True, slots=True)
class PropertyVerdict:
    """What a recording says of a property: `correct` on all words that go on as the recording does, `incorrect` on all
    of them, or `open`; or what stopped Spot, `timeout` or `error`. The message says why; it is empty for `correct`.
    """

    name: str
    verdict: str
    message: str = ""


def verify_recording(
    specification: Specification, recording: Recording, portfolio: Portfolio
) -> tuple[PropertyVerdict, ...]:
    """The verdict on each property: the package's own checker decides what it can.

    What depends on unknown values, or on how the trace goes on, is Spot's to decide.
    """
    alive = specification.alive if specification.finite else None
    trace = recording.trace(alive)
    verdicts = []
    for item, formula in zip(specification.properties, specification.conjuncts(), strict=False):
        verdict, message = _verdict(formula, trace, portfolio)
        if verdict == "incorrect":
            step = _first_step(formula, recording, alive)
            message = message if step is None else f"by step {step}, whatever comes after it"
        if verdict == "open":
            message = _why_open(formula, recording, alive)
        verdicts.append(PropertyVerdict(item.name, verdict, message))
    return tuple(verdicts)


def _verdict(formula: Formula, trace: Trace, portfolio: Portfolio) -> tuple[str, str]:
    own = truth(formula, trace)
    if own != "open":
        return ("correct", "") if own == "true" else ("incorrect", "on every word of the trace")
    if trace.cycle == (Formula.true(),):  # a beginning: what is left of the formula decides
        known = {place: literals(step) for place, step in {id(step): step for step in trace.prefix}.items()}
        left = remainder(formula, [known[id(step)] for step in trace.prefix])
        if left is not None:
            formula, trace = left, Trace((), trace.cycle)
    for question, verdict in ((formula, "correct"), (~formula, "incorrect")):
        check = portfolio.judge((question,), trace)
        if check.verdict == "correct":
            return verdict, "" if verdict == "correct" else "on every word of the trace"
        if check.verdict not in ("incorrect", "correct"):
            return check.verdict, check.message
    return "open", ""


def _why_open(formula: Formula, recording: Recording, alive: Formula | None) -> str:
    """What decides: values that are unknown, or what comes after the recording ends."""
    symbols = [symbol for symbol in formula.symbols() if symbol in recording.names]
    unknown = ((name, place) for place, step in enumerate(recording.steps) for name in symbols if name not in step)
    name, place = next(unknown, ("", 0))
    reasons = [f"unknown values decide, as that of {name} at step {place}"] if name else []
    if recording.loop is None and alive is None:
        reasons.append("what comes later decides")
    return ", or ".join(reasons)


def _first_step(formula: Formula, recording: Recording, alive: Formula | None) -> int | None:
    """The first step after which the property cannot hold any more; None if only the whole trace says so."""
    if alive is not None:
        return None
    low, high = 0, len(recording.steps)
    while low < high:  # what is lost after some steps is lost after more
        middle = (low + high) // 2
        beginning = Recording(recording.names, recording.steps[: middle + 1], None)
        if truth(formula, beginning.trace()) == "false":
            high = middle
        else:
            low = middle + 1
    return low if low < len(recording.steps) else None
