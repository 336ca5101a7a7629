"""What different random vectors cost: integers drawn without repetition, beside points drawn until enough are new.

Source: ITE section 4.2 and Figure 7.
"""

from __future__ import annotations

import random

import torch
from harness import Row, Setting, in_turn

from hf_symbinv.modeling.embedding_symbinv import random_vectors

WIDTH = 8
COUNTS, TOY_COUNTS = (10, 100, 1000, 3000, 6000), (10,)


def until_new(width: int, count: int, generator: random.Random) -> torch.Tensor:
    """So many different points of {-1, 0, 1}^width but 0, `(count, width)`; a point that is there is drawn again."""
    found: set[tuple[int, ...]] = set()
    while len(found) < count:
        point = tuple(generator.choices((-1, 0, 1), k=width))
        if any(point):
            found.add(point)
    return torch.tensor([*found], dtype=torch.float32)


def drawing_vectors(setting: Setting) -> list[Row]:
    """Neighbouring points of 8 dimensions, of which there are 6,560, by how many are drawn."""
    ours, theirs = torch.Generator().manual_seed(0), random.Random(0)
    rows = []
    for count in TOY_COUNTS if setting.tiny else COUNTS:

        def by_number(count: int = count) -> None:
            random_vectors("neighbors", WIDTH, count, ours)

        def naive(count: int = count) -> None:
            until_new(WIDTH, count, theirs)

        mine, other = in_turn(setting, by_number, naive)
        what = f"{count:,} of {3**WIDTH - 1:,} vectors"
        rows.append(
            Row(f"drawing-vectors-{count}", what, "points drawn until enough are new", "s", "at least", 1, mine, other)
        )
    return rows


BENCHMARKS = {"drawing-vectors": drawing_vectors}
