"""Specifications in TLSF, the format of the competition of synthesis, as specifications whose properties have names.

The basic form is read: the sections INFO and MAIN, with signals that are no buses. Asked is whether a trace satisfies
what is assumed and what is guaranteed together; whether a system can be built that guarantees it is another question.
`syfco` turns the full form, which has parameters, buses and functions, into the basic one.

Operators bind otherwise than in Spot's syntax: from tight to loose `! X F G`, `&&`, `||`, `->` with `<->`, `W`, `U`,
and `R`. `X[!]`, whose next step must exist, is of the tools that read TLSF with finite traces.

Source: Jacobs, Klein, Schirmer 2016, "A High-Level LTL Synthesis Format: TLSF v1.1", sections 2 and 3.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from hf_symbinv.answers.specification import (
    MOST_PROPERTIES,
    Property,
    Role,
    Specification,
    SpecificationError,
    placed,
    read_text,
)
from hf_symbinv.logic import Formula, to_infix
from hf_symbinv.logic.notation import quote

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<unclosed>/\*|"[^"]*\Z)
    |(?P<text>"[^"]*")
    |(?P<strong>X\s*\[\s*!\s*\])
    |(?P<name>[A-Za-z_][\w@']*)
    |(?P<operator><->|->|&&|\|\||[!(){};:,])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_UNARY = {"!": "!", "NOT": "!", "X": "X", "F": "F", "G": "G"}
_BINARY = {
    "&&": "&", "AND": "&", "||": "|", "OR": "|", "->": "->", "IMPLIES": "->", "<->": "<->", "EQUIV": "<->",
    "W": "W", "U": "U", "R": "R",
}  # fmt: skip
_PRECEDENCE = {"R": 0, "U": 1, "W": 2, "->": 3, "<->": 3, "|": 4, "&": 5}
_TO_THE_LEFT = frozenset("R|&")
_UNARY_PRECEDENCE = 6
_CONSTANTS = {"true": Formula.true(), "false": Formula.false()}
_PAST = frozenset("YHOST")
# Section → what its formulas are for, and whether they hold in every step.
_SECTIONS: dict[str, tuple[Role, bool]] = {
    "INITIALLY": ("assume", False),
    "PRESET": ("guarantee", False),
    "REQUIRE": ("assume", True),
    "REQUIREMENTS": ("assume", True),
    "ASSUME": ("assume", False),
    "ASSUMPTIONS": ("assume", False),
    "ASSERT": ("guarantee", True),
    "INVARIANTS": ("guarantee", True),
    "GUARANTEE": ("guarantee", False),
    "GUARANTEES": ("guarantee", False),
}
_SIGNALS = ("INPUTS", "OUTPUTS")
_BASIC = "only the basic form is read; turn it into that by `syfco -f basic`"


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def read_tlsf(text: str, source: str = "") -> Specification:
    """The specification that a text in the basic form of TLSF holds.

    Its properties are called by their section and their number in it, such as `GUARANTEE 2`; the text of the result is
    in the syntax of `read_specification`.

    Raises:
        SpecificationError: If it is not TLSF in the basic form; with source, line and column of what is wrong.
    """
    return _Reader(text, source).specification()


def read_tlsf_file(path: Path) -> Specification:
    """The specification in a file.

    Raises:
        SpecificationError: As `read_tlsf`, with the file's name, or if it is no text.
        OSError: If the file cannot be read.
    """
    return read_tlsf(read_text(path), str(path))


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.tokens: list[_Token] = []
        self.next = 0
        for match in _TOKEN.finditer(text):
            if match.lastgroup != "blank":
                self.tokens.append(_Token(str(match.lastgroup), match.group(), match.start()))
            if match.lastgroup == "unclosed":
                self.next = len(self.tokens) - 1
                raise self.error("this comment or text is not closed")
        self.tokens.append(_Token("end", "", len(text.rstrip())))
        self.signals: set[str] = set()
        self.properties: list[Property] = []
        self.numbers: Counter[str] = Counter()
        self.finite = False

    def specification(self) -> Specification:
        self.expect("INFO", "a specification in TLSF begins with INFO { ... }")
        self.info()
        if self.here().text == "GLOBAL":
            raise self.full("GLOBAL belongs to the full form")
        self.expect("MAIN", "after INFO comes MAIN { ... }")
        self.expect("{")
        while self.here().text != "}":
            self.section()
        self.expect("}")
        if self.here().kind != "end":
            raise self.error(f"expected the end, found {self.found()}")
        if not self.properties:
            raise self.error("no formula is assumed or guaranteed; write one into a section such as GUARANTEE { ... }")
        lines = [f"{item.role} {quote(item.name)}: {item.text}" for item in self.properties]
        return Specification("\n".join(["traces finite"] * self.finite + lines), tuple(self.properties), self.finite)

    def here(self) -> _Token:
        return self.tokens[self.next]

    def expect(self, text: str, reason: str = "") -> None:
        if self.here().text != text:
            raise self.error(reason or f"expected {text!r}, found {self.found()}")
        self.next += 1

    def found(self) -> str:
        return repr(self.here().text) if self.here().text else "the end"

    def info(self) -> None:
        """Of what is said of the specification, only that its traces are finite changes what it means."""
        self.expect("{")
        start = self.next
        while self.here().text != "}":
            if self.here().kind == "end":
                raise self.error("expected '}' where INFO ends")
            self.next += 1
        words = [token.text for token in self.tokens[start : self.next]]
        self.expect("}")
        semantics = words[words.index("SEMANTICS") + 1 :] if "SEMANTICS" in words else []
        for place, word in enumerate(semantics):
            if word == ":" and place:  # the next key
                break
            self.finite |= word == "Finite"

    def section(self) -> None:
        name = self.here().text
        if name not in _SECTIONS and name not in _SIGNALS:
            known = ", ".join([*_SIGNALS, *_SECTIONS])
            raise self.error(f"expected '}}' or a section of MAIN, found {self.found()}; sections are {known}")
        self.next += 1
        self.expect("{")
        while self.here().text != "}":
            if self.here().text == ";":
                self.next += 1
            elif name in _SIGNALS:
                self.signal()
            else:
                self.property(name)
        self.expect("}")

    def signal(self) -> None:
        token = self.here()
        if token.kind != "name":
            raise self.error(f"expected the name of a signal, found {self.found()}")
        self.signals.add(token.text)
        self.next += 1
        if self.here().text not in (";", "}"):
            raise self.full("a signal with more than its name belongs to the full form")

    def property(self, section: str) -> None:
        if len(self.properties) == MOST_PROPERTIES:
            raise self.error(f"over {MOST_PROPERTIES:,} formulas; split the specification")
        role, always = _SECTIONS[section]
        self.numbers[section] += 1
        start = self.here().place
        formula = self.formula()
        if always:
            formula = Formula("G", (formula,))
        name = f"{section} {self.numbers[section]}"
        self.properties.append(Property(name, role, to_infix(formula), formula, start))

    def formula(self) -> Formula:
        """The formula from here to the end of its statement; the stacks are those of operator precedence."""
        operands: list[Formula] = []
        operators: list[str] = []

        def reduce(precedence: int) -> None:
            while operators and operators[-1] != "(":
                operator = operators[-1]
                if _PRECEDENCE.get(operator, _UNARY_PRECEDENCE) < precedence:
                    return
                arity = 2 if operator in _PRECEDENCE else 1
                operands[-arity:] = [Formula(operator, tuple(operands[-arity:]))]
                operators.pop()

        expecting = True
        while (token := self.here()).kind != "end" and token.text not in (";", "}"):
            if expecting and token.kind == "strong":
                operators += ["!", "X", "!"]
            elif expecting and token.text in _UNARY:
                operators.append(_UNARY[token.text])
            elif expecting and token.text == "(":
                operators.append("(")
            elif expecting and (token.text in _CONSTANTS or token.kind == "name"):
                operands.append(self.operand(token))
                expecting = False
            elif not expecting and token.text in _BINARY:
                operator = _BINARY[token.text]
                reduce(_PRECEDENCE[operator] + (operator not in _TO_THE_LEFT))
                operators.append(operator)
                expecting = True
            elif not expecting and token.text == ")" and "(" in operators:
                reduce(0)
                operators.pop()
            else:
                raise self.unexpected(token, expecting)
            self.next += 1
        if expecting:
            raise self.error("expected a formula")
        reduce(0)
        if operators:
            raise self.error("expected ')'")
        return operands[0]

    def operand(self, token: _Token) -> Formula:
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        if token.text in self.signals:
            return Formula.ap(token.text)
        if token.text in _PAST:
            raise self.error(f"the operator {token.text} looks back; only X F G U R W are read")
        if self.tokens[self.next + 1].text == "(":
            raise self.full("a function belongs to the full form")
        raise self.error(f"{token.text!r} is neither among INPUTS nor among OUTPUTS; declare it before the formulas")

    def unexpected(self, token: _Token, expecting: bool) -> SpecificationError:
        if token.kind == "other" or token.text == "{" or self.tokens[self.next + 1].text == "[":
            return self.full(f"{token.text!r} belongs to the full form")
        if token.text in _PAST:
            return self.error(f"the operator {token.text} looks back; only X F G U R W are read")
        return self.error(f"unexpected {token.text!r}, expected {'a formula' if expecting else 'an operator or ;'}")

    def full(self, reason: str) -> SpecificationError:
        return self.error(f"{reason}, and {_BASIC}")

    def error(self, reason: str) -> SpecificationError:
        return placed(self.text, self.source, self.here().place, reason)
