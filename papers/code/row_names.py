"""Rows under other names: which names there are, and rows with them."""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_lowercase
from typing import Any

from papers.code.functions import write

Row = Mapping[str, Any]


def names_in(rows: Iterable[Row], least: int = 5) -> list[str]:
    """The names of variables that at least so many rows have, in the order of the alphabet."""
    found = Counter(name for row in rows for name in {one["name"] for one in row["symbols"]})
    return sorted(name for name, number in found.items() if number >= least)


def renamed(row: Row, names: Mapping[str, str]) -> dict[str, Any]:
    """A row whose variables have other names, all else as it was.

    Args:
        row: Of `papers.code.bug_finding`.
        names: Old → new name of each variable; different, and none that the text has beside its variables.
    """
    symbols = row["symbols"]
    text, places = write(
        row["text"], [(one["start"], one["end"]) for one in symbols], [names[one["name"]] for one in symbols]
    )
    ends = [one["end"] for one in symbols]

    def moved(offset: int) -> int:
        passed = [at for at, end in enumerate(ends) if end <= offset]
        return offset + (places[passed[-1]][1] - ends[passed[-1]] if passed else 0)

    new = [{**one, "start": start, "end": end, "name": text[start:end]}
           for one, (start, end) in zip(symbols, places, strict=True)]  # fmt: skip
    other = {"arguments": [{key: moved(one[key]) for key in ("start", "end")} for one in row["arguments"]]} if (
        "arguments" in row) else {}  # fmt: skip
    return {**row, "text": text, "symbols": new, **other}


def at_random(row: Row, pool: Sequence[str], draw: random.Random) -> dict[str, Any]:
    """A row whose variables have names drawn from a pool, all different."""
    taken = _others(row)
    variables = list(dict.fromkeys(one["name"] for one in row["symbols"]))
    drawn: list[str] = []
    for name in draw.sample(pool, min(len(pool), len(variables) + len(taken))):
        if name not in taken and len(drawn) < len(variables):
            drawn.append(name)
    drawn += list(_letters(taken | {*drawn}, len(variables) - len(drawn)))
    return renamed(row, dict(zip(variables, drawn, strict=True)))


def minified(row: Row) -> dict[str, Any]:
    """A row whose variables are called a, b, c, ..., in the order of their first appearance."""
    variables = list(dict.fromkeys(one["name"] for one in row["symbols"]))
    return renamed(row, dict(zip(variables, _letters(_others(row), len(variables)), strict=True)))


def _others(row: Row) -> set[str]:
    """The words of a text that are no variables, which no variable may be called."""
    text, place, words = row["text"], 0, set[str]()
    for one in [*row["symbols"], {"start": len(text), "end": len(text)}]:
        words.update(re.findall(r"\w+", text[place : one["start"]]))
        place = one["end"]
    return words | {*keyword.kwlist, *dir(builtins)}


def _letters(taken: set[str], number: int) -> Iterator[str]:
    names = ("".join(letters) for length in count(1) for letters in product(ascii_lowercase, repeat=length))
    free = (name for name in names if name not in taken)
    return (next(free) for _ in range(number))
