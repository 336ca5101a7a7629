"""A pretrained encoder and names of people: fine-tuned as it is, with canonical names, and with streams.

No paper has this table. Its questions are like those of Clark, Tafjord, Richardson. Transformers as Soft Reasoners over
Language. IJCAI, 2020.
"""

from __future__ import annotations

from pathlib import Path

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure
from papers.rules.columns import COST, KINDS, MORE, NEW, TRAINING, USUAL


def _measure(job: Job) -> dict[Measure, Result]:
    from papers.rules.models import measure

    return measure(job)


_FAMILY = Family("rules", Path(__file__).parent / "scales.yaml")
_UNIT = (
    "Shares of people, in percent, for whom the encoder is right at every mention; then milliseconds of processor time "
    "for a text of the first column, and minutes of processor time of training"
)
_ROWS = {kind: Setting((label,), {"encoder": kind}) for kind, label in KINDS.items()}

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="rules-names",
        family=_FAMILY,
        title="Rules in English about people: who is young?",
        source="in no paper",
        heads=("encoder",),
        measures=(USUAL, NEW, MORE, COST, TRAINING),
        unit=_UNIT,
        rows=tuple(_ROWS.values()),
        measure=_measure,
        compared=(USUAL, NEW, MORE),
        best="highest",
    ),
    Experiment(
        name="rules-time",
        family=_FAMILY,
        title="The same rules by the other encoders, in about the time that training streams takes",
        source="in no paper",
        heads=("encoder",),
        measures=(USUAL, NEW, MORE, COST, TRAINING),
        unit=_UNIT,
        rows=(_ROWS["plain"], _ROWS["canonical"]),
        measure=_measure,
    ),
)
