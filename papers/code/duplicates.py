"""Which of many functions are copies of others, or nearly so, whatever their variables are called.

Functions are compared as sets of runs of tokens, in which all variables look alike. Two are near copies if the
intersection of their sets has at least a share t of their union (Jaccard). All such pairs are found, not only most of
them: sets that are so alike have one of their rarest members in common.

Source: Allamanis. The Adverse Effects of Code Duplication in Machine Learning Models of Code. Onward!, 2019, for the
need and t = 0.8; Chaudhuri, Ganti, Kaushik. A Primitive Operator for Similarity Joins in Data Cleaning. ICDE, 2006, for
the rarest members.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

from papers.code.functions import Function

# Our choice: five tokens are about an expression. Shorter functions are one run.
RUN = 5
_TOKEN = re.compile(r"\w+|[^\w\s]")
_ANY_VARIABLE = ""


def originals(functions: Sequence[Function], share: float) -> tuple[list[Function], Counter[str]]:
    """The functions that are no copy of one before them, and how many are left out as what.

    Args:
        functions: In an order that says which of two copies stays.
        share: t, of what two functions have in common; 1 leaves out only those with all runs in common.

    Returns:
        The functions that stay, and the number of copies that are the same up to renaming, and of near ones.
    """
    counts, seen, distinct = Counter[str](), set[tuple[str | int, ...]](), list[Function]()
    for function in functions:
        form = function.canonical()
        if form in seen:
            counts["the same as another up to renaming"] += 1
        else:
            seen.add(form)
            distinct.append(function)
    kept = _apart([_runs(function) for function in distinct], Fraction(str(share)))
    counts["nearly the same as another"] = len(distinct) - len(kept)
    return [distinct[index] for index in kept], counts


def _runs(function: Function) -> frozenset[tuple[str, ...]]:
    tokens: list[str] = []
    for piece in function.pieces():
        tokens += map(sys.intern, _TOKEN.findall(piece.text)) if piece.variable is None else [_ANY_VARIABLE]
    return frozenset(tuple(tokens[start : start + RUN]) for start in range(max(1, len(tokens) - RUN + 1)))


def _apart(sets: Sequence[frozenset[tuple[str, ...]]], share: Fraction) -> list[int]:
    """The indices of the sets that are not as like to one of these before them as `share`."""
    frequency = Counter(run for runs in sets for run in runs)
    rank = {run: number for number, run in enumerate(sorted(frequency, key=lambda run: (frequency[run], run)))}
    with_member, kept = defaultdict[int, list[int]](list), dict[int, frozenset[int]]()
    for index, runs in enumerate(sets):
        members = frozenset(rank[run] for run in runs)
        # Alike sets share at least ceil(t n) members, so that one of the others, and one more, is among them.
        rarest = sorted(members)[: len(members) - math.ceil(share * len(members)) + 1]
        alike = {other for member in rarest for other in with_member[member]}
        if not any(_are_alike(members, kept[other], share) for other in alike):
            kept[index] = members
            for member in rarest:
                with_member[member].append(index)
    return list(kept)


def _are_alike(one: frozenset[int], other: frozenset[int], share: Fraction) -> bool:
    if min(len(one), len(other)) < share * max(len(one), len(other)):
        return False
    common = len(one & other)
    return common >= share * (len(one) + len(other) - common)
