"""Questions to a model and its answers: decode candidates, check every one, take the first that holds.

with LTL.checker(timeout=10.0) as checker:
    questions = [read_question(LTL, "G(request -> F grant)", "infix")]
    (answer,) = answer_questions(checkpoint, questions, checker)
    print(answer.best.text, answer.best.verdict)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from hf_symbinv.tasks import SymbolTask
from hf_symbinv.tasks.base import size_of, symbols_of

if TYPE_CHECKING:
    from hf_symbinv.evaluation.checkpoints import Checkpoint

_logger = logging.getLogger(__name__)

VERIFIED = frozenset({"exact", "correct"})
UNCHECKED = "unchecked"
# Our choice. A stream model holds streams x tokens hidden states: with the paper's LTL model the second limit takes
# about 2 GB, and 5,000 tokens with few symbols take seconds to a minute on one core.
MAX_TOKENS = 5_000
MAX_STREAM_TOKENS = 100_000


class QuestionSizeError(ValueError):
    """A question that is too large to be answered in reasonable time and memory."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        text: The question as it was asked, in prefix notation; what answers are checked against.
        prompt: What the model reads, in base tokens and symbols, of which `size` and `symbols` count tokens and names.
        reference: A known answer in prefix notation, None if there is none.
    """

    text: str
    prompt: str
    size: int
    symbols: int
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that the model proposed, in prefix notation, with the checker's verdict, its reason and its seconds.

    `score` is the model's own opinion, as `ScoredAnswer` of `training.decoding` has it. Without a checker the verdict
    is `UNCHECKED`.
    """

    text: str
    verdict: str
    message: str
    check_seconds: float
    score: float | None = None

    @property
    def verified(self) -> bool:
        return self.verdict in VERIFIED


@dataclass(frozen=True, slots=True)
class Answer:
    """At least one candidate for a question, the most likely first, and the question's share of the decoding time."""

    candidates: tuple[Candidate, ...]
    decode_seconds: float

    @property
    def best(self) -> Candidate:
        """The first verified candidate; the most likely one if there is none."""
        return next((candidate for candidate in self.candidates if candidate.verified), self.candidates[0])

    @property
    def check_seconds(self) -> float:
        return sum(candidate.check_seconds for candidate in self.candidates)


def read_question(task: SymbolTask, text: str, notation: str = "prefix", reference: str | None = None) -> Question:
    """The question that a text in one of `task.notations` asks; `reference` is a known answer in prefix notation.

    Raises:
        ValueError: If `text` is no question of the task (for formulas a FormulaSyntaxError), or cannot be made a prompt
            (FormulaSizeError).
        QuestionSizeError: If it is too large for a model.
    """
    asked = task.read_question(text, notation)
    prompt = task.prompt(asked)
    size, symbols = size_of(task, prompt), len(symbols_of(task, prompt))
    if size > MAX_TOKENS or size * symbols > MAX_STREAM_TOKENS:
        raise QuestionSizeError(
            f"{size:,} tokens and {symbols:,} symbols for the model to read: the limits are {MAX_TOKENS:,} tokens and "
            f"tokens x symbols = {MAX_STREAM_TOKENS:,}; split it"
        )
    return Question(asked, prompt, size, symbols, reference)


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

    Where there are fewer answers than beams, `generate` fills up with repeats: a repeat is no new candidate and is left
    out, an empty text is checked like any other. A model with a fixed vocabulary is not asked what has symbols that it
    does not know: the answer is empty and its verdict `invalid` (ITE, Appendix E.3).

    Args:
        checker: As `task.checker()` makes it; None to check nothing.
        num_candidates: Different candidates for each question, at most; no more than beams.
        batch_size: Questions decoded together, at most; fewer if they are large.
        progress: Show a progress bar on stderr.
        generation: Further arguments of `generate`, such as `num_beams` and `max_new_tokens`.
    """
    from hf_symbinv.training.decoding import generate_scored_answers, unknown_symbols  # torch only where it is needed

    unknown = unknown_symbols(checkpoint.model, checkpoint.tokenizer, [question.prompt for question in questions])
    answers: dict[int, Answer] = {}
    for row, names in enumerate(unknown):
        if names:
            message = _no_row(names, checkpoint.tokenizer.fixed_names, checkpoint.model.config.num_symbols)
            answers[row] = Answer((Candidate("", "invalid", message, 0.0),), 0.0)
    if answers:
        _logger.warning(
            "%d of %d questions have symbols that this checkpoint has no row for; their answers count as empty",
            len(answers), len(questions),
        )  # fmt: skip
    known = [row for row in range(len(questions)) if row not in answers]
    with tqdm(total=len(known), desc="solve", unit=" questions", disable=not progress) as bar:
        for places in batches([questions[row] for row in known], batch_size):
            rows = [known[place] for place in places]
            start = time.perf_counter()
            decoded = generate_scored_answers(
                checkpoint.model,
                checkpoint.tokenizer,
                [questions[row].prompt for row in rows],
                batch_size=len(rows),
                num_return_sequences=num_candidates,
                **generation,
            )
            proposed = [_different(scored) for scored in decoded]
            seconds = (time.perf_counter() - start) / len(rows)
            proposals = [(questions[row], text) for row, texts in zip(rows, proposed, strict=True) for text in texts]
            results = iter(_checked(checker, proposals))
            for row, texts in zip(rows, proposed, strict=True):
                candidates = [Candidate(text, *next(results), score) for text, score in texts.items()]
                answers[row] = Answer(tuple(candidates), seconds)
            bar.update(len(rows))
    return [answers[row] for row in range(len(questions))]


def _different(scored: Sequence[tuple[str, float | None]]) -> dict[str, float | None]:
    """Each text once, with the score of the first."""
    found: dict[str, float | None] = {}
    for text, score in scored:
        found.setdefault(text, score)
    return found


def _checked(checker: Any | None, proposals: Sequence[tuple[Question, str]]) -> list[tuple[str, str, float]]:
    """Verdict, message and seconds for each proposal."""
    if checker is None:
        return [(UNCHECKED, "", 0.0)] * len(proposals)
    pairs = [(question.text, text) for question, text in proposals]
    results = checker.check(pairs, [question.reference for question, _ in proposals])
    return [(result.verdict, result.message, result.seconds) for result in results]


def _no_row(names: Sequence[str], known: Sequence[str] | None, rows: int) -> str:
    """Why a model has no row for `names`; `known` are those that it knows, None if it takes any `rows` of them."""
    if known is None:
        return (
            f"this checkpoint has rows for the first {rows} symbols of a question, whatever their names are, and none "
            f"for {', '.join(names)}; ask with {rows} symbols at most, or take a checkpoint with streams"
        )
    known = known[:rows]
    shown = ", ".join(known if len(known) <= 6 else (*known[:2], "...", known[-1]))
    return (
        f"this checkpoint knows the symbols {shown} only and has no row for {', '.join(names)}; use these names, or a "
        "checkpoint with streams"
    )


def batches(questions: Sequence[Question], batch_size: int) -> Iterator[list[int]]:
    """Positions of questions that go together: of similar length, and no more than memory takes."""
    rows: list[int] = []
    streams = 1
    for row in sorted(range(len(questions)), key=lambda row: questions[row].size):
        streams = max(streams, questions[row].symbols)
        if rows and (len(rows) == batch_size or (len(rows) + 1) * streams * questions[row].size > MAX_STREAM_TOKENS):
            yield rows
            rows, streams = [], max(1, questions[row].symbols)
        rows.append(row)
    if rows:
        yield rows
