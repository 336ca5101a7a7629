"""What is measured of a trained model, once and for all tables: verdicts, alpha-covariance, heat maps, cost.

A `Measurement` is a value; the name of the file with what it found derives from it. Answering 100,000 questions takes
longer than a piece of work may: measurements go through their questions piece by piece, and go on after the last
finished one when they are repeated.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_symbinv.evaluation.answers import Question, answer_questions
from hf_symbinv.evaluation.checkpoints import Checkpoint
from hf_symbinv.evaluation.grid import Box, Grid
from hf_symbinv.evaluation.sessions import start_session
from hf_symbinv.files import write_atomically
from hf_symbinv.tasks import SymbolTask, symbol_names

if TYPE_CHECKING:
    from papers.harness.tables import Training
    from papers.harness.workspace import Workspace

# Our choices: questions that are answered between two looks at the clock (a question of alpha-covariance is asked in up
# to 120 renamings), and questions on which a session of random embeddings is chosen.
PIECE, ALPHA_PIECE, SESSION_QUESTIONS = 2000, 20, 1000


@dataclass(frozen=True)
class ModelUnderTest:
    """A trained model that is being measured.

    Attributes:
        place: Where everything lies.
        training, checkpoint: The model.
        pieces: A file that keeps what is finished of a measurement that was stopped.
    """

    place: Workspace
    training: Training
    checkpoint: Checkpoint
    pieces: Path

    @property
    def task(self) -> SymbolTask:
        return self.checkpoint.task

    @property
    def sizes(self) -> dict[str, Any]:
        """What the scale says of the task."""
        return self.place.scale.tasks[self.training.task]

    def questions(self, variant: str, split: str, rows: int | None = None) -> list[Question]:
        """The first rows of a split of a data set."""
        from hf_symbinv.evaluation.report import load_questions

        return load_questions(self.task, str(self.place.data(self.training.task, variant)), split, rows)

    def without_twins(self, questions: Sequence[Question]) -> list[bool]:
        """Of each question, whether no renaming makes it one of the training data."""
        trained_on = self.place.training_classes(self.training)
        return [self.task.alpha_class(question.text) not in trained_on for question in questions]

    def generation(self, beams: int = 3, tokens: int = 100, *, free: bool = False) -> dict[str, Any]:
        """Beam search of SIT section 5.2; copying is greedy (ITE Appendix E). `free` is without the task's grammar."""
        if self.task.name == "copy":
            return {"num_beams": 1, "max_new_tokens": tokens}
        written = {"grammar": None} if free else {}
        return {"num_beams": beams, "max_new_tokens": tokens, "length_penalty": 1.0, **written}

    def piecewise(
        self,
        questions: Sequence[Question],
        measure: Callable[[Sequence[Question]], list[Any]],
        size: int,
    ) -> list[Any]:
        """What `measure` says of each question, `size` questions at a time; finished pieces survive a stop.

        Random embeddings are those of one session, which is chosen on the first questions (ITE Appendix E.4).

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """
        from hf_symbinv.evaluation.report import choose_session

        kept = list(_lines(self.pieces))
        if not kept:
            kept = [choose_session(self.checkpoint, questions[:SESSION_QUESTIONS], None)]
        elif kept[0]:
            start_session(self.checkpoint, kept[0]["embedding_seed"])
        write_atomically(self.pieces, "".join(json.dumps(line) + "\n" for line in kept))
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


@dataclass(frozen=True)
class Measurement(ABC):
    """What is found out of a trained model in one go; several measures may be read from it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A name for files: equal for equal measurements only."""

    @abstractmethod
    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        """What it finds, as plain values that JSON can hold.

        Raises:
            OutOfTimeError: If there was no time to finish; the next call goes on.
        """


@dataclass(frozen=True)
class Verdicts(Measurement):
    """Counts of answers to the questions of a split, by verdict; and to those without a renamed twin in training.

    Attributes:
        split, data: Which questions.
        free: Whether answers are written freely, and not by the task's grammar.
    """

    split: str
    data: str
    free: bool = False

    @property
    def name(self) -> str:
        return f"verdicts-{self.split}-{self.data}{'-free' * self.free}"

    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        questions = model.questions(self.data, self.split, model.sizes["rows"][self.split])
        with model.task.checker() as checker:

            def verdicts(piece: Sequence[Question]) -> list[str]:
                answers = answer_questions(model.checkpoint, piece, checker, **model.generation(free=self.free))
                return [answer.best.verdict for answer in answers]

            found = model.piecewise(questions, verdicts, PIECE)
        pairs = zip(model.without_twins(questions), found, strict=True)
        return {
            **_counts(found),
            "verdicts": {name: found.count(name) for name in ("incorrect", "invalid", "timeout", "error")},
            "new": _counts([verdict for new, verdict in pairs if new]),
        }


