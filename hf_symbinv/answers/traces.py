"""Traces as simulators and spreadsheets have them: waveforms (VCD) and tables (CSV), in and out.

A recording has a value of each proposition in each step: 1, 0, or unknown. If it has a proposition `symbinv.cycle`,
the steps at its end in which that is 1 repeat for ever; else it is a finite trace, or the beginning of an infinite one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_symbinv.errors import UserError, in_short
from hf_symbinv.files import write_atomically
from hf_symbinv.logic import Formula, Trace, to_infix
from hf_symbinv.solvers.lasso import conjunction, literals

CYCLE = "symbinv.cycle"
STEP = "step"
TABLE, WAVEFORM = ".csv", ".vcd"
# Our choice: a simulation of some minutes at its clock, and signals of a large design.
MOST_STEPS, MOST_SIGNALS = 1_000_000, 100_000
_VALUES = {"0": False, "1": True, "false": False, "true": True, "": None, "x": None, "z": None, "-": None}


class TraceFileError(UserError):
    """A file that is no trace, or lacks propositions."""


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

    def of(self, symbols: Iterable[str], source: str) -> Recording:
        """What it says of these propositions: of `irq`, what it calls `top.cpu.irq` if nothing else ends so.

        Raises:
            TraceFileError: If one is not in it, or in it more than once.
        """
        found = {}
        for symbol in symbols:
            names = [symbol] if symbol in self.names else [name for name in self.names if name.endswith(f".{symbol}")]
            if len(names) != 1:
                has = f"has {in_short(', '.join(self.names))}"
                if names:
                    has = f"has several that end so, {', '.join(names)}"
                raise TraceFileError(f"{source}: no proposition is called {symbol}, and it {has}; write its full name")
            found[symbol] = names[0]
        steps = tuple({symbol: step[name] for symbol, name in found.items() if name in step} for step in self.steps)
        return Recording(tuple(found), steps, self.loop)

    def trace(self, alive: Formula | None = None) -> Trace:
        """All words that go on as the recording does: for ever in its cycle, or in any way after its end.

        Args:
            alive: For a finite trace, the proposition that ends with it.

        Raises:
            TraceFileError: If a finite trace has a cycle.
        """
        steps = list(map(conjunction, self.steps))
        if alive is not None:
            if self.loop is not None:
                raise TraceFileError(f"a finite trace has no cycle; leave {CYCLE} out, or the line `traces finite`")
            return Trace(tuple(alive & step for step in steps), (~alive,))
        if self.loop is None:
            return Trace(tuple(steps), (Formula.true(),))
        return Trace(tuple(steps[: self.loop]), tuple(steps[self.loop :]))


def recording_of(trace: Trace, symbols: tuple[str, ...], alive: Formula | None = None) -> Recording:
    """The recording of a witness.

    Args:
        symbols: The propositions, in the order of columns.
        trace: Every step is a conjunction of literals.
        alive: For a finite trace, the proposition that marks it.
    """
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
    """Write a recording, as a table or as a waveform with one unit of time for each step.

    Args:
        path: Ends in `.csv` or `.vcd`.
        recording: What is written.

    Raises:
        TraceFileError: If a waveform cannot have a proposition's name.
        OSError: If it cannot be written.
    """
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


def read_recording(path: Path, clock: str | None = None) -> Recording:
    """The recording in a table or a waveform.

    Args:
        path: Ends in `.csv` or `.vcd`.
        clock: Of a waveform: a step is a rising edge of this signal, and has the values before it. Without it, a step
            is each time at which something changes, and has the values after it.

    Raises:
        TraceFileError: If it is none.
        OSError: If it cannot be read.
    """
    if path.suffix not in (TABLE, WAVEFORM):
        raise TraceFileError(f"{path}: unknown kind of trace; its name ends in {TABLE} or {WAVEFORM}")
    if clock is not None and path.suffix == TABLE:
        raise TraceFileError(f"--clock {clock}: a table has a row for each step; leave it out")
    names: dict[str, None] = {}
    rows = list(_rows(path, names) if path.suffix == TABLE else _samples(path, clock, names))
    if not rows:
        raise TraceFileError(f"{path}: has no step; give at least one")
    marks = [row.pop(CYCLE, False) for row in rows]
    loop = marks.index(True) if True in marks else None
    if loop is not None and not all(marks[loop:]):
        raise TraceFileError(f"{path}: {CYCLE} is 1 and then 0 again; the cycle is the end of the trace")
    return Recording(tuple(name for name in names if name != CYCLE), tuple(rows), loop)


def _rows(path: Path, known: dict[str, None]) -> Iterator[dict[str, bool]]:
    """The steps of a table, whose names are put into `known`."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            table = csv.reader(file)
            names = [name.strip() for name in next(table, [])]
            if len(set(names)) != len(names) or len(names) > MOST_SIGNALS:
                raise TraceFileError(
                    f"{path}:1: {len(names)} columns; give each its own name, {MOST_SIGNALS:,} at most"
                )
            known.update((name, None) for name in names if name != STEP)
            for number, row in enumerate(table):
                if number == MOST_STEPS:
                    raise TraceFileError(f"{path}: over {MOST_STEPS:,} steps; split it")
                if not row:
                    continue
                place = f"{path}:{table.line_num}"
                if len(row) != len(names):
                    raise TraceFileError(f"{place}: {len(row)} cells under {len(names)} names; give each step all")
                yield dict(_cells(place, names, row))
        except (csv.Error, UnicodeDecodeError) as error:
            raise TraceFileError(f"{path}: no table ({error}); save it as CSV in UTF-8") from None


