"""Hundreds of symbols: copying and graph colouring by models whose streams are shared by many symbols.

A model with streams is trained once, with few streams, and tested with many symbols by several limits of streams.
Beside it stand canonical names, alpha-renaming and learned rows, whose models have a row for each name. A graph is a
list of edges and its answer a colour for each vertex, as in examples/graph_colouring.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure, Named

if TYPE_CHECKING:
    from papers.shapes.many_models import Question

FAMILY = Family("shapes-many", Path(__file__).parent / "many.yaml")
SYMBOLS = (32, 64, 128, 256)
SECONDS, MEGABYTES = Named("seconds"), Named("MB")
ALL = "one per symbol"


@dataclass(frozen=True)
class With(Measure):
    """What is right of questions with so many symbols.

    Attributes:
        what: Is counted.
        symbols: Of each question.
    """

    what: str
    symbols: int

    @property
    def heading(self) -> str:
        return f"{self.what}, {self.symbols}"


PARTS, WHOLE = "parts", "answers"


def measure_many(job: Job) -> dict[Measure, Result]:
    """Parts of answers and whole answers that are right, for each number of symbols, and what the largest cost."""
    from papers.shapes.many_models import answers, cost_of, questions, right, trained

    task, sizes = job.values["task"], job.sizes["tasks"][job.values["task"]]
    folder, limit = trained(job), job.values.get("streams")
    found: dict[Measure, Result] = {}
    asked: Sequence[Question] = []
    for symbols in sizes["symbols"]:
        asked = questions(task, sizes["test"], (symbols, symbols), sizes["rows"], seed=10_000 + job.seed)
        given = answers(folder, limit, asked, sizes["test_batch"])
        judged = [right(task, question, answer) for question, answer in zip(asked, given, strict=True)]
        parts, whole = zip(*judged, strict=True)
        found[With(PARTS, symbols)] = {
            "correct": sum(correct for correct, _ in parts), "count": sum(count for _, count in parts)
        }  # fmt: skip
        found[With(WHOLE, symbols)] = {"correct": sum(whole), "count": len(whole)}
    seconds, megabytes = cost_of(folder, limit, asked[: sizes["timed"]])
    return {**found, SECONDS: {"values": seconds}, MEGABYTES: {"values": [megabytes]}}


def _rows(task: str, label: str) -> tuple[Setting, ...]:
    streams = tuple(
        Setting((label, "streams", str(limit or ALL)), _values(task, "streams", limit)) for limit in (8, 16, 32, None)
    )
    others = {"canonical": "canonical names", "renamed": "alpha-renaming", "learned": "learned rows"}
    return streams + tuple(Setting((label, name, "–"), _values(task, kind, None)) for kind, name in others.items())


def _values(task: str, model: str, limit: int | None) -> Mapping[str, Any]:
    values: dict[str, Any] = {"task": task, "model": model}
    return values if limit is None else {**values, "streams": limit}


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="shape-many",
        family=FAMILY,
        title="Hundreds of symbols: copying and graph colouring by number of streams",
        source="in no paper",
        heads=("task", "model", "streams"),
        measures=(
            *(With(what, symbols) for what in (PARTS, WHOLE) for symbols in SYMBOLS), SECONDS, MEGABYTES,
        ),
        unit="Shares in percent by number of symbols: parts are tokens of a copy, and edges of a graph whose ends get "
        "different colours; answers are those right as a whole; seconds and MB are of a question with the most "
        "symbols, answered alone, MB above what the loaded model holds",
        rows=(*_rows("copy", "copying"), *_rows("colouring", "graph colouring")),
        measure=measure_many,
    ),
)  # fmt: skip
