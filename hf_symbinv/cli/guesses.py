"""`symbinv solve --model`: a model's answers to questions of any task, and its solver's verdicts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import AT_ONCE, generation
from hf_symbinv.cli.models import Models
from hf_symbinv.cli.specifications import FORMULAS, refuse_file
from hf_symbinv.cli.texts import Text, block, in_chunks, notation_of, one_line, read_items
from hf_symbinv.errors import cut
from hf_symbinv.evaluation import Answer, Question, answer_questions, read_question
from hf_symbinv.evaluation.answers import UNCHECKED
from hf_symbinv.tasks import SymbolTask

if TYPE_CHECKING:
    from hf_symbinv.solvers import Checker


def show_guesses(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Answer the questions of `symbinv solve` with a model; the exit code."""
    how = {**generation(command, options), "num_candidates": options.n_best, "batch_size": options.batch_size}
    models = Models(options.model, options.task, options.device, options.embedding_seed)
    task = models.task
    show = _Show(task, notation_of(command, options, task), options.json, options.n_best > 1)
    items = read_items(task.columns[0], options.questions, options.file)
    code = DONE
    with task.checker(timeout=options.timeout, memory=options.memory) as made:
        checker = made if task.judges else None
        for texts in in_chunks(items, AT_ONCE):
            asked = [_question(task, text, show.notation) for text in texts]
            for text, result in zip(texts, _results(asked, models, checker, how), strict=True):
                code = max(code, show(text, result))
        if complaint := made.complaint():
            print(f"symbinv solve: {complaint}", file=sys.stderr)
    return code


def _question(task: SymbolTask, item: Text, notation: str) -> Question | str:
    """The question, or the reason why there is none."""
    try:
        text = item.text
        if task.name in FORMULAS and not item.place.startswith("line "):
            refuse_file(text, task, notation)
        return read_question(task, text, notation)
    except ValueError as error:
        return str(error)


def _results(
    asked: list[Question | str], models: Models, checker: Checker | None, how: dict[str, Any]
) -> Iterator[Answer | str]:
    """Answers in the order in which they were asked, and reasons as they are."""
    questions = [question for question in asked if isinstance(question, Question)]
    answers: Iterator[Answer] = iter(())
    if questions:
        progress = sys.stderr.isatty() and len(questions) > 1
        told = models.complete(how)
        answers = iter(answer_questions(models.checkpoint, questions, checker, progress=progress, **told))
    for question in asked:
        yield question if isinstance(question, str) else next(answers)


class _Show:
    """Prints results, for people or as one object per line, and gives the exit code that each alone would give."""

    def __init__(self, task: SymbolTask, notation: str, as_json: bool, candidates: bool):
        self.task, self.notation, self.as_json, self.candidates = task, notation, as_json, candidates
        self.question, self.answer = task.columns

    def __call__(self, item: Text, result: Answer | str) -> int:
        if isinstance(result, str):
            if self.as_json:
                _print({self.question: item.text, "error": result})
            else:
                print(f"symbinv solve: {cut(f'{item.place}: {result}')}", file=sys.stderr, flush=True)
            return BAD_INPUT
        if self.as_json:
            _print(self._object(item.text, result))
        else:
            self._print_block(item.text, result)
        return DONE if result.best.verified or result.best.verdict == UNCHECKED else NOT_VERIFIED

    def _object(self, question: str, answer: Answer) -> dict[str, Any]:
        best = answer.best
        content: dict[str, Any] = {
            self.question: question,
            self.answer: self._written(best.text),
            "verdict": best.verdict,
            "seconds": round(answer.decode_seconds + answer.check_seconds, 6),
            "decode_seconds": round(answer.decode_seconds, 6),
            "check_seconds": round(answer.check_seconds, 6),
            "message": best.message,
        }
        if self.candidates:
            content["candidates"] = [
                {self.answer: self._written(one.text), "verdict": one.verdict, "message": one.message}
                for one in answer.candidates
            ]
        return content

    def _print_block(self, question: str, answer: Answer) -> None:
        best = answer.best
        lines = {self.answer: self._written(best.text) or "none needed", "verdict": best.verdict}
        if not best.verified and best.verdict != UNCHECKED:
            lines = {
                self.answer: "not verified",
                "tried": self._written(best.text) or "nothing",
                "verdict": f"{best.verdict}: {one_line(best.message)}",
            }
            if best.verdict in ("incorrect", "invalid"):
                among = f" among {len(answer.candidates)} candidates" if len(answer.candidates) > 1 else ""
                lines[self.answer] = f"not found{among}: the model missed it, or there is none"
        print(block(question, lines.items()), flush=True)

    def _written(self, answer: str) -> str:
        """In the user's notation; as it is if it is no answer."""
        return self.task.write_answer(answer, self.notation)


def _print(content: dict[str, Any]) -> None:
    print(json.dumps(content), flush=True)
