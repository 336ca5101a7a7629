"""Truth values of a formula and of all its parts in fixed worlds, with one bit for each position of each world.

worlds = Worlds([(4, 0, 1)], symbols=2)  # the truth table of two symbols
worlds.truth(["&", 0, "!", 1])  # of a & !b, of a, of !b and of b
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hf_symbinv.logic.formula import ARITY


class Worlds:
    """Lassos: words that go through positions 0, 1, ..., and from the last one back to the start of their cycle.

    A world of one position is an assignment. In the first 2^n worlds of a shape are those of n symbols, as far as these
    go, each once at its first position; everything else about them is random.

    Args:
        shapes: For each shape, how many worlds have it, the position where their cycle starts, and their positions.
        symbols: How many have truth values.
        seed: Of the random ones.

    Attributes:
        bits: How many truth values a formula has.
    """

    def __init__(self, shapes: Sequence[tuple[int, int, int]], symbols: int, seed: int = 0):
        self.shapes, self.symbols = list(shapes), symbols
        self.bits = sum(worlds * positions for worlds, _, positions in shapes)
        self._operators = [_operators(*shape) for shape in self.shapes]
        generator = random.Random(seed)
        self._values = [[_values(*shape, symbol, generator) for shape in self.shapes] for symbol in range(symbols)]

    def truth(self, words: Sequence[str | int]) -> list[int]:
        """For each word of a formula in prefix notation, the truth values of the part that it begins, as `bits` bits.

        Words are operators, `0` and `1` as text, and symbols as numbers from 0; ValueError if they are no formula.
        """
        found, offset = [0] * len(words), 0
        for place, shape in enumerate(self.shapes):
            for index, value in enumerate(self._in_shape(words, place)):
                found[index] |= value << offset
            offset += shape[0] * shape[2]
        return found

    def _in_shape(self, words: Sequence[str | int], place: int) -> list[int]:
        (constants, unary, binary), values = self._operators[place], self._values
        stack: list[int] = []
        found = []
        try:
            for word in reversed(words):
                if isinstance(word, int):
                    value = values[word][place]
                elif word in unary:
                    value = unary[word](stack.pop())
                elif word in binary:
                    value = binary[word](stack.pop(), stack.pop())
                else:
                    value = constants[word]
                stack.append(value)
                found.append(value)
        except (IndexError, KeyError):
            raise ValueError(f"{' '.join(map(str, words))}: is no formula whose parts have truth values") from None
        if len(stack) != 1:
            raise ValueError(f"{' '.join(map(str, words))}: is {len(stack)} formulas, and must be one")
        return found[::-1]


class _Operators(NamedTuple):
    """What the words of a formula do with the truth values of worlds of one shape."""

    constants: dict[str, int]
    unary: dict[str, Callable[[int], int]]
    binary: dict[str, Callable[[int, int], int]]


def _operators(worlds: int, start: int, positions: int) -> _Operators:
    every, block, last = (1 << worlds * positions) - 1, (1 << worlds) - 1, worlds * (positions - 1)

    def following(value: int) -> int:
        """What holds at the next position."""
        return value >> worlds | (value >> start * worlds & block) << last

    def until(left: int, right: int) -> int:
        """The least set that has `right` and, where `left` holds, all positions before its own."""
        value = right
        while (more := right | left & following(value)) != value:
            value = more
        return value

    def released(left: int, right: int) -> int:
        return every ^ until(every ^ left, every ^ right)

    unary: dict[str, Callable[[int], int]] = {
        "!": lambda value: every ^ value,
        "X": following,
        "F": lambda value: until(every, value),
        "G": lambda value: released(0, value),
    }
    binary: dict[str, Callable[[int, int], int]] = {
        "&": lambda left, right: left & right,
        "|": lambda left, right: left | right,
        "^": lambda left, right: left ^ right,
        "->": lambda left, right: every ^ left | right,
        "<->": lambda left, right: every ^ left ^ right,
        "U": until,
        "R": released,
        "W": lambda left, right: released(right, left | right),
        "M": lambda left, right: until(right, left & right),
    }
    return _Operators({"0": 0, "1": every}, unary, binary)


def heights(words: Sequence[str | int]) -> list[int]:
    """For each word of a formula in prefix notation, the operators on the longest path below it, its own included."""
    stack: list[int] = []
    found = []
    for word in reversed(words):
        operands = 0 if isinstance(word, int) else ARITY[word]
        stack.append(1 + max(stack.pop() for _ in range(operands)) if operands else 0)
        found.append(stack[-1])
    return found[::-1]


def _values(worlds: int, start: int, positions: int, symbol: int, generator: random.Random) -> int:
    """A symbol's truth values: bit `position * worlds + world`."""
    drawn = generator.getrandbits(worlds * positions)
    if 1 << symbol >= worlds:
        return drawn
    table = sum(1 << world for world in range(worlds) if world >> symbol & 1)
    return drawn & ~((1 << worlds) - 1) | table
