"""Lasso traces: a finite prefix of steps, then a cycle of steps that repeats for ever.

A step is a propositional formula and stands for every valuation that satisfies it, so a trace denotes a set of words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from hf_symbinv.logic.formula import (
    PROPOSITIONAL_OPERATORS,
    Formula,
    FormulaSyntaxError,
    check_renaming,
    nested_to_the_right,
)
from hf_symbinv.logic.infix import parse_infix, quotes_for, to_infix
from hf_symbinv.logic.notation import QUOTED, Token, build_prefix, prefix_words, scan_prefix, write_prefix

_QUOTED_OR_MARK = re.compile(rf"{QUOTED}|[;{{}}]", re.DOTALL)
_CYCLE = re.compile(r"(?P<step>.*?)\bcycle\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Trace:
    """A lasso trace.

    Attributes:
        prefix: The steps before the cycle; may be empty.
        cycle: The steps that repeat; at least one.

    Raises:
        ValueError: If the cycle is empty or a step is not propositional.
    """

    prefix: tuple[Formula, ...]
    cycle: tuple[Formula, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", tuple(self.prefix))
        object.__setattr__(self, "cycle", tuple(self.cycle))
        if not self.cycle:
            raise ValueError("trace: the cycle is empty; give at least one step, 1 for any valuation")
        for step in (*self.prefix, *self.cycle):
            for node in step.distinct_nodes():
                if node.operator not in PROPOSITIONAL_OPERATORS:
                    told = f"holds the temporal operator {node.operator}; steps are propositional"
                    raise ValueError(f"trace: step {to_infix(step)} {told}{quotes_for(node.operator)}")

    def __and__(self, other: Trace) -> Trace:
        """The trace of the words that both traces denote: its steps say what theirs say, nested to the right.

        Its prefix is as long as the longer one, and its cycle a common multiple of both.
        """
        if not isinstance(other, Trace):
            return NotImplemented
        start = max(len(self.prefix), len(other.prefix))
        end = start + math.lcm(len(self.cycle), len(other.cycle))
        steps = [_both(self._at(place), other._at(place)) for place in range(end)]
        return Trace(tuple(steps[:start]), tuple(steps[start:]))

    def _at(self, place: int) -> Formula:
        later = place - len(self.prefix)
        return self.prefix[place] if later < 0 else self.cycle[later % len(self.cycle)]

    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols, in the order of their first appearance in prefix text."""
        return tuple(dict.fromkeys(name for step in (*self.prefix, *self.cycle) for name in step.symbols()))

    def rename(self, mapping: Mapping[str, str]) -> Trace:
        """Rename symbols simultaneously; names that `mapping` does not hold stay.

        Raises:
            ValueError: If two symbols of this trace would get the same name.
        """
        check_renaming(mapping, self.symbols())
        return Trace(
            tuple(step.rename(mapping) for step in self.prefix), tuple(step.rename(mapping) for step in self.cycle)
        )

    def in_order(self, names: Iterable[str]) -> Trace:
        """The same trace, with the literals of each step in the order of these names, the others after them.

        Steps that are no conjunctions of literals stay as they are; the others are nested to the right.
        """
        rank = {name: place for place, name in enumerate(names)}
        return Trace(
            tuple(_with_sorted_literals(step, rank) for step in self.prefix),
            tuple(_with_sorted_literals(step, rank) for step in self.cycle),
        )


def _both(one: Formula, other: Formula) -> Formula:
    if one == Formula.true():
        return other
    return one if other == Formula.true() else nested_to_the_right(one & other)


def _with_sorted_literals(step: Formula, rank: Mapping[str, int]) -> Formula:
    literals, stack = [], [step]
    while stack:
        part = stack.pop()
        if part.operator == "&":
            stack += reversed(part.operands)
        else:
            literals.append(part)
    names = [(literal.operands[0] if literal.operator == "!" else literal).name for literal in literals]
    if None in names:
        return step
    order = sorted(range(len(names)), key=lambda place: rank.get(str(names[place]), len(rank)))
    sorted_step = literals[order.pop()]
    while order:
        sorted_step = literals[order.pop()] & sorted_step
    return sorted_step


