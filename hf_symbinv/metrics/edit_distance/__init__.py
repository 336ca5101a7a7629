"""Edit distance between predicted and known texts: how many tokens to insert, delete or replace, at the least.

Texts are in prefix notation, COMPACT or SPACED, well-formed or not, and compared token by token: the distance does not
depend on the lengths of names or on the form.

Source: Levenshtein (1966); as the measure of copying, Interchangeable Token Embeddings, Appendix E.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

from hf_symbinv.logic.notation import read_words
from hf_symbinv.metrics.intervals import wilson_interval


class EditDistance(TypedDict):
    """What was measured: the mean in tokens, and the share at distance 0 with its 95 % interval."""

    count: int
    edit_distance: float
    exact: float
    exact_interval: list[float]
    per_example: list[int]


def compute_edit_distance(predictions: Sequence[str], references: Sequence[str]) -> EditDistance:
    """Mean edit distance of predictions to their references.

    Args:
        predictions: Texts in prefix notation; an empty one is as far away as its reference is long.
        references: As many texts; for copying, the strings themselves.

    Raises:
        ValueError: If the numbers of predictions and references differ or are 0.
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions, {len(references)} references: must be equal")
    if not predictions:
        raise ValueError("no predictions: a mean needs at least one")
    per_example = [edit_distance(*pair) for pair in zip(predictions, references, strict=True)]
    exact = per_example.count(0)
    return {
        "count": len(per_example),
        "edit_distance": math.fsum(per_example) / len(per_example),
        "exact": exact / len(per_example),
        "exact_interval": list(wilson_interval(exact, len(per_example))),
        "per_example": per_example,
    }


def edit_distance(prediction: str, reference: str) -> int:
    """Edit distance of two texts in prefix notation, in tokens."""
    from rapidfuzz.distance import Levenshtein  # of an extra that solving does without

    return int(Levenshtein.distance(_tokens(prediction), _tokens(reference)))


def _tokens(text: str) -> list[tuple[str, str | None]]:
    return [(word, name) for _, word, name in read_words(text)]
