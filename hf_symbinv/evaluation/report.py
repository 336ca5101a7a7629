"""How well a checkpoint answers a data set: shares of verdicts with intervals, by length and by number of symbols."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hf_symbinv.evaluation.answers import MAX_STREAM_TOKENS, Answer, Question, answer_questions, read_question
from hf_symbinv.evaluation.checkpoints import HUB_NAME, Checkpoint
from hf_symbinv.metrics.alpha_covariance import measure_alpha_covariance
from hf_symbinv.metrics.ltl_witness import VERDICTS, summarize_verdicts
from hf_symbinv.tasks import LTL

# Our choice: seven bins for the paper's formulas of up to 35 nodes.
BIN = 5


class DataError(ValueError):
    """A data set that is not there or does not hold what an evaluation needs."""


@dataclass(frozen=True, slots=True)
class Group:
    """Verdicts on the formulas that have something in common.

    Attributes:
        label: What they have in common.
        summary: As `summarize_verdicts` gives it: count, accuracy and every verdict's share, with 95 % intervals.
    """

    label: str
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Verdicts on the answers of one checkpoint to one data set.

    Attributes:
        model, data, split: Names, as they were given.
        generation: Arguments of `generate`, and `num_candidates`.
        groups: All formulas; with several candidates also what the first of them would give; if training data are
            known, the formulas that are in it under no names; bins of length; numbers of symbols.
        decode_seconds, check_seconds: Summed over the formulas.
        alpha_covariance: As `measure_alpha_covariance` gives it, without the single examples; None if not measured.
    """

    model: str
    data: str
    split: str
    generation: dict[str, Any]
    groups: tuple[Group, ...]
    decode_seconds: float
    check_seconds: float
    alpha_covariance: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        return asdict(self)

    def table(self) -> str:
        """As lines of text, at most 100 columns wide."""
        head = ["", "formulas", "verified", "95 % interval", *VERDICTS]
        rows = [head, *(_cells(group) for group in self.groups)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = []
        for row in rows:
            first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join([first.strip().ljust(widths[0]), *others]))
        options = ", ".join(f"{name} {value}" for name, value in self.generation.items())
        lines.insert(0, f"{self.model} on {self.data}, split {self.split}; {options}")
        if self.alpha_covariance is not None:
            lines.append(_alpha_covariance_line(self.alpha_covariance))
        return "\n".join(lines)


def _cells(group: Group) -> list[str]:
    summary = group.summary
    low, high = summary["accuracy_interval"]
    counts = [f"{round(summary[verdict] * summary['count']):,}" for verdict in VERDICTS]
    share = f"{100 * summary['accuracy']:.1f} %"
    return [group.label, f"{summary['count']:,}", share, f"{100 * low:.1f} - {100 * high:.1f} %", *counts]


def _alpha_covariance_line(measured: dict[str, Any]) -> str:
    value = measured["alpha_covariance"]
    if value is None:
        return f"alpha-covariance: none of {measured['excluded']} formulas has two renamings"
    return (
        f"alpha-covariance: {value:.4f} over {measured['examples']} formulas and {measured['predictions']:,} answers"
        f" ({measured['excluded']} formulas without two renamings left out)"
    )


def load_questions(data: str, split: str, rows: int) -> list[Question]:
    """The first rows of a split as questions.

    Args:
        data: A folder that `symbinv data` wrote, or a data set on the Hub; with columns `formula` and `witness`.
        split: Name of the split.
        rows: At most so many.

    Raises:
        DataError: If there is no such data set, split or column, or a row is no formula.
    """
    from datasets import load_dataset

    if not Path(data).is_dir() and (Path(data).exists() or not HUB_NAME.fullmatch(data)):
        raise DataError(
            f"{data}: no such folder; make a data set with `symbinv data`, or name one on the Hub as OWNER/NAME"
        )
    try:
        # Streamed, because the cache of `datasets` knows folders with a card by their last name only.
        content = list(load_dataset(data, split=split, streaming=True).take(rows))
    except Exception as error:  # of many types, for folders without data, unknown splits, damaged files, no network
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise DataError(
            f"{data}, split {split}: cannot be loaded ({reason}); make a data set with `symbinv data`"
        ) from error
    questions = []
    for index, row in enumerate(content):
        missing = {"formula", "witness"} - set(row)
        if missing:
            raise DataError(f"{data}: has columns {', '.join(row)}; it needs {' and '.join(sorted(missing))} too")
        try:
            questions.append(read_question(row["formula"], reference=row["witness"]))
        except (ValueError, TypeError) as error:
            raise DataError(f"{data}, split {split}, row {index}: {error}") from error
    if not questions:
        raise DataError(f"{data}, split {split}: has no rows")
    return questions


