"""A second opinion on verdicts, without Spot: the semantics of LTL on lasso words, slow and obvious, for small cases.

`holds` is the definition itself, on one word. `violation` tries words that a trace denotes: a word that it returns
violates the formula, and if it returns none there may be one that it did not try.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import NamedTuple

from hf_symbinv.logic import Formula, Trace

Valuation = Mapping[str, bool]
# Words that are tried of each length.
MOST = 100


class Lasso(NamedTuple):
    """One word: valuations of a prefix, then valuations that repeat for ever."""

    prefix: tuple[Valuation, ...]
    cycle: tuple[Valuation, ...]


def holds(formula: Formula, word: Lasso) -> bool:
    """Whether the word satisfies the formula.

    The value of every subformula at every position is computed from the inside out. The position after the last is the
    first of the cycle. An until is the least solution of `u = right | (left & X u)`: it starts false everywhere and
    becomes true where the equation demands it, until nothing changes.

    Raises:
        KeyError: If a valuation lacks a symbol of the formula.
    """
    letters = [*word.prefix, *word.cycle]
    after = [*range(1, len(letters)), len(word.prefix)]
    values: dict[int, list[bool]] = {}
    base = formula.to_base()
    for node in base.distinct_nodes():
        operands = [values[id(operand)] for operand in node.operands]
        match node.operator:
            case "ap":
                value = [letter[str(node.name)] for letter in letters]
            case "0" | "1":
                value = [node.operator == "1"] * len(letters)
            case "!":
                value = [not one for one in operands[0]]
            case "&":
                value = [left and right for left, right in zip(*operands, strict=True)]
            case "|":
                value = [left or right for left, right in zip(*operands, strict=True)]
            case "X":
                value = [operands[0][position] for position in after]
            case "U":
                value = [False] * len(letters)
                for _ in letters:
                    steps = zip(*operands, after, strict=True)
                    value = [right or (left and value[position]) for left, right, position in steps]
        values[id(node)] = value
    return values[id(base)][0]


def letters_of(step: Formula, symbols: tuple[str, ...]) -> list[Valuation]:
    """The valuations of some symbols that a step allows."""
    valuations = [dict(zip(symbols, bits, strict=True)) for bits in product((False, True), repeat=len(symbols))]
    return [valuation for valuation in valuations if holds(step, Lasso((), (valuation,)))]


def violation(formula: Formula, trace: Trace) -> Lasso | None:
    """A word of the trace that violates the formula, of those that go through its cycle in up to three ways in turn."""
    symbols = tuple(dict.fromkeys((*formula.symbols(), *trace.symbols())))
    return next((word for word in _words(trace, symbols) if not holds(formula, word)), None)


def _words(trace: Trace, symbols: tuple[str, ...]) -> Iterator[Lasso]:
    prefix, cycle = ([letters_of(step, symbols) for step in steps] for steps in (trace.prefix, trace.cycle))
    generator = random.Random(0)
    for turns in (1, 2, 3):
        choices = [*prefix, *cycle * turns]
        count = prod(map(len, choices))
        words = product(*choices) if count <= MOST else (tuple(map(generator.choice, choices)) for _ in range(MOST))
        for word in words:
            yield Lasso(word[: len(prefix)], word[len(prefix) :])


def is_word_of(word: Lasso, trace: Trace) -> bool:
    """Whether a trace denotes a word."""
    length = max(len(word.prefix), len(trace.prefix)) + len(word.cycle) * len(trace.cycle)
    letters, steps = (one.prefix + one.cycle * length for one in (word, trace))
    return all(holds(step, Lasso((), (letter,))) for step, letter in zip(steps[:length], letters[:length], strict=True))
