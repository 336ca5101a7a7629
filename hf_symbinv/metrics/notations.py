"""Formulas and answers as people and models write them: every text is read in its own notation, or refused.

Models write prefix notation, `&aXb` and `a;{b}`; people write infix notation, `a & X b` and `a; cycle{b}`. Two kinds of
answers show how they are written: a trace in infix notation has the word `cycle` before its brace, an assignment in
infix notation has `=`, and neither ever stands there in prefix notation. A formula may mean something else in each:
`Uab` is `a U b` for a model and the symbol Uab for a person. This is the rule, `notation="auto"`:

1. A formula that one notation alone can read is in that notation; one that means the same in both is in either.
2. A formula with two meanings is in the notation of its own answer. If the answer does not show one, it is in the
   notation of the other answers. Formulas of the same call that fall under rule 1 must not contradict that.
3. What is left is refused with both meanings. `notation="prefix"`, `"infix"` or `"lbt"` then says which one is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hf_symbinv.errors import UserError
from hf_symbinv.logic import (
    Formula,
    FormulaSyntaxError,
    assignment_to_prefix,
    parse_infix,
    parse_lbt,
    parse_prefix,
    read_assignment,
    read_trace,
    to_infix,
    to_prefix,
    trace_to_prefix,
)
from hf_symbinv.logic.notation import QUOTED

NOTATIONS = ("auto", "prefix", "infix", "lbt")
_PARSERS: dict[str, Callable[[str], Formula]] = {"prefix": parse_prefix, "infix": parse_infix, "lbt": parse_lbt}
_QUOTED = re.compile(QUOTED, re.DOTALL)
_INFIX_CYCLE = re.compile(r"\bcycle\s*\Z")


class NotationError(UserError):
    """A text that cannot be read, or that means something else in each notation."""


class AnswerKind(NamedTuple):
    """A kind of answers in two notations.

    `notation_of` says `prefix` or `infix`, by the marks of a text, well-formed or not; None if it has none. `to_prefix`
    raises FormulaSyntaxError for a text that is no answer.
    """

    name: str
    notation_of: Callable[[str], str | None]
    to_prefix: Callable[[str], str]


def trace_notation(text: str) -> str | None:
    """The notation of a trace: infix has the word `cycle` before the first brace; None if there is no brace."""
    before, brace, _ = _QUOTED.sub('""', text).partition("{")
    if not brace:
        return None
    return "infix" if _INFIX_CYCLE.search(before) else "prefix"


def assignment_notation(text: str) -> str | None:
    """The notation of an assignment: infix has `=`; None for a blank text."""
    if not text.strip():
        return None
    return "infix" if "=" in _QUOTED.sub('""', text) else "prefix"


TRACES = AnswerKind("trace", trace_notation, lambda text: trace_to_prefix(read_trace(text)))
ASSIGNMENTS = AnswerKind("assignment", assignment_notation, lambda text: assignment_to_prefix(read_assignment(text)))


def check_notation(notation: str, known: Sequence[str] = NOTATIONS) -> None:
    """Raise ValueError if `notation` is none of those that are known."""
    if notation not in known:
        raise ValueError(f"notation={notation!r}: unknown; use one of {', '.join(known)}")


def formulas_in_prefix(
    formulas: Sequence[str], answers: Sequence[str], kind: AnswerKind, notation: str = "auto"
) -> list[str]:
    """Every formula in prefix notation, by the rule at the top of this module.

    `answers`, as many, say how an ambiguous formula is meant.

    Raises:
        NotationError: If a formula cannot be read, or has two meanings and nothing says which one is right.
        ValueError: If `notation` is unknown.
    """
    check_notation(notation)
    names = ["prefix", "infix"] if notation == "auto" else [notation]
    readings = [_readings(row, text, names) for row, text in enumerate(formulas)]
    told = {name for found in readings if len(found) == 1 for name in found if name}
    shown = [kind.notation_of(answer) for answer in answers]
    texts = []
    for row, (text, found, own) in enumerate(zip(formulas, readings, shown, strict=True)):
        if len(found) > 1:
            evidence = told | ({own} if own else {name for name in shown if name})
            if len(evidence) != 1:
                prefix, infix = (to_infix(found[name]) for name in names)
                raise NotationError(
                    f"formulas[{row}]={text!r}: means {prefix} in prefix notation and {infix} in infix notation; say "
                    "notation='prefix' or notation='infix'"
                )
            found = {name: found[name] for name in evidence}
        ((name, formula),) = found.items()
        texts.append(text if name == "prefix" else to_prefix(formula))
    return texts


def _readings(row: int, text: str, names: Sequence[str]) -> dict[str, Formula]:
    """Notation → formula; a formula that is the same in all has the key ""."""
    found: dict[str, Formula] = {}
    reasons = []
    for name in names:
        try:
            found[name] = _PARSERS[name](text)
        except FormulaSyntaxError as error:
            reasons.append(f"in {name} notation, {error}")
    if not found:
        remedy = "" if len(names) > 1 else "; notation='auto' reads prefix and infix notation"
        raise NotationError(f"formulas[{row}]={text!r}: is no formula ({'; '.join(reasons)}){remedy}")
    if len(found) > 1 and len(set(found.values())) == 1:
        return {"": found[names[0]]}
    return found


def answer_in_prefix(text: str, kind: AnswerKind, notation: str = "auto") -> str:
    """An answer in prefix notation; one in prefix notation stays as it is, well-formed or not.

    With another `notation` than `auto`, answers in the other one are refused; those to LBT's formulas are in prefix.

    Raises:
        NotationError: If it is well-formed in another notation than `notation`.
        FormulaSyntaxError: If it shows that it is in infix notation, and is no answer.
    """
    shown = kind.notation_of(text)
    wanted = "prefix" if notation == "lbt" else notation
    if notation != "auto" and shown is not None and shown != wanted:
        try:
            kind.to_prefix(text)
        except FormulaSyntaxError:
            return text
        raise NotationError(f"{text!r}: a {kind.name} in {shown} notation, not in {wanted}; use notation='auto'")
    return kind.to_prefix(text) if shown == "infix" else text
