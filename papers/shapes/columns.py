"""What the tables of this folder share: their rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from papers.harness.experiments import Result
from papers.harness.measures import Named

# Model → what tables call it.
MODELS = {
    "streams": "streams",
    "canonical": "canonical names",
    "renamed": "alpha-renaming",
    "learned": "learned rows",
}
USUAL, MORE, NEW = Named("as in training"), Named("more symbols"), Named("new names")
# Only drawn: by the number of symbols, right answers and answers.
BY_SYMBOLS = Named("right by symbols")


def by_symbols(solved: Mapping[int, int], asked: Mapping[int, int]) -> Result:
    """Right answers and questions by the number of symbols, as JSON can hold them."""
    return {"symbols": [[symbols, solved[symbols], asked[symbols]] for symbols in sorted(asked)]}
