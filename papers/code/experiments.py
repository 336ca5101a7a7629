"""Models that point at bugs of Python functions, under names that change.

No paper has these tables. The bugs are those of Allamanis, Brockschmidt, Khademi. Learning to Represent Programs with
Graphs. ICLR, 2018 (misused variables), and of Pradel, Sen. DeepBugs. OOPSLA, 2018 (exchanged arguments).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from papers.code.columns import ADVERSARIAL, FALSE, FOUND, MINIFIED, PLACED, RANDOM, REPAIRED, USUAL
from papers.code.plots import draw_namings
from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure

FAMILY = Family("code", Path(__file__).parent / "scales.yaml")
# Model → what tables call it.
MODELS = {
    "streams": "streams",
    "canonical": "canonical names",
    "names": "names by byte pairs",
    "renamed": "names, renamed in training",
    "legend": "streams and names",
    "legend off": "streams and names, names off",
}
NAMINGS = (USUAL, RANDOM, ADVERSARIAL, MINIFIED)


def _measure(job: Job) -> dict[Measure, Result]:
    from papers.code.models import measure

    return measure(job)


def _experiment(bug: str, parts: tuple[Measure, ...]) -> Experiment:
    return Experiment(
        name=f"code-{bug}",
        family=FAMILY,
        measures=(*NAMINGS, *parts),
        rows=tuple(Setting((label,), {"bug": bug, "model": kind}) for kind, label in MODELS.items()),
        measure=_measure,
        compared=NAMINGS,
        best="highest",
        draw=partial(draw_namings, name=f"code-{bug}"),
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment("misuse", (PLACED, REPAIRED, FOUND, FALSE)),
    _experiment("exchange", (PLACED, FALSE)),
)
