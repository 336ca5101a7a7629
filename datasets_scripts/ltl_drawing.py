"""Random LTL formulas by DeepLTL's recipe, with the lengths that are asked for.

A formula is drawn in two steps: a tree size, uniform between the shortest and the longest length of the data set, then
a random tree of that size from `spot.randltl`, with DeepLTL's frequencies of the operators. Spot folds trivialities
while it builds the tree (`!!a`, `a & 1`), so the length that results is at most the tree size and often below it. The
gate decides by this length.

Drawing only the tree sizes from the shortest length that is still wanted upwards leaves the distribution of the
formulas of each wanted length unchanged: a tree of fewer nodes cannot have that length, and the larger sizes remain
equally likely among themselves. Only the rate at which wanted formulas turn up changes, by an order of magnitude for
long ones.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from hf_symbinv.solvers.ltl import load_spot
from hf_symbinv.solvers.pool import ProcessPool

# DeepLTL's LTLRandom35: relative frequency of the operators.
PRIORITIES = "false=1,true=1,not=1,F=0,G=0,X=1,equiv=0,implies=0,xor=0,R=0,U=1,W=0,M=0,and=1,or=0"
# Formulas drawn in a row without one that is wanted, after which the wanted length counts as exhausted. The rarest
# length of the paper's data set (34 nodes) turns up once in some 500.
LARGEST_DROUGHT = 200_000
# Formulas drawn at a time: some 5 ms of work.
BATCH = 1000
# Batches that are drawn while earlier ones are looked through.
AHEAD = 4


def seed_of(*parts: object) -> int:
    """A seed for Spot's generator, a function of `parts` alone."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1  # Spot takes a signed 32-bit integer


def nest_to_the_right(formula: str) -> str:
    """Turn `&&abc` into `&a&bc` everywhere in a COMPACT formula: DeepLTL's order, where Spot writes the former."""
    if "&&" not in formula:
        return formula
    stack: list[tuple[str, ...]] = []  # the conjuncts of each finished operand
    for token in reversed(formula):
        if token == "&":
            stack.append(stack.pop() + stack.pop())
        elif token == "U":
            stack.append((f"U{_join(stack.pop())}{_join(stack.pop())}",))
        elif token in "!X":
            stack.append((token + _join(stack.pop()),))
        else:
            stack.append((token,))
    return _join(stack.pop())


def _join(conjuncts: tuple[str, ...]) -> str:
    return "".join(f"&{conjunct}" for conjunct in conjuncts[:-1]) + conjuncts[-1]


class Order(NamedTuple):
    """A batch of formulas to draw.

    Args:
        symbols: The letters that formulas may use.
        shortest: Smallest tree size, in nodes.
        longest: Largest tree size, in nodes.
        seed: Seed of Spot's generator.
    """

    symbols: str
    shortest: int
    longest: int
    seed: int


def draw_batch(order: Order) -> list[str]:
    """`BATCH` random formulas in LBT's prefix notation.

    Spot orders the operands of a conjunction by when it first saw them, among all formulas that are alive. Only in a
    process without other formulas is the batch a function of the order.
    """
    formulas = load_spot().randltl(
        list(order.symbols),
        n=BATCH,
        seed=order.seed,
        tree_size=(order.shortest, order.longest),
        simplify=0,
        allow_dups=True,
        ltl_priorities="".join(PRIORITIES),  # a new string each time: Spot's parser overwrites it in place
    )
    return [formula.to_str("lbt") for formula in formulas]


class Gate:
    """Draws new formulas until every length has as many as are missing, in a process of its own.

    Args:
        symbols: The letters that formulas may use.
        min_size: Shortest length, in nodes.
        max_size: Longest length, in nodes.
        uniform_from: Shortest length that has a quota of its own; the lengths below share one.
    """

    def __init__(self, symbols: str, min_size: int, max_size: int, uniform_from: int) -> None:
        self.symbols = symbols
        self.min_size = min_size
        self.max_size = max_size
        self.uniform_from = uniform_from
        self.seen: set[str] = set()
        self.exhausted: set[int] = set()
        self._letters = {f'"{symbol}"': symbol for symbol in symbols} | {"t": "1", "f": "0"}
        self._pool = ProcessPool(draw_batch, workers=1, timeout=math.inf, initializer=load_spot)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def quota_of(self, length: int) -> int:
        """The quota that formulas of this length count for: the length itself, or 0 for the short ones."""
        return length if length >= self.uniform_from else 0

    def draw(self, missing: dict[int, int], *seed: object) -> Iterator[str]:
        """Yield, for every quota, as many formulas that were never drawn before as `missing` says.

        Quotas for which none turns up any more are added to `exhausted`.
        """
        missing = {quota: rows for quota, rows in missing.items() if rows}
        # The smallest quota that was missing when each batch had been looked through, None if there was none.
        history = [min(missing, default=None)] * AHEAD

        def orders() -> Iterator[Order]:
            for batch in count():
                # This one is known whatever the processes' speed, since no more than AHEAD batches are under way.
                quota = history[batch]
                if quota is None:
                    return
                yield Order(self.symbols, quota or self.min_size, self.max_size, seed_of(*seed, batch))

        drought = 0
        for outcome in self._pool.map(orders(), window=AHEAD):
            if outcome.status != "done":
                raise RuntimeError(f"drawing formulas failed: {outcome.value}")
            for text in outcome.value:
                drought += 1
                length = text.count(" ") + 1
                quota = self.quota_of(length)
                if quota in missing and length >= self.min_size:
                    formula = nest_to_the_right("".join([self._letters.get(token, token) for token in text.split()]))
                    if formula not in self.seen:
                        self.seen.add(formula)
                        missing[quota] -= 1
                        if not missing[quota]:
                            del missing[quota]
                        drought = 0
                        yield formula
            if missing and drought >= LARGEST_DROUGHT:
                self.exhausted.add(min(missing))
                del missing[min(missing)]
                drought = 0
            history.append(min(missing, default=None))
