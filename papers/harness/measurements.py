"""What tables measure of a trained model: verdicts, alpha-covariance, heat maps, cost.

Answering 100,000 questions takes longer than a piece of work may: measurements go through their questions piece by
piece, and go on after the last finished one when they are repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_symbinv.evaluation.answers import Question, answer_questions
from hf_symbinv.evaluation.checkpoints import Checkpoint
from hf_symbinv.evaluation.grid import Box, Grid
from hf_symbinv.evaluation.sessions import start_session
from hf_symbinv.metrics.verdicts import VERDICTS
from hf_symbinv.tasks import SymbolTask, symbol_names
from papers.streams.tables import Training

if TYPE_CHECKING:
    from papers.harness.workspace import Workspace

# Our choices: questions that are answered between two looks at the clock (a question of alpha-covariance is asked in up
# to 120 renamings), and questions on which a session of random embeddings is chosen.
PIECE, ALPHA_PIECE, SESSION_QUESTIONS = 2000, 20, 1000


@dataclass(frozen=True)
class Measurement:
    """One kind of measurement of one model.

    Attributes:
        place: Where everything lies.
        training, checkpoint: The model.
        kind: What is measured, such as `verdicts-test-normal`.
        pieces: A file that keeps what is finished of a measurement that was stopped.
    """

    place: Workspace
    training: Training
    checkpoint: Checkpoint
    kind: str
    pieces: Path

    @property
    def task(self) -> SymbolTask:
        return self.checkpoint.task

    @property
    def sizes(self) -> dict[str, Any]:
        """What the scale says of the task."""
        return self.place.scale.tasks[self.task.name]

    def questions(self, variant: str, split: str, rows: int | None = None) -> list[Question]:
        """The first rows of a split of a data set."""
        from hf_symbinv.evaluation.report import load_questions

        return load_questions(self.task, str(self.place.data(self.task.name, variant)), split, rows)

    def generation(self, beams: int = 3, tokens: int = 100) -> dict[str, Any]:
        """Beam search of SIT section 5.2; copying is greedy (ITE Appendix E)."""
        if self.task.name == "copy":
            return {"num_beams": 1, "max_new_tokens": tokens}
        return {"num_beams": beams, "max_new_tokens": tokens, "length_penalty": 1.0}

    def piecewise(
        self, questions: Sequence[Question], measure: Callable[[Sequence[Question]], list[Any]], size: int
    ) -> list[Any]:
        """What `measure` says of each question, `size` questions at a time; finished pieces survive a stop.

        Random embeddings are those of one session, chosen on the first questions (ITE Appendix E.4).

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """
        from hf_symbinv.evaluation.report import choose_session

        kept = list(_lines(self.pieces))
        if not kept:
            kept = [choose_session(self.checkpoint, questions[:SESSION_QUESTIONS], None)]
        elif kept[0]:
            start_session(self.checkpoint, kept[0]["embedding_seed"])
        self.pieces.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        found = [value for piece in kept[1:] for value in piece]
        while len(found) < len(questions):
            self.place.time_left()
            piece = measure(questions[len(found) : len(found) + size])
            with self.pieces.open("a", encoding="utf-8") as file:
                file.write(json.dumps(piece) + "\n")
            found += piece
        return found


def _lines(path: Path) -> Iterator[Any]:
    """The lines of a file of JSON that are whole; none if there is no file."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


def _verdicts(measurement: Measurement) -> dict[str, Any]:
    """Counts of answers to `verdicts-SPLIT-VARIANT`, such as `verdicts-test-normal`."""
    _, split, variant = measurement.kind.split("-")
    questions = measurement.questions(variant, split, measurement.sizes["rows"][split])
    with measurement.task.checker() as checker:

        def measure(piece: Sequence[Question]) -> list[str]:
            answers = answer_questions(measurement.checkpoint, piece, checker, **measurement.generation())
            return [answer.best.verdict for answer in answers]

        found = measurement.piecewise(questions, measure, PIECE)
    counts = {name: found.count(name) for name in VERDICTS}
    return {
        "count": len(found),
        "correct": counts["exact"] + counts["correct"],
        "exact": counts["exact"],
        "verdicts": {name: counts[name] for name in ("incorrect", "invalid", "timeout", "error")},
    }


