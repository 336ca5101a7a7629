"""Specifications as people write them: named properties, assumptions and guarantees, comments, several lines.

    # a comment, at the beginning of a line or behind a blank; // and /* */ work too
    assume    fair:     G F ready
    guarantee granted:  G(request -> F[0:3] grant)
    G !(grant & error)                     // its own text is the name of a property without one

A formula ends with `;` or with its line, unless a parenthesis is open, the line ends with an operator, or the next line
begins with an operator that stands between formulas. The line `traces finite` says that all formulas speak of finite
traces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from hf_symbinv.errors import UserError, cut
from hf_symbinv.files import decoded, reading
from hf_symbinv.logic import Formula, FormulaSyntaxError, parse_infix, to_infix
from hf_symbinv.logic.finite import embed_finite, finite_trace
from hf_symbinv.logic.formula import PROPOSITIONAL_OPERATORS
from hf_symbinv.logic.infix import quotes_for
from hf_symbinv.logic.notation import QUOTED, quote, unquote

Role = Literal["assume", "guarantee", "property"]
# Our choice: some thousand pages.
LONGEST = 1 << 22
ALIVE = "alive"
# Characters of a formula that stands for its own name, at most. Our choice: half a line.
LONGEST_NAME = 60
# Properties of a specification, and their operators and names together, at most. Our choice: some hundred pages.
MOST_PROPERTIES, MOST_NODES = 10_000, 300_000
# Characters at the end of a line that say whether its formula goes on. Our choice: bounds have some ten.
LONGEST_END = 100

_SKIPPED = re.compile(
    rf"(?P<quoted>{QUOTED})|(?P<comment>(?:(?<![^\s;])#(?![#\d])|//)[^\n]*|/\*.*?\*/)|(?P<open>/\*)", re.DOTALL
)
_BEGINS_BETWEEN = re.compile(r"\s*(?:-|<(?!>)|=>|/\\|\\/|[&|^+*)∧∩∨∪⊕→⟶⇒⟹↔⇔](?!\])|(?:[URWVM]|xor)(?![\w.:])(?!\s*:))")
_ENDS_OPEN = re.compile(
    r"(?:[-!~¬&|^+*<>=:∧∩∨∪⊕→⟶⇒⟹↔⇔○◯□⬜◻◇⋄♢]|/\\|\\/|\[\s*\]|\(\s*\)|(?<![\w.])[XFG]\s*\[[^\]\n]*\]|(?<![\w.])(?:[XFGURWVM]|xor))\s*$"
)
_NAME = rf"(?:{QUOTED}|[A-Za-z_][\w.-]*)"
_ROLE = re.compile(rf"\s*(?P<role>assume|guarantee|property)(?![\w.])\s*(?::|(?P<name>{_NAME})\s*:)?", re.DOTALL)
_SEVERAL_WORDS = re.compile(r"\s*(?P<name>[\w.-]+(?:[^\S\n]+[\w.-]+)+)\s*:")
_LABEL = re.compile(rf"\s*(?P<name>{_NAME})\s*:", re.DOTALL)
_HEAD = re.compile(rf"\s*(?:(?:assume|guarantee|property)\s+[\w\"(\[!<]|{_NAME}\s*:)")
_BLANK_LINE = re.compile(r"[^\S\n]*\n")
_TRACES = re.compile(r"\s*traces\s+(\w+)\s*")


class SpecificationError(UserError):
    """A text that is no specification; the message begins with its place, as `FILE:LINE:COLUMN`."""


@dataclass(frozen=True, slots=True)
class Property:
    """A formula of a specification.

    Attributes:
        name: The one that it was given, its own text, or `line 3, column 1` where that is long or stands there twice.
        role: What it is for; a trace that is sought satisfies all of them.
        text: As it was written, without comments.
        formula: The same as a value.
        start: Where it begins in the specification's text.
    """

    name: str
    role: Role
    text: str
    formula: Formula
    start: int


@dataclass(frozen=True, slots=True)
class Specification:
    """Properties that one trace shall satisfy together.

    Attributes:
        text: As it was given.
        properties: At least one, with different names.
        finite: They speak of finite traces.
        propositional: They speak of one step alone, which an assignment describes.
    """

    text: str
    properties: tuple[Property, ...]
    finite: bool = False
    propositional: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the properties."""
        return tuple(item.name for item in self.properties)

    def symbols(self) -> tuple[str, ...]:
        """The names of the propositions, in the order of their first appearance."""
        return tuple(dict.fromkeys(name for item in self.properties for name in item.formula.symbols()))

    @property
    def alive(self) -> Formula:
        """For finite traces: the proposition that holds until the trace ends; no property has it."""
        name = ALIVE
        while name in self.symbols():
            name += "_"
        return Formula.ap(name)

    def conjuncts(self) -> tuple[Formula, ...]:
        """What solvers read: the properties on infinite traces and, for finite ones, the rule of `alive`."""
        formulas = tuple(item.formula for item in self.properties)
        if not self.finite:
            return formulas
        return (*(embed_finite(formula, self.alive) for formula in formulas), finite_trace(self.alive))

    def normal_form(self) -> str:
        """The one formula in infix that holds of exactly the traces that satisfy all properties."""
        return to_infix(conjunction(self.conjuncts()))

    def only(self, names: tuple[str, ...]) -> Specification:
        """The specification of the properties of these names alone, with a text of its own."""
        kept = tuple(item for item in self.properties if item.name in names)
        lines = [f"{item.role} {quote(item.name)}: {item.text}" for item in kept]
        text = "\n".join(["traces finite"] * self.finite + lines)
        return Specification(text, kept, self.finite, self.propositional)


