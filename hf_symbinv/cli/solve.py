"""`symbinv solve`: questions in, answers out that were checked or proved."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.answers import (
    MEMBERS,
    Answer,
    Clauses,
    ClausesAnswer,
    Portfolio,
    Specification,
    SpecificationError,
    answer_clauses,
    certify,
)
from hf_symbinv.answers.certificates import witness_text
from hf_symbinv.answers.clauses import certify_clauses, ranges, solution_lines
from hf_symbinv.answers.traces import ENDS, finite_part, recording_of, steps_text, write_recording
from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import AT_ONCE, add_decoding, add_task, at_least, command_parser
from hf_symbinv.cli.specifications import read_question
from hf_symbinv.cli.texts import Text, add_notation, block, notation_of, one_line, read_items
from hf_symbinv.errors import UserError, cut
from hf_symbinv.files import path_here, require_writable, write_atomically
from hf_symbinv.plotting.figures import PICTURES, save_picture
from hf_symbinv.tasks import LTL, TASKS

# Tasks whose questions the portfolio answers where no model is named.
PORTFOLIOS = ("ltl", "prop")
# Seconds of silence, at most, while solvers work, and characters of a question that are shown then.
PATIENCE = 5.0
LONGEST_SHOWN = 60
# Certificates, recordings and pictures.
CERTIFICATE = ".json"
KINDS_OF_FILES = (CERTIFICATE, ".csv", ".vcd", *PICTURES)
# Options that only a model takes.
OF_MODELS = ("beams", "n_best", "max_new_tokens", "embedding_seed", "device", "batch_size")

DESCRIPTION = """\
Find traces that satisfy specifications of linear temporal logic, or prove that
there are none. A specification is a formula, a FILE.ltl with named properties, a
FILE.ltlf of such on finite traces, or a FILE.tlsf; docs/engineers.md has the
syntax. A witness is a lasso trace: steps, then a cycle that repeats for ever.
With --task prop formulas are propositional, and the witness is an assignment;
FILE.cnf has clauses in DIMACS format.

Two solvers try, and the first answer that was checked or proved wins: `spot`
with automata, `bounded` with a SAT solver on lassos of growing length. Two
checkers look at each witness. The verdict is `correct`; `unsatisfiable`, with a
minimal set of properties that contradict each other; or `unknown`.

With --json each question gives its certificate on a line, which `symbinv
verify` checks again; or, for a question that cannot be read, the question and
error. --output writes the certificate (.json), the witness for a waveform
viewer (.vcd) or a spreadsheet (.csv), or its picture (.png, .svg, .pdf).

With --model or another task (ltl-operators, copy, pairs, FILE.py) a model
answers alone, and the task's solver, if there is one, checks. If no candidate is
verified, the most likely one is shown with its verdict: the model missed an
answer, or there is none.

exit codes: 0 every question has an answer that was checked or proved, or an
answer where there is no solver, 1 some have none, 2 bad usage or a question that
cannot be read
"""

EXAMPLE = """\
$ symbinv solve "G(request -> F grant)" "a & X b & !a"
G(request -> F grant)
  witness  cycle{!request}
  verdict  correct
a & X b & !a
  witness  there is none
  verdict  unsatisfiable, as spot proves
