"""`symbinv solve`: formulas in, verified witnesses out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import add_decoding, command_parser, generation
from hf_symbinv.cli.models import MODEL_HELP, load_quietly
from hf_symbinv.cli.texts import Text, add_notation, in_chunks, one_line, read_items
from hf_symbinv.evaluation import (
    Answer,
    Candidate,
    Checkpoint,
    Question,
    QuestionSizeError,
    answer_questions,
    read_question,
)
from hf_symbinv.evaluation.checkpoints import DEFAULT_CHECKPOINT
from hf_symbinv.logic import FormulaSizeError, FormulaSyntaxError
from hf_symbinv.tasks import LTL

if TYPE_CHECKING:
    from hf_symbinv.solvers import Checker

# Formulas that are read before the first of them are answered: one batch.
AT_ONCE = 100

DESCRIPTION = """\
Find a witness for each formula with a model, and have Spot check it. A witness
is a lasso trace: steps, then a cycle that repeats for ever. All operators of
LTL may be used, and any names. Of a file, 100 lines are read at a time.

If no candidate is verified, the most likely one is shown with its verdict: the
model missed a witness, or the formula has none. --n-best tries more candidates.

With --json each formula gives one object on a line: formula, witness, verdict,
seconds (decode_seconds and check_seconds together), message (why the witness is
not verified) and, with --n-best, candidates; or, for a formula that cannot be
read, formula and error.

exit codes: 0 every formula has a verified witness, 1 some have none, 2 bad
usage or a formula that cannot be read
"""

EXAMPLE = """\
$ symbinv solve "G(request -> F grant)" "a & X b & !a"
G(request -> F grant)
  witness  cycle{grant}
  verdict  correct
a & X b & !a
  witness  not found: the model missed it, or there is none
  tried    a; b & !a; cycle{1}
  verdict  incorrect: these words of the trace violate the formula: a; cycle{!a & b}
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv solve`."""
    command = command_parser("solve", DESCRIPTION, EXAMPLE)
    command.add_argument("formulas", nargs="*", metavar="FORMULA", help="without any, lines of standard input are read")
    command.add_argument("--file", help="read formulas from the lines of this file, - for standard input")
    add_notation(command)
    command.add_argument("--model", default=DEFAULT_CHECKPOINT, help=MODEL_HELP)
    command.add_argument("--json", action="store_true", help="print one JSON object per formula and line")
    add_decoding(command)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    how = {**generation(command, options), "num_candidates": options.n_best}
    items = read_items("formula", options.formulas, options.file)
    code, checkpoint = DONE, None
    with LTL.checker(timeout=options.timeout) as checker:
        for texts in in_chunks(items, AT_ONCE):
            asked = [_question(text, options.notation) for text in texts]
            questions = [question for question in asked if isinstance(question, Question)]
            if questions and checkpoint is None:
                checkpoint = load_quietly(options.model, options.device)
            for text, result in zip(texts, _results(asked, questions, checkpoint, checker, how), strict=True):
                code = max(code, _show(text, result, options))
    return code


def _question(item: Text, notation: str) -> Question | str:
    """The question, or the reason why there is none."""
    try:
        return read_question(item.text, notation)
    except (FormulaSyntaxError, FormulaSizeError, QuestionSizeError) as error:
        return str(error)


def _results(
    asked: list[Question | str],
    questions: list[Question],
    checkpoint: Checkpoint | None,
    checker: Checker,
    how: dict[str, Any],
) -> Iterator[Answer | str]:
    """Answers in the order in which they were asked, and reasons as they are."""
    answers: Iterator[Answer] = iter(())
    if checkpoint is not None:
        progress = sys.stderr.isatty() and len(questions) > 1
        answers = iter(answer_questions(checkpoint, questions, checker, progress=progress, **how))
    for question in asked:
        yield question if isinstance(question, str) else next(answers)


def _show(item: Text, result: Answer | str, options: argparse.Namespace) -> int:
    """Print one result; the exit code that it alone would give."""
    if isinstance(result, str):
        if options.json:
            _print({"formula": item.text, "error": result})
        else:
            print(f"symbinv solve: {item.place}: {result}", file=sys.stderr, flush=True)
        return BAD_INPUT
    if options.json:
        _print(_object(item.text, result, options))
    else:
        _print_block(item.text, result, options.notation)
    return DONE if result.best.verified else NOT_VERIFIED


def _print(content: dict[str, Any]) -> None:
    print(json.dumps(content), flush=True)


def _object(formula: str, answer: Answer, options: argparse.Namespace) -> dict[str, Any]:
    best = answer.best
    content: dict[str, Any] = {
        "formula": formula,
        "witness": _witness(best, options.notation),
        "verdict": best.verdict,
        "seconds": round(answer.decode_seconds + answer.check_seconds, 6),
        "decode_seconds": round(answer.decode_seconds, 6),
        "check_seconds": round(answer.check_seconds, 6),
        "message": best.message,
    }
    if options.n_best > 1:
        content["candidates"] = [
            {
                "witness": _witness(candidate, options.notation),
                "verdict": candidate.verdict,
                "message": candidate.message,
            }
            for candidate in answer.candidates
        ]
    return content


def _print_block(formula: str, answer: Answer, notation: str) -> None:
    best = answer.best
    print(one_line(formula))
    if best.verified:
        print(f"  witness  {_witness(best, notation)}")
        print(f"  verdict  {best.verdict}", flush=True)
        return
    if best.verdict in ("incorrect", "invalid"):
        among = f" among {len(answer.candidates)} candidates" if len(answer.candidates) > 1 else ""
        print(f"  witness  not found{among}: the model missed it, or there is none")
    else:
        print("  witness  not verified")
    print(f"  tried    {_witness(best, notation)}")
    print(f"  verdict  {best.verdict}: {one_line(best.message)}", flush=True)


def _witness(candidate: Candidate, notation: str) -> str:
    """In the user's notation; as it is if it is no trace."""
    try:
        return LTL.write_answer(LTL.parse_answer(candidate.witness), notation)
    except FormulaSyntaxError:
        return candidate.witness