def conjunction(formulas: tuple[Formula, ...]) -> Formula:
    """All formulas together, nested to the left."""
    first, *others = formulas
    for formula in others:
        first = first & formula
    return first


def read_specification(
    text: str, source: str = "", *, finite: bool = False, propositional: bool = False
) -> Specification:
    """The specification that a text holds.

    Args:
        text: Formulas in infix; the module's docstring has the syntax.
        source: What errors begin with, such as the name of a file.
        finite: Formulas speak of finite traces, also without a line that says so.
        propositional: Formulas have no temporal operators, and a witness is one step.

    Raises:
        SpecificationError: If it is none; with source, line and column of what is wrong.
    """
    reader = _Reader(text, source)
    properties: dict[str, Property] = {}
    nodes = 0
    for start, end in reader.statements():
        statement = reader.bare[start:end]
        traces = _TRACES.fullmatch(statement)
        if traces is not None:
            if traces[1] not in ("finite", "infinite"):
                raise reader.error(
                    start + traces.start(1), f"traces {traces[1]}: write `traces finite` or `traces infinite`"
                )
            if propositional:
                raise reader.error(
                    start + traces.start(1), "a propositional formula has no traces; leave this line out"
                )
            finite = traces[1] == "finite"
            continue
        head = _head(statement)
        first = start + head.end
        begin = first + len(reader.bare[first:end]) - len(reader.bare[first:end].lstrip())
        formula = reader.formula(first, end)
        nodes += formula.size
        if nodes > MOST_NODES or len(properties) == MOST_PROPERTIES:
            most = f"{MOST_PROPERTIES:,} properties, or {MOST_NODES:,} operators and names with bounds written out"
            raise reader.error(begin, f"over {most}; split the specification")
        temporal = sorted({node.operator for node in formula.distinct_nodes()} - PROPOSITIONAL_OPERATORS)
        if propositional and temporal:
            known = "propositional formulas have ! & | xor -> <->"
            known += quotes_for(temporal[0])
            raise reader.error(begin, f"operator {temporal[0]}: belongs to linear temporal logic; {known}")
        written = reader.bare[first:end].strip()
        name = reader.unquoted(head.name, start) if head.name else " ".join(written.split())
        if head.name is None and (name in properties or len(name) > LONGEST_NAME):
            name = "line {}, column {}".format(*line_and_column(text, begin))
        if name in properties:
            raise reader.error(begin, f"the name {name} stands before another property already; give each its own")
        properties[name] = Property(name, head.role, written, formula, begin)
    if not properties:
        raise reader.error(len(text), "expected a formula, the text ends here")
    return Specification(text, tuple(properties.values()), finite, propositional)


def read_specification_file(path: Path, *, finite: bool = False, propositional: bool = False) -> Specification:
    """The specification in a file; arguments are those of `read_specification`.

    Raises:
        SpecificationError: As `read_specification`, with the file's name, or if it is no text in UTF-8 or too long.
        OSError: If it cannot be read.
    """
    return read_specification(read_text(path), str(path), finite=finite, propositional=propositional)