def _covariance(measurement: Measurement) -> dict[str, Any]:
    """Alpha-covariance of each example of `renamings-normal` or `renamings-wide`, by number of symbols.

    All renamings are decoded, also by models with streams: the law that they keep is put to the test, like the others.
    """
    from hf_symbinv.evaluation.report import alpha_covariance

    variant, limit = measurement.kind.partition("-")[2], measurement.sizes["rows"]["alpha"]
    chosen: dict[int, list[Question]] = {}
    for question in measurement.questions(variant, "test"):
        same = chosen.setdefault(question.symbols, [])
        if question.symbols >= 2 and len(same) < limit:
            same.append(question)
    questions = [question for _, same in sorted(chosen.items()) for question in same]
    names = symbol_names(measurement.sizes["data"][variant]["num_symbols"])

    def measure(piece: Sequence[Question]) -> list[float]:
        values = []
        for question in piece:
            found = alpha_covariance(
                measurement.checkpoint, [question], alphabet=names, every_renaming=True, **measurement.generation()
            )
            values.append(found["alpha_covariance"])
        return values

    values = measurement.piecewise(questions, measure, ALPHA_PIECE)
    by_symbols: dict[str, list[float]] = {}
    for question, value in zip(questions, values, strict=True):
        by_symbols.setdefault(str(question.symbols), []).append(value)
    return {"by_symbols": by_symbols}


def _grid(measurement: Measurement) -> dict[str, Any]:
    """The heat map, with the best of N candidates for `grid-N`."""
    from hf_symbinv.metrics.edit_distance import edit_distance

    candidates, sizes = int(measurement.kind.partition("-")[2] or 1), measurement.sizes
    copying = measurement.task.name == "copy"
    questions = measurement.questions("grid", "test")
    options = measurement.generation(beams=max(3, candidates), tokens=sizes["rows"]["grid_tokens"])
    with measurement.task.checker() as checker:

        def measure(piece: Sequence[Question]) -> list[float]:
            answers = answer_questions(measurement.checkpoint, piece, checker, num_candidates=candidates, **options)
            if copying:
                pairs = zip(piece, answers, strict=True)
                return [edit_distance(answer.best.text, question.text) for question, answer in pairs]
            return [float(answer.best.verified) for answer in answers]

        values = measurement.piecewise(questions, measure, PIECE)
    trained = sizes["data"]["wide" if measurement.training.data == "wide" else "normal"]
    grid = Grid.count(
        [(question.symbols, question.size, value) for question, value in zip(questions, values, strict=True)],
        model=measurement.training.name,
        data=f"{measurement.task.name}-grid",
        metric="edit_distance" if copying else "accuracy",
        questions="string" if copying else "formula",
        training_box=Box(trained["num_symbols"], trained["max_size"]),
    )
    return grid.to_dict()


def _cost(measurement: Measurement) -> dict[str, Any]:
    """Time and memory by number of symbols, on the heat map's questions about as long as the longest in training.

    `cost-N` times them N times.
    """
    from hf_symbinv.evaluation.cost import measure_cost

    longest = measurement.sizes["data"]["normal"]["max_size"]
    questions = [q for q in measurement.questions("grid", "test") if longest - 5 < q.size <= longest]
    repeats = int(measurement.kind.partition("-")[2])
    costs = measure_cost(measurement.checkpoint, questions, repeats=repeats, **measurement.generation())
    return {
        "device": str(measurement.checkpoint.model.device),
        "costs": [
            {
                "symbols": cost.symbols,
                "count": cost.count,
                "ms": 1000 * cost.seconds_per_sample,
                "ms range": [1000 * seconds for seconds in cost.seconds_range],
                "MB": cost.peak_bytes / 1e6,
            }
            for cost in costs
        ],
    }


def _parameters(measurement: Measurement) -> dict[str, Any]:
    return {"parameters": measurement.checkpoint.model.num_parameters()}


MEASUREMENTS: dict[str, Callable[[Measurement], dict[str, Any]]] = {
    "verdicts": _verdicts,
    "renamings": _covariance,
    "grid": _grid,
    "cost": _cost,
    "parameters": _parameters,
}