$ symbinv solve --model ltl-base "a & X b & !a"
a & X b & !a
  witness  not found: the model missed it, or there is none
  tried    !a; cycle{a & b}
  verdict  incorrect: these words of the trace violate the formula: !a; cycle{a & b}
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv solve`."""
    command = command_parser("solve", DESCRIPTION, EXAMPLE)
    asked = "a formula, a FILE.ltl, .ltlf, .tlsf or .cnf, or - for the lines of standard input, as without any"
    command.add_argument("questions", nargs="*", metavar="QUESTION", help=asked)
    command.add_argument("--file", help="read questions from the lines of this file, - for standard input")
    add_task(command, "that of --model, ltl without one")
    add_notation(command)
    command.add_argument("--json", action="store_true", help="print one JSON object per question and line")
    add = command.add_argument_group("specifications").add_argument
    add("--finite", action="store_true", help="formulas speak of finite traces (LTLf)")
    add("--explain", action="store_true", help="say who tried what for how long, and who checked")
    members = "leave out spot or bounded"
    add("--without", action="append", default=[], choices=MEMBERS, metavar="MEMBER", help=members)
    output = f"write the answer to one question: {', '.join(KINDS_OF_FILES)}; may be repeated"
    add("--output", action="append", type=path_here, default=[], metavar="FILE", help=output)
    dimacs = "print the answer to a FILE.cnf as SAT solvers do, in lines that begin with s and v"
    add("--dimacs", action="store_true", help=dimacs)
    model = "have a model answer alone: folder, bundled name or name on the Hub (default but for ltl and prop: bundled)"
    command.add_argument("--model", help=model)
    add_decoding(command)
    batch = (
        "questions that a model decodes together, at most; with 1 nothing depends on the others (default: %(default)s)"
    )
    command.add_argument("--batch-size", type=at_least(1), default=AT_ONCE, metavar="N", help=batch)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.questions == ["-"]:
        options.questions, options.file = [], options.file or "-"
    if options.model is not None or options.task not in (None, *PORTFOLIOS):
        for name in ("finite", "explain", "without", "dimacs", "output"):
            if getattr(options, name) != command.get_default(name):
                option = name.replace("_", "-")
                command.error(f"--{option}: a model that answers alone does not take it; leave out --model")
        from hf_symbinv.cli.guesses import show_guesses

        return show_guesses(command, options)
    for name in OF_MODELS:
        if getattr(options, name) != command.get_default(name):
            option = name.replace("_", "-")
            command.error(f"--{option} {getattr(options, name)}: only a model takes it; name one, as --model ltl-base")
    return _answer_all(command, options)


def _answer_all(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Have the portfolio answer the questions; the exit code."""
    if any(path.suffix in PICTURES for path in options.output):
        import matplotlib  # noqa: F401  # before the question is answered, not after
    for path in options.output:
        if path.suffix not in KINDS_OF_FILES:
            command.error(f"--output {path}: unknown kind of file; end it in {', '.join(KINDS_OF_FILES)}")
        require_writable(path)
    task = TASKS[options.task or LTL.name]
    notation = notation_of(command, options, task)
    if task is not LTL and options.finite:
        command.error(f"--finite: a propositional formula has no traces; leave out --task {task.name}")
    if options.dimacs and options.json:
        command.error("--dimacs: leave it out, or --json")
    if options.output and len(options.questions) != 1:
        command.error(f"--output {options.output[0]}: the answer to one question is written; give one as an argument")
    members = [name for name in MEMBERS if name not in options.without]
    code = DONE
    with Portfolio(members, timeout=options.timeout, memory=options.memory) as portfolio:
        for item in read_items("formula", options.questions, options.file):
            try:
                question = read_question(item, task, notation, options.finite)
                _require_options(question, options)
            except ValueError as error:
                _refuse(item, error, options.json)
                code = BAD_INPUT
                continue
            answer: Answer | ClausesAnswer
            with portfolio.watched(_waiting(item, options.timeout)):
                if isinstance(question, Clauses):
                    answer = answer_clauses(question, portfolio)
                else:
                    answer = portfolio.answer(question)
            if options.json:
                print(json.dumps(_certificate(answer, portfolio)), flush=True)
            elif options.dimacs and isinstance(answer, ClausesAnswer):
                print("\n".join(solution_lines(answer)), flush=True)
            else:
                print(block(item.text, _rows(answer, options)), flush=True)
            # After the answer, so that a file that cannot be written does not cost it; certificates can be always.
            for path in sorted(options.output, key=lambda path: path.suffix != CERTIFICATE):
                _write(path, answer, portfolio)
            code = max(code, NOT_VERIFIED if answer.result == "unknown" else DONE)
    return code


def _waiting(item: Text, timeout: float) -> Callable[[], None]:
    """Says on stderr now and then that there is no answer yet, and what ends the wait."""
    start = said = time.monotonic()
    shown = one_line(item.text)
    shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"

    def look() -> None:
        nonlocal said
        if time.monotonic() - said >= PATIENCE:
            said = time.monotonic()
            print(
                f"symbinv solve: {shown}: no answer after {said - start:.0f} s; "
                f"--timeout {timeout:g} limits the seconds of each solver and each proof",
                file=sys.stderr,
                flush=True,
            )

    return look


def _require_options(question: Specification | Clauses, options: argparse.Namespace) -> None:
    """Make sure that the options fit the question.

    Raises:
        UserError: If they do not.
    """
    if options.dimacs and not isinstance(question, Clauses):
        raise UserError("--dimacs is for a FILE.cnf alone; leave it out")
    if isinstance(question, Clauses) or question.propositional:
        if isinstance(question, Clauses) and options.finite:
            raise UserError("clauses have no traces; leave out --finite")
        for path in options.output:
            if path.suffix != CERTIFICATE:
                raise UserError(f"--output {path}: an assignment is written as .json only")


def _certificate(answer: Answer | ClausesAnswer, portfolio: Portfolio) -> dict[str, Any]:
    return certify_clauses(answer) if isinstance(answer, ClausesAnswer) else certify(answer, portfolio)


def _refuse(item: Text, error: ValueError, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"specification": item.text, "error": str(error)}), flush=True)
    else:
        place = "" if isinstance(error, SpecificationError) else f"{item.place}: "
        print(f"symbinv solve: {cut(f'{place}{error}')}", file=sys.stderr, flush=True)


def _rows(answer: Answer | ClausesAnswer, options: argparse.Namespace) -> list[tuple[str, str]]:
    """What is shown of an answer to people, below the question."""
    is_trace = isinstance(answer, Answer) and not answer.specification.propositional
    rows = [("witness" if is_trace else "assignment", _witness(answer))]
    rows.append(("verdict", _verdict(answer)))
    if options.explain:
        for tried in answer.tried:
            seconds = f"{tried.seconds:.3f} s  " if tried.seconds else ""
            rows.append((tried.member, f"{seconds}{tried.outcome}"))
        rows += [(f"checked by {check.checker}", f"{check.seconds:.3f} s  {check.verdict}") for check in answer.checks]
        rows.append(("in all", f"{answer.seconds:.3f} s"))
    return rows


def _witness(answer: Answer | ClausesAnswer) -> str:
    """The evidence that the question is satisfiable."""
    if answer.result != "satisfiable":
        return "not found" if answer.result == "unknown" else "there is none"
    if isinstance(answer, ClausesAnswer):
        return " ".join(map(str, answer.model or ()))
    assert answer.witness is not None
    if answer.specification.finite:
        return f"{steps_text(finite_part(answer.witness, answer.specification.alive))}{ENDS}"
    return witness_text(answer.specification, answer.witness) or "none needed"


def _verdict(answer: Answer | ClausesAnswer) -> str:
    if answer.result == "unknown":
        return "unknown: no solver has an answer within its limits; --timeout and --memory give it more"
    if answer.result == "satisfiable":
        missing = [
            f"{check.checker} did not check it: {check.message}"
            for check in answer.checks
            if check.verdict != "correct"
        ]
        return "; ".join(["correct", *missing])
    proof = f"unsatisfiable, as {answer.found_by} proves"
    count = len(answer.question.clauses if isinstance(answer, ClausesAnswer) else answer.specification.properties)
    if count == 1:
        return proof
    only = "and each is needed" if answer.minimal else "and perhaps fewer are enough"
    subset = ranges(answer.subset) if isinstance(answer, ClausesAnswer) else ", ".join(answer.subset)
    return f"{proof}: {subset} ({only})"


def _write(path: Path, answer: Answer | ClausesAnswer, portfolio: Portfolio) -> None:
    if path.suffix == CERTIFICATE:
        write_atomically(path, json.dumps(_certificate(answer, portfolio), indent=2) + "\n")
    elif isinstance(answer, Answer):  # `_require_options` has refused all else
        if answer.witness is None:
            raise UserError(f"--output {path}: there is no witness to write; the verdict is {_verdict(answer)}")
        if path.suffix in PICTURES:
            from hf_symbinv.plotting.timeline import Timeline, draw_timeline

            save_picture(draw_timeline(Timeline.of(answer.witness)), path)
        else:
            specification = answer.specification
            alive = specification.alive if specification.finite else None
            write_recording(path, recording_of(answer.witness, specification.symbols(), alive))