def parse_trace(text: str) -> Trace:
    """Read a trace in prefix notation: `a;&ab;{b}`, or `request ; { & request grant_1 ; grant_1 }`.

    Steps before the cycle each end in `;`. The cycle comes last, stands in braces, and has steps joined by `;`.
    FormulaSyntaxError if the text is not exactly one trace, or a step has a temporal operator.
    """
    prefix: list[Formula] = []
    cycle: list[Formula] = []
    step: list[Token] = []
    open_brace: int | None = None
    closed = False

    def fail(message: str, position: int) -> FormulaSyntaxError:
        return FormulaSyntaxError(message, text, position)

    for token in scan_prefix(text, punctuation=";{}"):
        operator, position = token.operator, token.position
        if closed:
            raise fail("the trace ends with its cycle, expected nothing more", position)
        if operator == "{":
            if open_brace is not None:
                raise fail("a trace has exactly one cycle", position)
            if step:
                raise fail("expected ';' between a step and the cycle", position)
            open_brace = position
        elif operator == "}" and open_brace is None:
            raise fail("no cycle is open; it starts with '{'", position)
        elif operator in (";", "}"):
            if not step:
                raise fail(f"expected a step before {operator!r}", position)
            (prefix if open_brace is None else cycle).append(build_prefix(step, text, position))
            step = []
            closed = operator == "}"
        elif operator not in PROPOSITIONAL_OPERATORS:
            raise fail(f"a step describes one instant and cannot hold the temporal operator {operator!r}", position)
        else:
            step.append(token)
    if not closed:
        raise fail("expected '}'" if open_brace is not None else "expected a cycle in braces, such as {a}", len(text))
    return Trace(tuple(prefix), tuple(cycle))


def read_trace(text: str) -> Trace:
    """Read a trace in infix, `request; grant; cycle{1}`, or in prefix notation, `a;b;{1}`."""
    marks = [match for match in _QUOTED_OR_MARK.finditer(text) if match.group() in (";", "{", "}")]
    opening = next((match.start() for match in marks if match.group() == "{"), None)
    if opening is None:
        raise FormulaSyntaxError("expected a cycle, such as cycle{1}, or {1} in prefix notation", text, len(text))
    before = max((match.end() for match in marks if match.end() <= opening), default=0)
    cycle_word = _CYCLE.fullmatch(text, before, opening)
    if cycle_word is not None and cycle_word["step"].strip():
        raise FormulaSyntaxError("expected ';' between a step and the cycle", text, cycle_word.end("step"))
    if cycle_word is None:
        try:
            return parse_trace(text)
        except FormulaSyntaxError as error:
            reason = f"{error.reason} (this is prefix notation; in infix the cycle is written cycle{{...}})"
            raise FormulaSyntaxError(reason, text, error.position) from None
    prefix: list[Formula] = []
    cycle: list[Formula] = []
    steps, start, closed = prefix, 0, False
    for mark in marks:
        if closed:
            raise FormulaSyntaxError("the trace ends with its cycle, expected nothing more", text, mark.start())
        if mark.group() == "{":
            if steps is cycle:
                raise FormulaSyntaxError("a trace has exactly one cycle", text, mark.start())
            steps = cycle
        else:
            closed = mark.group() == "}"
            if closed and steps is prefix:
                raise FormulaSyntaxError("no cycle is open; it starts with 'cycle{'", text, mark.start())
            with _inside(text, start):
                steps.append(parse_infix(text[start : mark.start()]))
        start = mark.end()
    if not closed:
        raise FormulaSyntaxError("expected '}'", text, len(text))
    if text[start:].strip():
        raise FormulaSyntaxError("the trace ends with its cycle, expected nothing more", text, start)
    try:
        return Trace(tuple(prefix), tuple(cycle))
    except ValueError as error:
        raise FormulaSyntaxError(str(error), text, 0) from None


@contextmanager
def _inside(text: str, start: int) -> Iterator[None]:
    """Syntax errors of a part of `text` that begins at `start`, as errors of `text`."""
    try:
        yield
    except FormulaSyntaxError as error:
        raise FormulaSyntaxError(error.reason, text, start + error.position) from None


def _trace_tokens(trace: Trace) -> Iterator[Token]:
    for step in trace.prefix:
        yield from prefix_words(step)
        yield Token(-1, ";", None)
    yield Token(-1, "{", None)
    for index, step in enumerate(trace.cycle):
        if index:
            yield Token(-1, ";", None)
        yield from prefix_words(step)
    yield Token(-1, "}", None)


def trace_to_prefix(trace: Trace) -> str:
    """Write a trace in prefix notation; `parse_trace` reads it back unchanged."""
    return write_prefix(_trace_tokens(trace))


def trace_to_infix(trace: Trace) -> str:
    """Write a trace in Spot's word syntax, `request; request & grant_1; cycle{grant_1}`, with its own names."""
    prefix = "".join(f"{to_infix(step)}; " for step in trace.prefix)
    return f"{prefix}cycle{{{'; '.join(to_infix(step) for step in trace.cycle)}}}"
