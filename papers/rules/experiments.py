"""A pretrained encoder and names of people: fine-tuned as it is, with canonical names, and with streams.

No paper has this table. Its questions are like those of Clark, Tafjord, Richardson. Transformers as Soft Reasoners over
Language. IJCAI, 2020.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure
from papers.rules.columns import COST, KINDS, MORE, NEW, TRAINING, USUAL


def _measure(job: Job) -> dict[Measure, Result]:
    from papers.rules.models import measure

    return measure(job)


_ROWS = {kind: Setting((label,), {"encoder": kind}) for kind, label in KINDS.items()}


def _table(name: str, rows: tuple[Setting, ...], **options: Any) -> Experiment:
    return Experiment(
        name=name,
        family=Family("rules", Path(__file__).parent / "scales.yaml"),
        measures=(USUAL, NEW, MORE, COST, TRAINING),
        rows=rows,
        measure=_measure,
        **options,
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    _table("rules-names", tuple(_ROWS.values()), compared=(USUAL, NEW, MORE), best="highest"),
    _table("rules-time", (_ROWS["plain"], _ROWS["canonical"])),
)
