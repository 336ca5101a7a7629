"""Clauses as text: `c!a!b;!ca` or `c ! request ; ! c grant` in prefix notation, `(c | !a | !b) & (!c | a)` in infix.

A list of clauses is a conjunction, a clause a disjunction of literals, and a literal a symbol or `!` and a symbol. In
prefix notation literals follow each other, and `;` stands between clauses. There is at least one clause, and each has
at least one literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hf_symbinv.logic.formula import SYMBOL, Formula, FormulaSyntaxError
from hf_symbinv.logic.infix import infix_name, parse_infix
from hf_symbinv.logic.notation import QUOTED, Token, read_words, write_prefix

# A symbol's name, and whether it stands there without `!`.
Literal = tuple[str, bool]
Clauses = tuple[tuple[Literal, ...], ...]

_INFIX = re.compile(r"[&|()]")


def parse_clauses(text: str) -> Clauses:
    """Read clauses in prefix notation, COMPACT or SPACED."""
    clauses: list[tuple[Literal, ...]] = []
    literals: list[Literal] = []
    positive = True
    for position, word, name in read_words(text):
        if name is not None:
            literals.append((name, positive))
            positive = True
        elif not positive:
            raise FormulaSyntaxError(f"expected a symbol after !, found {word!r}", text, position)
        elif word == "!":
            positive = False
        elif word == ";" and literals:
            clauses.append(tuple(literals))
            literals = []
        else:
            raise FormulaSyntaxError(
                f"expected a symbol or !{' or ;' * bool(literals)}, found {word!r}", text, position
            )
    if not positive or not literals:
        raise FormulaSyntaxError("expected a symbol, the text ends here", text, len(text))
    return (*clauses, tuple(literals))


def read_clauses(text: str) -> Clauses:
    """Read clauses in infix notation, `(c | !a) & (a)`, or in prefix notation, told apart by `&`, `|` and brackets."""
    if not _INFIX.search(re.sub(QUOTED, "", text, flags=re.DOTALL)):
        return parse_clauses(text)
    return tuple(
        tuple(_literal(part, text) for part in _operands(clause, "|")) for clause in _operands(parse_infix(text), "&")
    )


def clauses_to_prefix(clauses: Clauses) -> str:
    """Write clauses in prefix notation, COMPACT where that is possible; `parse_clauses` reads them back."""
    return write_prefix(_tokens(clauses))


def clauses_to_infix(clauses: Clauses) -> str:
    """Write clauses in infix notation, each in brackets; `read_clauses` reads them back."""
    return " & ".join(f"({' | '.join(map(_literal_text, clause))})" for clause in clauses)


def _tokens(clauses: Iterable[Iterable[Literal]]) -> Iterator[Token]:
    for place, clause in enumerate(clauses):
        if place:
            yield Token(-1, ";", None)
        for name, positive in clause:
            if not positive:
                yield Token(-1, "!", None)
            yield Token(-1, SYMBOL, name)


def _operands(formula: Formula, operator: str) -> Iterator[Formula]:
    """The operands of a chain of `operator`, from left to right; the formula itself if it is none."""
    stack = [formula]
    while stack:
        node = stack.pop()
        if node.operator == operator:
            stack.extend(reversed(node.operands))
        else:
            yield node


def _literal(formula: Formula, text: str) -> Literal:
    atom = formula.operands[0] if formula.operator == "!" else formula
    if atom.name is None:
        raise FormulaSyntaxError(
            f"{atom.operator!r} stands inside a clause; write clauses as (c | !a | !b) & (!c | a)", text, 0
        )
    return atom.name, atom is formula


def _literal_text(literal: Literal) -> str:
    name, positive = literal
    return f"{'' if positive else '!'}{infix_name(name)}"
