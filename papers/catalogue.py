"""The list of all tables: the only place at which the papers' folders meet."""

from __future__ import annotations

from hf_symbinv.errors import UserError
from papers.code.experiments import EXPERIMENTS as CODE
from papers.harness.experiments import Experiment
from papers.harness.reproduction import scales_of
from papers.harness.scales import Scale
from papers.harness.tables import Table
from papers.identity.experiments import EXPERIMENTS as IDENTITY
from papers.lexinvariant.experiments import EXPERIMENTS as LEXINVARIANT
from papers.renamer.experiments import EXPERIMENTS as RENAMER
from papers.rules.experiments import EXPERIMENTS as RULES
from papers.shapes.experiments import EXPERIMENTS as SHAPES
from papers.streams.curve import EXPERIMENTS as CURVE
from papers.streams.questions import EXPERIMENTS as QUESTIONS
from papers.streams.tables import SIZES
from papers.streams.tables import TABLES as STREAMS

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (*QUESTIONS, *CURVE, *LEXINVARIANT, *IDENTITY, *RENAMER, *SHAPES, *CODE, *RULES)
}
TABLES: dict[str, Table | Experiment] = {**STREAMS, **EXPERIMENTS}


class TableError(UserError):
    """A table that does not exist."""


def find(name: str) -> Table | Experiment:
    """The table of a name.

    Raises:
        TableError: If there is none.
    """
    if name not in TABLES:
        raise TableError(f"table={name!r}: unknown; use one of {', '.join(TABLES)}")
    return TABLES[name]


def load_scale(name: str) -> Scale:
    """The sizes of a scale, at which tables are made.

    Raises:
        ScaleError: If there is none of this name.
    """
    return Scale.load(SIZES, name)


__all__ = ["EXPERIMENTS", "TABLES", "TableError", "find", "load_scale", "scales_of"]
