"""Questions to a model and its answers: decode candidates, check every one, take the first that holds.

with LTL.checker(timeout=10.0) as checker:
    questions = [read_question("G(request -> F grant)", "infix")]
    (answer,) = answer_questions(checkpoint, questions, checker)
    print(answer.best.witness, answer.best.verdict)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from hf_symbinv.tasks import LTL

if TYPE_CHECKING:
    from hf_symbinv.evaluation.checkpoints import Checkpoint

VERIFIED = frozenset({"exact", "correct"})
# Our choice. A stream model holds streams x tokens hidden states: with the paper's LTL model the second limit takes
# about 2 GB, and 5,000 tokens with few symbols take seconds to a minute on one core.
MAX_TOKENS = 5_000
MAX_STREAM_TOKENS = 100_000


class QuestionSizeError(ValueError):
    """A formula that is too large to be answered in reasonable time and memory."""


@dataclass(frozen=True, slots=True)
class Question:
    """A formula to find a witness for.

    Attributes:
        formula: As it was asked, in prefix notation; what answers are checked against.
        prompt: The same in base operators, in prefix notation; what the model reads.
        tokens: Tokens of `prompt`.
        symbols: Distinct symbols of `prompt`.
        reference: A known witness in prefix notation, None if there is none.
    """

    formula: str
    prompt: str
    tokens: int
    symbols: int
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A witness that the model proposed, in prefix notation, with the checker's verdict, its reason and its seconds."""

    witness: str
    verdict: str
    message: str
    check_seconds: float

    @property
    def verified(self) -> bool:
        return self.verdict in VERIFIED


@dataclass(frozen=True, slots=True)
class Answer:
    """The candidates for one question, the most likely first, and this question's share of the decoding time."""

    candidates: tuple[Candidate, ...]
    decode_seconds: float

    @property
    def best(self) -> Candidate:
        """The first verified candidate; the most likely one if there is none."""
        return next((candidate for candidate in self.candidates if candidate.verified), self.candidates[0])

    @property
    def check_seconds(self) -> float:
        return sum(candidate.check_seconds for candidate in self.candidates)


def read_question(text: str, notation: str = "prefix", reference: str | None = None) -> Question:
    """The question that a formula asks.

    Args:
        text: A formula with any operators and names.
        notation: Of `text`: `infix`, `prefix` or `lbt`.
        reference: A known witness in prefix notation.

    Raises:
        FormulaSyntaxError: If `text` is no formula.
        FormulaSizeError: If it cannot be written with base operators.
        QuestionSizeError: If it is too large for a model.
    """
    formula = LTL.parse(text, notation)
    base = formula.to_base()
    symbols = len(base.symbols())
    if base.size > MAX_TOKENS or base.size * symbols > MAX_STREAM_TOKENS:
        raise QuestionSizeError(
            f"{base.size:,} tokens in base operators and {symbols:,} symbols: the limits are {MAX_TOKENS:,} tokens and "
            f"tokens x symbols = {MAX_STREAM_TOKENS:,}; split the formula"
        )
    return Question(LTL.write(formula, "prefix"), LTL.write(base, "prefix"), base.size, symbols, reference)


def answer_questions(
    checkpoint: Checkpoint,
    questions: Sequence[Question],
    checker: Any,
    *,
    num_candidates: int = 1,
    batch_size: int = 100,
    progress: bool = False,
    **generation: Any,
) -> list[Answer]:
    """Decode candidates for every question and check them all.

    Args:
        checkpoint: Model and tokenizer.
        questions: Of any sizes; they are decoded in batches of about equal lengths.
        checker: As `LTL.checker()` makes it.
        num_candidates: Candidates for each question; at most the number of beams.
        batch_size: Questions decoded together, at most; fewer if they are large.
        progress: Show a progress bar on stderr.
        generation: Further arguments of `generate`, such as `num_beams` and `max_new_tokens`.
    """
    from hf_symbinv.training.decoding import generate_answers  # torch only where it is needed

    answers: dict[int, Answer] = {}
    with tqdm(total=len(questions), desc="solve", unit=" formulas", disable=not progress) as bar:
        for rows in batches(questions, batch_size):
            start = time.perf_counter()
            proposed = generate_answers(
                checkpoint.model,
                checkpoint.tokenizer,
                [questions[row].prompt for row in rows],
                batch_size=len(rows),
                num_return_sequences=num_candidates,
                **generation,
            )
            seconds = (time.perf_counter() - start) / len(rows)
            proposals = [(questions[row], text) for row, texts in zip(rows, proposed, strict=True) for text in texts]
            results = checker.check(
                [(question.formula, text) for question, text in proposals],
                [question.reference for question, _ in proposals],
            )
            candidates = (
                Candidate(text, result.verdict, result.message, result.seconds)
                for (_, text), result in zip(proposals, results, strict=True)
            )
            for row, texts in zip(rows, proposed, strict=True):
                answers[row] = Answer(tuple(next(candidates) for _ in texts), seconds)
            bar.update(len(rows))
    return [answers[row] for row in range(len(questions))]


def batches(questions: Sequence[Question], batch_size: int) -> Iterator[list[int]]:
    """Positions of questions that go together: of similar length, and no more than memory takes."""
    rows: list[int] = []
    streams = 1
    for row in sorted(range(len(questions)), key=lambda row: questions[row].tokens):
        streams = max(streams, questions[row].symbols)
        if rows and (len(rows) == batch_size or (len(rows) + 1) * streams * questions[row].tokens > MAX_STREAM_TOKENS):
            yield rows
            rows, streams = [], max(1, questions[row].symbols)
        rows.append(row)
    if rows:
        yield rows
