"""Token ids whose symbols have referents and views: their arithmetic, renamings, and canonical forms.

A symbol's id is V_n + referent · number of views + view; ids below V_n are base tokens. A renaming is a permutation of
referents, given as the new referent of each. It may move referents only within sets whose members are interchangeable.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple


class SymbolIds(NamedTuple):
    """The ids of a vocabulary with V_n = `base` base tokens, where each referent has so many views."""

    base: int
    views: int

    def symbol(self, referent: int, view: int) -> int:
        """The id of a symbol."""
        return self.base + referent * self.views + view

    def parts(self, token: int) -> tuple[int, int]:
        """Referent and view of an id; -1 and -1 for a base token."""
        return (-1, -1) if token < self.base else divmod(token - self.base, self.views)

    def rename(self, ids: Sequence[int], renaming: Sequence[int]) -> list[int]:
        """The ids with every referent replaced."""
        return [self._renamed(token, renaming) for token in ids]

    def canonical_renaming(self, ids: Sequence[int], groups: Sequence[Sequence[int]]) -> list[int]:
        """The renaming after which referents first appear in the order of their set of interchangeable ones.

        Sequences that are renamings of each other have the same canonical form.
        """
        seen = dict.fromkeys(self.parts(token)[0] for token in ids)
        renaming = [0] * sum(map(len, groups))
        for group in groups:
            order = [referent for referent in seen if referent in group]
            order += [referent for referent in group if referent not in seen]
            for new, old in zip(group, order, strict=True):
                renaming[old] = new
        return renaming

    def _renamed(self, token: int, renaming: Sequence[int]) -> int:
        referent, view = self.parts(token)
        return token if referent < 0 else self.symbol(renaming[referent], view)


def random_renaming(groups: Sequence[Sequence[int]], generator: random.Random) -> list[int]:
    """A renaming, uniform among those that keep every referent in its set of interchangeable ones."""
    renaming = [0] * sum(map(len, groups))
    for group in groups:
        for old, new in zip(group, generator.sample(group, len(group)), strict=True):
            renaming[old] = new
    return renaming
