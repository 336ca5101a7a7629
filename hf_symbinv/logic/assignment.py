"""Partial assignments of truth values to symbols, as text: `a1b0`, `request 1 grant 0` or `request=1, grant=0`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hf_symbinv.logic.formula import SYMBOL, FormulaSyntaxError, check_name, check_renaming
from hf_symbinv.logic.infix import infix_name
from hf_symbinv.logic.notation import QUOTED, Token, read_words, unquote, write_prefix

_VALUES = {"0": False, "1": True}
_PAIR = re.compile(
    rf"\s*(?:(?P<quoted>{QUOTED})|(?P<name>[A-Za-z_.][A-Za-z0-9_.]*))\s*=\s*(?P<value>[01])(?![A-Za-z0-9_.])\s*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Truth values of some symbols; all other symbols are free.

    Attributes:
        values: Pairs of a symbol's name and its value; at least one, and none twice.

    Raises:
        ValueError: If there is no pair, a name names no symbol, or a symbol is assigned twice.
    """

    values: tuple[tuple[str, bool], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple((check_name(name), bool(value)) for name, value in self.values))
        if not self.values:
            raise ValueError("assignment: no symbol is assigned; give at least one symbol and its value")
        seen: set[str] = set()
        for name, _ in self.values:
            if name in seen:
                raise ValueError(f"assignment: {name!r} is assigned twice; give every symbol one value")
            seen.add(name)

    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols, in the order of the text."""
        return tuple(name for name, _ in self.values)

    def rename(self, mapping: Mapping[str, str]) -> Assignment:
        """Rename symbols simultaneously; names that `mapping` does not hold stay.

        Raises:
            ValueError: If two symbols of this assignment would get the same name.
        """
        check_renaming(mapping, self.symbols())
        return Assignment(tuple((mapping.get(name, name), value) for name, value in self.values))

    def sorted(self) -> Assignment:
        """The same assignment in the order of the symbols' names."""
        return Assignment(tuple(sorted(self.values)))

    def in_order(self, names: Iterable[str]) -> Assignment:
        """The same assignment in the order of these names, the others after them."""
        rank = {name: place for place, name in enumerate(names)}
        return Assignment(tuple(sorted(self.values, key=lambda pair: rank.get(pair[0], len(rank)))))


def parse_assignment(text: str) -> Assignment:
    """Read an assignment in prefix notation, COMPACT or SPACED: symbol and value alternate."""
    values: dict[str, bool] = {}
    symbol: str | None = None
    for position, word, name in read_words(text):
        if symbol is None:
            if name is None:
                raise FormulaSyntaxError(f"expected a symbol, found {word!r}", text, position)
            if name in values:
                raise FormulaSyntaxError(f"{name!r} is assigned twice", text, position)
            symbol = name
        elif name is not None or word not in _VALUES:
            found = word if name is None else name
            raise FormulaSyntaxError(f"expected the value of {symbol!r}, 0 or 1, found {found!r}", text, position)
        else:
            values[symbol], symbol = _VALUES[word], None
    if symbol is not None:
        raise FormulaSyntaxError(f"expected the value of {symbol!r}, 0 or 1, the text ends here", text, len(text))
    if not values:
        raise FormulaSyntaxError("expected an assignment such as a1b0, found nothing", text, len(text))
    return Assignment(tuple(values.items()))


def parse_assignment_infix(text: str) -> Assignment:
    """Read an assignment in infix notation, such as `request=1, "next state"=0`."""
    values: dict[str, bool] = {}
    position = 0
    while True:
        match = _PAIR.match(text, position)
        if match is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            raise FormulaSyntaxError("expected a symbol and its value, such as a=1", text, position)
        start = match.start("quoted" if match["quoted"] else "name")
        name = unquote(match["quoted"], text, start) if match["quoted"] else match["name"]
        if name in values:
            raise FormulaSyntaxError(f"{name!r} is assigned twice", text, start)
        values[name] = _VALUES[match["value"]]
        position = match.end()
        if position == len(text):
            return Assignment(tuple(values.items()))
        if text[position] != ",":
            raise FormulaSyntaxError("expected ',' between two pairs", text, position)
        position += 1


def read_assignment(text: str) -> Assignment:
    """Read an assignment in infix, `a=1, b=0`, or in prefix notation, `a1b0`; the `=` tells them apart."""
    infix = "=" in re.sub(QUOTED, "", text, flags=re.DOTALL)
    return (parse_assignment_infix if infix else parse_assignment)(text)


def assignment_to_prefix(assignment: Assignment) -> str:
    """Write an assignment in prefix notation, COMPACT where that is possible; `parse_assignment` reads it back."""
    return write_prefix(_tokens(assignment))


def _tokens(assignment: Assignment) -> Iterator[Token]:
    for name, value in assignment.values:
        yield Token(-1, SYMBOL, name)
        yield Token(-1, "1" if value else "0", None)


def assignment_to_infix(assignment: Assignment) -> str:
    """Write an assignment in infix notation, `request=1, grant=0`; `parse_assignment_infix` reads it back."""
    return ", ".join(f"{infix_name(name)}={int(value)}" for name, value in assignment.values)