def read_text(path: Path, longest: int = LONGEST) -> str:
    """The text of a file, with line ends as Unix has them."""
    with reading(path, SpecificationError) as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise SpecificationError(f"{path}: longer than {longest:,} bytes; split it")
    return decoded(content, path, SpecificationError).replace("\r\n", "\n")


def line_and_column(text: str, place: int) -> tuple[int, int]:
    """Line and column of a place in a text, both from 1."""
    return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)


def placed(text: str, source: str, place: int, reason: str) -> SpecificationError:
    """What is wrong at a place in a text, as `SOURCE:LINE:COLUMN: REASON`."""
    line, column = line_and_column(text, place)
    return SpecificationError(cut(f"{source}{':' * bool(source)}{line}:{column}: {reason}"))


class _Head(NamedTuple):
    """What stands before a formula, and where it ends."""

    role: Role
    name: str | None
    end: int


def _head(statement: str) -> _Head:
    match = _ROLE.match(statement)
    if match is not None and (match["name"] or not _BEGINS_BETWEEN.match(statement, match.end())):
        # Without more after it, `assume` is a proposition.
        has_more = statement[match.end() :].strip() or match.group().rstrip().endswith(":")
        if has_more:
            return _Head(match["role"], match["name"], match.end())  # type: ignore[arg-type]
    match = _LABEL.match(statement)
    return _Head("property", match["name"], match.end()) if match else _Head("property", None, 0)


class _Reader:
    """A text without its comments, which keep their places as blanks, and without what quoted names hold."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        bare: list[str] = []
        masked: list[str] = []
        last = 0
        for match in _SKIPPED.finditer(text):
            if match["open"]:
                raise self.error(match.start(), "this comment is not closed; write */ where it ends")
            for parts in (bare, masked):
                parts.append(text[last : match.start()])
            blank = re.sub(r"[^\n]", " ", match.group())
            bare.append(match.group() if match["quoted"] else blank)
            masked.append("q" * len(match.group()) if match["quoted"] else blank)
            last = match.end()
        self.bare = "".join([*bare, text[last:]])
        self.masked = "".join([*masked, text[last:]])

    def statements(self) -> Iterator[tuple[int, int]]:
        """Begin and end of each statement, without the mark that ends it."""
        start, depth, last = 0, 0, -1  # `last` is the place of the last character that is no blank
        masked = self.masked
        for place, character in enumerate(masked):
            if character in "([{":
                depth += 1
            elif character in ")]}":
                depth = max(depth - 1, 0)
            ends = character == ";" and not depth
            if character == "\n" and last >= start and not _BLANK_LINE.match(masked, place + 1):
                if depth:  # an unclosed parenthesis shall not swallow the next property
                    ends = _HEAD.match(self.bare, place + 1) is not None
                else:
                    end = _ENDS_OPEN.search(masked, max(start, last - LONGEST_END), last + 1)
                    ends = not (end or _BEGINS_BETWEEN.match(masked, place + 1))
            if ends:
                if last >= start:
                    yield start, place
                start, depth = place + 1, 0
            elif not character.isspace():
                last = place
        if last >= start:
            yield start, len(masked)

    def unquoted(self, name: str, start: int) -> str:
        """A name without its quotes, if it has any."""
        try:
            return unquote(name, self.text, start) if name.startswith('"') else name
        except FormulaSyntaxError as error:
            raise self.error(start, error.reason) from None

    def formula(self, start: int, end: int) -> Formula:
        try:
            return parse_infix(self.bare[start:end])
        except FormulaSyntaxError as error:
            reason = re.sub(
                r"at position (\d+)",
                lambda match: "at {}:{}".format(*line_and_column(self.text, start + int(match[1]))),
                error.reason,
            )
            if label := _SEVERAL_WORDS.match(self.bare[start:end]):
                reason += f"; a name of several words stands in double quotes: {quote(label['name'])}:"
            at_end = error.position >= len(self.bare[start:end].rstrip())
            place = start + (len(self.bare[start:end].rstrip()) if at_end else error.position)
            raise self.error(place, reason) from None

    def error(self, place: int, reason: str) -> SpecificationError:
        return placed(self.text, self.source, place, reason)
