"""Puzzles over random characters that only the context can solve: look up, and permute.

    A->2 C->4 G->5 C->          4
    A 2 C->C A, 4 1 D->         D 4

Symbols are drawn from all characters but the separators, so that nothing is known of them but what stands in the
prompt. The paper states neither the number of pairs nor of demonstrations; the defaults are our choice.

Source: Lexinvariant Language Models, section 3.5.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hf_symbinv.datasets_scripts.errors import OptionsError

SEPARATORS = "->, \n"
ARROW = "->"


class Puzzle(NamedTuple):
    """A prompt, and the symbols that have to follow, with one blank between two; all prompts of a kind are as long."""

    prompt: str
    answer: tuple[str, ...]


def look_up(characters: str, rows: int, seed: int, *, pairs: int = 5) -> list[Puzzle]:
    """A table of `pairs` pairs, and one of its keys; the answer is its value.

    Args:
        characters: The alphabet, separators among it; symbols are drawn from the others.
        rows: Puzzles.
        seed: Of the draw.
        pairs: Of the table; keys and values are all different.

    Raises:
        OptionsError: If the alphabet lacks separators, or has too few other characters.
    """
    symbols, draw = _symbols(characters, 2 * pairs), random.Random(f"look up {seed}")
    found = []
    for _ in range(rows):
        drawn = draw.sample(symbols, 2 * pairs)
        keys, values = drawn[:pairs], drawn[pairs:]
        asked = draw.randrange(pairs)
        table = "".join(f"{key}{ARROW}{value} " for key, value in zip(keys, values, strict=True))
        found.append(Puzzle(f"{table}{keys[asked]}{ARROW}", (values[asked],)))
    return found


def permutation(
    characters: str, rows: int, seed: int, *, demonstrations: int = 3, given: int = 3, kept: int = 2
) -> list[Puzzle]:
    """Demonstrations that all take the same places of what is given, in the same order; the answer does so too.

    Args:
        characters: The alphabet, separators among it; symbols are drawn from the others.
        rows: Puzzles.
        seed: Of the draw.
        demonstrations: Before the question.
        given: Symbols before an arrow, all different.
        kept: Symbols after it.

    Raises:
        OptionsError: If the alphabet lacks separators, or has too few other characters.
    """
    symbols, draw = _symbols(characters, given), random.Random(f"permutation {seed}")
    found = []
    for _ in range(rows):
        places = draw.sample(range(given), kept)
        *shown, question = (draw.sample(symbols, given) for _ in range(demonstrations + 1))
        lines = [f"{' '.join(before)}{ARROW}{' '.join(before[place] for place in places)}, " for before in shown]
        found.append(Puzzle(f"{''.join(lines)}{' '.join(question)}{ARROW}", tuple(question[place] for place in places)))
    return found


def _symbols(characters: str, needed: int) -> Sequence[str]:
    if lacking := set(ARROW + ", ") - set(characters):
        raise OptionsError(
            f"characters={characters!r}: {min(lacking)!r} is missing, which separates; use printable ASCII"
        )
    symbols = [character for character in characters if character not in SEPARATORS]
    if len(symbols) < needed:
        raise OptionsError(
            f"characters={characters!r}: a puzzle needs {needed} besides separators; use more characters"
        )
    return symbols


PUZZLES: dict[str, Callable[[str, int, int], list[Puzzle]]] = {"look up": look_up, "permutation": permutation}
