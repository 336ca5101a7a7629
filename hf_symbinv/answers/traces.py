"""Traces as simulators and spreadsheets have them: waveforms (VCD) and tables (CSV), in and out.

A recording has a value of each proposition in each step: 1, 0, or unknown. If it has a proposition `symbinv.cycle`,
the steps at its end in which that is 1 repeat for ever; else it is a finite trace, or the beginning of an infinite one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hf_symbinv.answers.recordings import CYCLE, TraceFileError
from hf_symbinv.answers.tables import rows
from hf_symbinv.answers.waveforms import samples
from hf_symbinv.files import kind_of, write_atomically
from hf_symbinv.logic import Formula, Trace, to_infix
from hf_symbinv.solvers.lasso import conjunction, literals

STEP = "step"
# Behind the steps of a finite trace, as text has it.
ENDS = ", and ends"
TABLE, WAVEFORM = ".csv", ".vcd"
# Our choice: a simulation of some minutes at its clock.
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Recording:
    """Values of propositions step by step.

    Attributes:
        names: The propositions.
        steps: Proposition → value in each step, where it is known; at least one step.
        loop: The first of the steps that repeat for ever; None if the recording just ends.
    """

    names: tuple[str, ...]
    steps: tuple[dict[str, bool], ...]
    loop: int | None

    def trace(self, alive: Formula | None = None) -> Trace:
        """All words that go on as the recording does: for ever in its cycle, or in any way after its end.

        A finite trace ends with the proposition `alive`; TraceFileError if it has a cycle.
        """
        # Many steps of a long recording are one object.
        known = {place: conjunction(step) for place, step in {id(step): step for step in self.steps}.items()}
        steps = [known[id(step)] for step in self.steps]
        if alive is not None:
            if self.loop is not None:
                raise TraceFileError(f"a finite trace has no cycle; leave {CYCLE} out, or the line `traces finite`")
            return Trace(tuple(alive & step for step in steps), (~alive,))
        if self.loop is None:
            return Trace(tuple(steps), (Formula.true(),))
        return Trace(tuple(steps[: self.loop]), tuple(steps[self.loop :]))


def recording_of(trace: Trace, symbols: tuple[str, ...], alive: Formula | None = None) -> Recording:
    """The recording of a witness."""
    if alive is not None:
        return Recording(symbols, tuple(literals(step) for step in finite_part(trace, alive)), None)
    return Recording(symbols, tuple(literals(step) for step in (*trace.prefix, *trace.cycle)), len(trace.prefix))


def finite_part(trace: Trace, alive: Formula) -> tuple[Formula, ...]:
    """The steps of a finite trace, which its embedding into an infinite one marks with `alive`."""
    steps = []
    for step in trace.prefix:
        known = literals(step)
        if not known.pop(str(alive.name), True):
            break
        steps.append(conjunction(known))
    return tuple(steps)


def steps_text(steps: tuple[Formula, ...]) -> str:
    """Steps in infix, such as `request; grant`."""
    return "; ".join(map(to_infix, steps))


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording, as a table (`.csv`) or as a waveform (`.vcd`) with one unit of time for each step."""
    write = {TABLE: _csv, WAVEFORM: _vcd}[path.suffix]
    write_atomically(path, write(recording))


def _csv(recording: Recording) -> str:
    output = io.StringIO()
    table = csv.writer(output, lineterminator="\n")
    cycle = [] if recording.loop is None else [CYCLE]
    table.writerow([STEP, *recording.names, *cycle])
    for place, step in enumerate(recording.steps):
        values = [int(step[name]) if name in step else "" for name in recording.names]
        table.writerow([place, *values, *([int(place >= recording.loop)] if recording.loop is not None else [])])
    return output.getvalue()


def _vcd(recording: Recording) -> str:
    from vcd import VCDWriter

    output = io.StringIO()
    with VCDWriter(output, timescale="1 ns", date="", version="hf_symbinv") as writer:
        signals = {}
        for name in recording.names:
            scope, _, last = name.rpartition(".")
            if not all(part and not any(map(str.isspace, part)) for part in name.split(".")):
                raise TraceFileError(f"{name!r}: a waveform's names have no blanks and no empty parts; write a .csv")
            signals[name] = writer.register_var(scope or "trace", last, "wire", size=1, init="x")
        # The number of the step keeps apart those that are alike.
        number = writer.register_var("symbinv", STEP, "integer", init=0)
        loop = recording.loop
        cycle = None if loop is None else writer.register_var("symbinv", "cycle", "wire", size=1, init=0)
        for place, step in enumerate(recording.steps):
            for name, signal in signals.items():
                writer.change(signal, place, int(step[name]) if name in step else "x")
            writer.change(number, place, place)
            if loop is not None and cycle is not None:
                writer.change(cycle, place, int(place >= loop))
        writer.close(len(recording.steps))
    return output.getvalue()


def read_recording(path: Path, symbols: Iterable[str], clock: str | None = None, source: str = "") -> Recording:
    """What a table or a waveform says of some propositions.

    Args:
        path: Ends in `.csv` or `.vcd`, in any case, compressed or not.
        symbols: The propositions: `irq` is what it calls `top.cpu.irq`, if nothing else ends so.
        clock: Of a waveform: a step is a rising edge of this signal, and has the values before it. Without it, a step
            is each time at which something changes, and has the values after it.
        source: What errors call the file; default its path.

    Raises:
        TraceFileError: If it is no trace, or has a proposition not at all or more than once.
        OSError: If it cannot be read.
    """
    source, kind, symbols = source or str(path), kind_of(path), tuple(symbols)
    if kind not in (TABLE, WAVEFORM):
        raise TraceFileError(f"{source}: unknown kind of trace; its name ends in {TABLE} or {WAVEFORM}")
    if clock is not None and kind == TABLE:
        raise TraceFileError(f"--clock {clock}: a table has a row for each step; leave it out")
    values = rows(path, symbols, source) if kind == TABLE else samples(path, symbols, clock, source)
    names = next(values)
    known: dict[tuple[bool | None, ...], tuple[dict[str, bool], bool]] = {}  # many steps are alike
    steps: list[tuple[dict[str, bool], bool]] = []
    for row in values:
        if len(steps) == MOST_STEPS:
            raise TraceFileError(f"{source}: over {MOST_STEPS:,} steps; {'split' if kind == TABLE else 'cut'} it")
        if row not in known:
            step = {name: value for name, value in zip(names, row, strict=True) if value is not None}
            repeats = step.pop(CYCLE, False)
            known[row] = {name: value for name, value in step.items() if name in symbols}, repeats
        steps.append(known[row])
    if not steps:
        remedy = f"because {clock} never rises; choose another --clock, or none" if clock else "give at least one"
        raise TraceFileError(f"{source}: has no step{', ' if clock else '; '}{remedy}")
    marks = [repeats for _, repeats in steps]
    loop = marks.index(True) if True in marks else None
    if loop is not None and not all(marks[loop:]):
        raise TraceFileError(f"{source}: {CYCLE} is 1 and then 0 again; the cycle is the end of the trace")
    return Recording(symbols, tuple(step for step, _ in steps), loop)