def _counts(verdicts: Sequence[str]) -> dict[str, int]:
    exact = verdicts.count("exact")
    return {"count": len(verdicts), "correct": exact + verdicts.count("correct"), "exact": exact}


@dataclass(frozen=True)
class Renamings(Measurement):
    """Alpha-covariance of each test question, by number of symbols.

    All renamings are decoded, also by models with streams: the law that they keep is put to the test, like the others.
    """

    data: str

    @property
    def name(self) -> str:
        return f"renamings-{self.data}"

    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        from hf_symbinv.evaluation.report import alpha_covariance

        limit = model.sizes["rows"]["alpha"]
        chosen: dict[int, list[Question]] = {}
        for question in model.questions(self.data, "test"):
            same = chosen.setdefault(question.symbols, [])
            if question.symbols >= 2 and len(same) < limit:
                same.append(question)
        questions = [question for _, same in sorted(chosen.items()) for question in same]
        names = symbol_names(model.sizes["data"][self.data]["num_symbols"])

        def covariances(piece: Sequence[Question]) -> list[float]:
            options: dict[str, Any] = {"alphabet": names, "every_renaming": True, **model.generation()}
            found = [alpha_covariance(model.checkpoint, [question], **options) for question in piece]
            return [one["alpha_covariance"] for one in found]

        values = model.piecewise(questions, covariances, ALPHA_PIECE)
        by_symbols: dict[str, list[float]] = {}
        for question, value in zip(questions, values, strict=True):
            by_symbols.setdefault(str(question.symbols), []).append(value)
        return {"by_symbols": by_symbols}


@dataclass(frozen=True)
class HeatMap(Measurement):
    """Correct answers by symbols and size, with the best of some candidates; of copying the edit distances.

    Attributes:
        candidates: Answers to each question.
        free: Whether they are written freely, and not by the task's grammar.
    """

    candidates: int = 1
    free: bool = False

    @property
    def name(self) -> str:
        return f"heat-map-{self.candidates}{'-free' * self.free}"

    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        from hf_symbinv.metrics.edit_distance import edit_distance

        sizes, copying = model.sizes, model.task.name == "copy"
        questions = model.questions("grid", "test")
        options = model.generation(beams=max(3, self.candidates), tokens=sizes["rows"]["grid_tokens"], free=self.free)
        with model.task.checker() as checker:

            def values(piece: Sequence[Question]) -> list[float]:
                answers = answer_questions(model.checkpoint, piece, checker, num_candidates=self.candidates, **options)
                if copying:
                    pairs = zip(piece, answers, strict=True)
                    return [edit_distance(answer.best.text, question.text) for question, answer in pairs]
                return [float(answer.best.verified) for answer in answers]

            found = model.piecewise(questions, values, PIECE)
        trained = sizes["data"]["wide" if model.training.data == "wide" else "normal"]
        samples = [(question.symbols, question.size, value) for question, value in zip(questions, found, strict=True)]

        return Grid.count(
            samples,
            model=model.training.name,
            data=f"{model.training.task}-grid",
            metric="edit_distance" if copying else "accuracy",
            questions="string" if copying else "formula",
            training_box=Box(trained["num_symbols"], trained["max_size"]),
        ).to_dict()


@dataclass(frozen=True)
class Costs(Measurement):
    """Time and memory by number of symbols, on the heat map's questions about as long as the longest in training.

    Attributes:
        repeats: How many times the questions are timed.
    """

    repeats: int

    @property
    def name(self) -> str:
        return f"cost-{self.repeats}"

    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        from papers.harness.cost import measure_cost

        longest = model.sizes["data"]["normal"]["max_size"]
        questions = [q for q in model.questions("grid", "test") if longest - 5 < q.size <= longest]
        costs = measure_cost(model.checkpoint, questions, repeats=self.repeats, **model.generation())
        return {
            "device": str(model.checkpoint.model.device),
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


@dataclass(frozen=True)
class Effort(Measurement):
    """What a training took: optimizer steps, the examples in them, and seconds."""

    @property
    def name(self) -> str:
        return "effort"

    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        folder = model.checkpoint.folder
        assert folder is not None, "models under test are trained here"
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        trainer = record["recipe"]["trainer"]
        rows = trainer["per_device_train_batch_size"] * trainer.get("gradient_accumulation_steps", 1)
        steps = record["log"][-1]["step"]
        return {"steps": steps, "examples": steps * rows * record["processes"], "seconds": record["seconds"]}


@dataclass(frozen=True)
class ParameterCount(Measurement):
    """The number of parameters."""

    @property
    def name(self) -> str:
        return "parameters"

    def carry_out(self, model: ModelUnderTest) -> dict[str, Any]:
        return {"parameters": model.checkpoint.model.num_parameters()}