def _cells(place: str, names: list[str], row: list[str]) -> Iterator[tuple[str, bool]]:
    for name, cell in zip(names, row, strict=True):
        text = cell.strip().lower()
        if name == STEP:
            continue
        if text not in _VALUES:
            raise TraceFileError(f"{place}: {name} is {in_short(cell)}; write 1, 0, or nothing where it is unknown")
        value = _VALUES[text]
        if value is not None:
            yield name, value


def _samples(path: Path, clock: str | None, known: dict[str, None]) -> Iterator[dict[str, bool]]:
    """The steps of a waveform, whose names are put into `known`.

    A vector's bits are propositions of their own, `data[0]` and so on.
    """
    count = 0
    current: dict[str, bool] = {}
    clock_name: str | None = None
    for changes in _times(path, known):
        if clock is not None and clock_name is None:
            ends = [name for name in known if name == clock or name.endswith(f".{clock}")]
            if len(ends) != 1:
                raise TraceFileError(f"--clock {clock}: {path} has {len(ends)} signals of this name; give one in full")
            clock_name = ends[0]
        step = None
        if clock_name is not None and changes.get(clock_name) and not current.get(clock_name, True):
            step = dict(current)
        for name, value in changes.items():
            if value is None:
                current.pop(name, None)
            else:
                current[name] = value
        if clock_name is None:
            step = dict(current)
        if step is not None:
            count += 1
            if count > MOST_STEPS:
                raise TraceFileError(f"{path}: over {MOST_STEPS:,} steps; cut it")
            yield step


def _times(path: Path, known: dict[str, None]) -> Iterator[dict[str, bool | None]]:
    """What changes at each time at which something does; the names of all bits are put into `known`."""
    from vcd.reader import TokenKind, VCDParseError, tokenize

    scope: list[str] = []
    bits: dict[str, list[list[str]]] = {}  # of the signals of one code, the most significant first
    changes: dict[str, bool | None] = {}
    changed = False
    with path.open("rb") as file:
        try:
            for token in tokenize(file):
                data: Any = token.data
                if token.kind is TokenKind.SCOPE:
                    scope.append(data.ident)
                elif token.kind is TokenKind.UPSCOPE:
                    scope.pop()
                elif token.kind is TokenKind.VAR:
                    names = _bits(scope, data)
                    bits.setdefault(data.id_code, []).append(names)
                    known.update(dict.fromkeys(names))
                    if len(known) > MOST_SIGNALS:
                        raise TraceFileError(f"{path}: over {MOST_SIGNALS:,} signals; record fewer")
                elif token.kind is TokenKind.CHANGE_TIME and changed:
                    yield changes
                    changes, changed = {}, False
                elif token.kind in (TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR):
                    changed = True
                    for names in bits.get(data.id_code, []):
                        changes.update(zip(names, _bit_values(data.value, len(names)), strict=True))
        except (VCDParseError, UnicodeDecodeError, ValueError, IndexError) as error:
            if isinstance(error, TraceFileError):
                raise
            raise TraceFileError(f"{path}: no waveform ({error}); give a VCD as simulators write it") from None
    if changed:
        yield changes


def _bit_values(value: int | str, width: int) -> list[bool | None]:
    """The bits of a value as a waveform has it, the most significant first; a short one is filled as Verilog does."""
    text = format(value, "b") if isinstance(value, int) else str(value).lower()
    text = text.rjust(width, "0" if text[:1] in ("0", "1") else text[:1])
    return [_VALUES.get(character) for character in text[len(text) - width :]]


def _bits(scope: list[str], declaration: Any) -> list[str]:
    """Names of the bits of a signal, without the scope `trace`, in which this package writes what has none."""
    if declaration.type_.name in ("integer", "real", "realtime", "string", "parameter", "time", "event"):
        return []
    name = ".".join([*([] if scope == ["trace"] else scope), declaration.reference])
    index = declaration.bit_index
    if isinstance(index, tuple):
        first, last = index
        return [
            f"{name}[{bit}]" for bit in range(first, last + (1 if last >= first else -1), 1 if last >= first else -1)
        ]
    if declaration.size == 1:
        return [name if index is None else f"{name}[{index}]"]
    return [f"{name}[{bit}]" for bit in reversed(range(declaration.size))]
