"""A second opinion on verdicts, without Spot: the semantics of LTL on lasso words, slow and obvious."""

import random
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from hf_symbinv.logic import Formula, Trace

Valuation = Mapping[str, bool]


class Lasso(NamedTuple):
    """One word: valuations of a prefix, then valuations that repeat for ever."""

    prefix: tuple[Valuation, ...]
    cycle: tuple[Valuation, ...]


def holds(formula: Formula, word: Lasso) -> bool:
    """Whether the word satisfies the formula.

    Raises:
        KeyError: If a valuation lacks a symbol of the formula.
    """
    return _values(formula.to_base(), word)[0]


def _values(formula: Formula, word: Lasso) -> list[bool]:
    """The formula's value at every position; the one after the last is the first of the cycle."""
    letters = [*word.prefix, *word.cycle]
    after = [*range(1, len(letters)), len(word.prefix)]
    operands = [_values(operand, word) for operand in formula.operands]
    match formula.operator:
        case "ap":
            return [letter[formula.name] for letter in letters]
        case "0" | "1":
            return [formula.operator == "1" for _ in letters]
        case "!":
            return [not value for value in operands[0]]
        case "&":
            return [all(values) for values in zip(*operands, strict=True)]
        case "|":
            return [any(values) for values in zip(*operands, strict=True)]
        case "X":
            return [operands[0][position] for position in after]
    # An until is the least solution of `u = right | (left & X u)`: false everywhere, and true where that demands it.
    until = [False for _ in letters]
    for _ in letters:
        until = [right or (left and until[position]) for left, right, position in zip(*operands, after, strict=True)]
    return until


def valuations(symbols: tuple[str, ...]) -> list[Valuation]:
    return [dict(zip(symbols, values, strict=True)) for values in product((False, True), repeat=len(symbols))]


def letters_of(step: Formula, symbols: tuple[str, ...]) -> list[Valuation]:
    """The valuations that a step of a trace denotes."""
    return [letter for letter in valuations(symbols) if holds(step, Lasso((), (letter,)))]


def short_words(symbols: tuple[str, ...], longest: int) -> Iterator[Lasso]:
    """All words of so many valuations at most."""
    for length in range(1, longest + 1):
        for letters in product(valuations(symbols), repeat=length):
            yield from (Lasso(letters[:loop], letters[loop:]) for loop in range(length))


def words_of(trace: Trace, symbols: tuple[str, ...], count: int) -> Iterator[Lasso]:
    """Random words that a trace denotes; what is free may change from one turn of the cycle to the next two."""
    generator = random.Random(0)
    choices = [[letters_of(step, symbols) for step in steps] for steps in (trace.prefix, trace.cycle)]
    for _ in range(count):
        prefix, cycle = choices[0], choices[1] * generator.randint(1, 3)
        yield Lasso(*(tuple(map(generator.choice, part)) for part in (prefix, cycle)))


def is_word_of(word: Lasso, trace: Trace) -> bool:
    """Whether a trace denotes a word: as many positions are compared as all pairs of places in the cycles take."""
    for position in range(len(word.prefix) + len(trace.prefix) + len(word.cycle) * len(trace.cycle)):
        step, letter = (
            whole[position] if position < len(whole) else cycle[(position - len(whole)) % len(cycle)]
            for whole, cycle in ((trace.prefix, trace.cycle), word)
        )
        if not holds(step, Lasso((), (letter,))):
            return False
    return True
