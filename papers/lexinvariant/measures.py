"""What the lexinvariant experiments measure: as columns of their tables, and as what their pictures are drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from papers.harness.measures import Measure, Named


@dataclass(frozen=True)
class Places:
    """Neighbouring places of a sequence, from `start` on, counted from 0, to `end`, which is not among them."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.start + 1} to {self.end}"


@dataclass(frozen=True)
class Perplexity(Measure):
    """The perplexity at some places."""

    places: Places

    @property
    def heading(self) -> str:
        return str(self.places)


@dataclass(frozen=True)
class Gap(Measure):
    """The mean loss at some places beyond that of the best lexinvariant predictor, in nats."""

    places: Places

    @property
    def heading(self) -> str:
        return f"gap, {self.places}"


LAST_WINDOW = Named("last window")
# Windows of an enciphered text, by whose votes entries of the key are named.
WINDOWS = (Named("first window"), Named("second"), Named("third"), LAST_WINDOW)
WHOLE_KEY = Named("whole key")
DISTANCE = Named("distance")
# Drawn, and no columns: the loss by place, and the matrices of a key.
CURVE, MATRICES = Named("curve"), Named("matrices")