def training_classes(data: str) -> set[str]:
    """The formulas of split `train` up to a renaming of symbols, as `alpha_class` writes them.

    Raises:
        DataError: If there is no such split.
    """
    from datasets import load_dataset

    from hf_symbinv.datasets_scripts.ltl_storage import alpha_class

    try:
        return {alpha_class(row["formula"]) for row in load_dataset(data, split="train", streaming=True)}
    except Exception as error:  # as in `load_questions`
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise DataError(f"{data}, split train: cannot be loaded ({reason}); leave out --novel") from error


def evaluate_checkpoint(
    checkpoint: Checkpoint,
    questions: Sequence[Question],
    checker: Any,
    *,
    data: str,
    split: str,
    trained_on: Set[str] = frozenset(),
    alpha_covariance_rows: int = 0,
    num_candidates: int = 1,
    batch_size: int = 100,
    progress: bool = False,
    **generation: Any,
) -> Evaluation:
    """Answer all questions, check the answers, and count the verdicts.

    Args:
        checkpoint: Model and tokenizer.
        questions: At least one.
        checker: As `LTL.checker()` makes it.
        data, split: Names for the report.
        trained_on: As `training_classes` gives them; if any, the formulas outside get a group of their own.
        alpha_covariance_rows: Measure alpha-covariance on the first so many questions.
        num_candidates: Candidates for each question; one is enough that holds.
        batch_size: Questions decoded together.
        progress: Show a progress bar on stderr.
        generation: Arguments of `generate`.
    """
    answers = answer_questions(
        checkpoint, questions, checker,
        num_candidates=num_candidates, batch_size=batch_size, progress=progress, **generation,
    )  # fmt: skip
    measured = None
    if alpha_covariance_rows:
        measured = alpha_covariance(checkpoint, questions, alpha_covariance_rows, **generation)
    return Evaluation(
        model=checkpoint.name,
        data=data,
        split=split,
        generation={**generation, "num_candidates": num_candidates},
        groups=tuple(groups(questions, answers, num_candidates, trained_on)),
        decode_seconds=sum(answer.decode_seconds for answer in answers),
        check_seconds=sum(answer.check_seconds for answer in answers),
        alpha_covariance=measured,
    )


def groups(
    questions: Sequence[Question], answers: Sequence[Answer], num_candidates: int, trained_on: Set[str]
) -> list[Group]:
    """The verdicts on all answers, and on those to formulas of like lengths and like numbers of symbols."""
    from hf_symbinv.datasets_scripts.ltl_storage import alpha_class

    best = [answer.best.verdict for answer in answers]
    found = [Group("all", summarize_verdicts(best))]
    if num_candidates > 1:
        first = [answer.candidates[0].verdict for answer in answers]
        found.append(Group("all, first candidate", summarize_verdicts(first)))
    if trained_on:
        pairs = zip(questions, best, strict=True)
        novel = [verdict for question, verdict in pairs if alpha_class(question.formula) not in trained_on]
        if novel:
            found.append(Group("no renamed twin in train", summarize_verdicts(novel)))
    for name, keys in (
        ("length", [(question.tokens - 1) // BIN for question in questions]),
        ("symbols", [question.symbols for question in questions]),
    ):
        for key in sorted(set(keys)):
            label = f"length {BIN * key + 1}-{BIN * key + BIN}" if name == "length" else f"symbols {key}"
            members = [verdict for verdict, own in zip(best, keys, strict=True) if own == key]
            found.append(Group(label, summarize_verdicts(members)))
    return found


def alpha_covariance(
    checkpoint: Checkpoint, questions: Sequence[Question], rows: int, **generation: Any
) -> dict[str, Any]:
    """Alpha-covariance of a checkpoint's answers to the first `rows` questions, with names of all questions.

    All renamings of a question are decoded in one batch where memory allows, so that they have the same shape.
    """
    from hf_symbinv.training.decoding import generate_answers  # torch only where it is needed

    names = {name for question in questions for name in LTL.parse(question.prompt, "prefix").symbols()}
    asked = questions[:rows]
    batch_size = MAX_STREAM_TOKENS // max(question.tokens * max(question.symbols, 1) for question in asked)

    def predict(inputs: list[str]) -> list[str]:
        answers = generate_answers(checkpoint.model, checkpoint.tokenizer, inputs, batch_size=batch_size, **generation)
        return [answer[0] for answer in answers]

    prompts = [question.prompt for question in asked]
    measured = dict(measure_alpha_covariance(predict, prompts, alphabet=sorted(names)))
    del measured["per_example"]
    return measured
