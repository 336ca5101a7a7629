"""Puzzles over random characters that only the context can solve: look up, and permute.

    A->2 C->4 G->5 C->          4
    A 2 C->C A, 4 1 D->         D 4

Symbols are drawn from all characters but the separators, all alike, so that nothing is known of them but what stands in
the prompt; or by how frequent they are in a text. The paper states neither the number of pairs nor of demonstrations;
the defaults are our choice.

Source: Lexinvariant Language Models, section 3.5 and Appendix F.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from hf_symbinv.datasets_scripts.errors import OptionsError

SEPARATORS = "->, \n"
ARROW = "->"


class Puzzle(NamedTuple):
    """A prompt, and the symbols that have to follow, with one blank between two; all prompts of a kind are as long."""

    prompt: str
    answer: tuple[str, ...]


class Make(Protocol):
    """Draws puzzles of one kind."""

    def __call__(
        self, characters: str, rows: int, seed: int, *, frequencies: Mapping[str, float] | None = None
    ) -> list[Puzzle]: ...


def look_up(
    characters: str, rows: int, seed: int, *, frequencies: Mapping[str, float] | None = None, pairs: int = 5
) -> list[Puzzle]:
    """A table of `pairs` pairs, and one of its keys; the answer is its value.

    Args:
        characters: The alphabet, separators among it; symbols are drawn from the others.
        rows: Puzzles.
        seed: Of the draw.
        frequencies: How often a text has each character; those that it lacks are not drawn. None to draw all alike.
        pairs: Of the table; keys and values are all different.

    Raises:
        OptionsError: If the alphabet lacks separators, or has too few other characters.
    """
    weights, draw = _weights(characters, 2 * pairs, frequencies), random.Random(f"look up {seed}")
    found = []
    for _ in range(rows):
        drawn = _sample(draw, weights, 2 * pairs)
        keys, values = drawn[:pairs], drawn[pairs:]
        asked = draw.randrange(pairs)
        table = "".join(f"{key}{ARROW}{value} " for key, value in zip(keys, values, strict=True))
        found.append(Puzzle(f"{table}{keys[asked]}{ARROW}", (values[asked],)))
    return found


def permutation(
    characters: str,
    rows: int,
    seed: int,
    *,
    frequencies: Mapping[str, float] | None = None,
    demonstrations: int = 3,
    given: int = 3,
    kept: int = 2,
) -> list[Puzzle]:
    """Demonstrations that all take the same places of what is given, in the same order; the answer does so too.

    Args:
        characters: The alphabet, separators among it; symbols are drawn from the others.
        rows: Puzzles.
        seed: Of the draw.
        frequencies: As of `look_up`.
        demonstrations: Before the question.
        given: Symbols before an arrow, all different.
        kept: Symbols after it.

    Raises:
        OptionsError: If the alphabet lacks separators, or has too few other characters.
    """
    weights, draw = _weights(characters, given, frequencies), random.Random(f"permutation {seed}")
    found = []
    for _ in range(rows):
        places = draw.sample(range(given), kept)
        *shown, question = (_sample(draw, weights, given) for _ in range(demonstrations + 1))
        lines = [f"{' '.join(before)}{ARROW}{' '.join(before[place] for place in places)}, " for before in shown]
        found.append(Puzzle(f"{''.join(lines)}{' '.join(question)}{ARROW}", tuple(question[place] for place in places)))
    return found


def _weights(characters: str, needed: int, frequencies: Mapping[str, float] | None) -> dict[str, float]:
    """The symbols that can be drawn, with their weights."""
    if lacking := set(ARROW + ", ") - set(characters):
        raise OptionsError(
            f"characters={characters!r}: {min(lacking)!r} is missing, which separates; use printable ASCII"
        )
    others = [character for character in characters if character not in SEPARATORS]
    weights = {symbol: 1.0 if frequencies is None else frequencies.get(symbol, 0.0) for symbol in others}
    weights = {symbol: weight for symbol, weight in weights.items() if weight > 0}
    if len(weights) < needed:
        said = f"characters={characters!r}" if frequencies is None else f"frequencies of {len(weights)} characters"
        raise OptionsError(f"{said}: a puzzle needs {needed} besides separators; use more characters")
    return weights


def _sample(draw: random.Random, weights: Mapping[str, float], count: int) -> list[str]:
    """Different symbols, one after the other, each by its share of the weights of those that are left.

    Source: Efraimidis and Spirakis 2006, weighted random sampling: the smallest exponential variables.
    """
    return sorted(weights, key=lambda symbol: draw.expovariate(weights[symbol]))[:count]


PUZZLES: dict[str, Make] = {"look up": look_up, "permutation": permutation}
