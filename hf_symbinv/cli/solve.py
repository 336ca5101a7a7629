"""`symbinv solve`: questions in, answers out that were checked or proved."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.answers import (
    MEMBERS,
    Answer,
    Portfolio,
    SpecificationError,
    certify,
)
from hf_symbinv.answers.traces import finite_part, recording_of, steps_text, write_recording
from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import AT_ONCE, add_decoding, add_task, at_least, command_parser, path_here
from hf_symbinv.cli.specifications import read_question
from hf_symbinv.cli.texts import Text, add_notation, notation_of, one_line, read_items
from hf_symbinv.errors import UserError, cut
from hf_symbinv.files import require_writable, write_atomically
from hf_symbinv.logic import trace_to_infix
from hf_symbinv.tasks import LTL

# Options that only a model takes.
OF_MODELS = ("beams", "n_best", "max_new_tokens", "embedding_seed", "device", "batch_size")

DESCRIPTION = """\
Find traces that satisfy specifications of linear temporal logic, or prove that
there are none. A specification is a formula, or a FILE.ltl with named
properties, assumptions and guarantees (docs/engineers.md has the syntax); its
witness is a lasso trace: steps, then a cycle that repeats for ever.

Several solvers try, each in a process with limits of time and memory. The first
answer that was checked or proved wins:

  spot     automata: a witness, or a proof that there is none
  bounded  a SAT solver on lassos of growing length: likewise, for some proofs
  model    the guesses of the bundled model, if the others take over a second

Two checkers look at each witness, Spot and one of this package. The verdict is
`correct`, and says so if one of them did not finish; `unsatisfiable`, with a
minimal set of properties that contradict each other; or `unknown`.

With --json each question gives its certificate on a line, which `symbinv
verify` checks again; or, for a question that cannot be read, the question and
error. --output writes the certificate (.json), the witness for a waveform
viewer (.vcd) or a spreadsheet (.csv), or its picture (.png, .svg, .pdf).

With --model or another task than ltl, a model answers alone:

  ltl   a formula; the answer, its witness, is a lasso trace
  prop  a formula with & | ! xor <-> ->; the answer is an assignment of some
        symbols that makes it true whatever the others are; a formula that is true
        anyway needs none
  copy  a string of symbols; the answer is its copy
  pairs a text like those of the data that the model was trained on; its answers
        have the verdict unchecked, because there is no solver

Any names may be used. Of a file, 100 lines are read at a time. If no candidate
is verified, the most likely one is shown with its verdict: the model missed an
answer, or there is none. --n-best tries more candidates. With --json each
question gives one object on a line: question and answer under the names that
the task's data sets give them (formula and witness, formula and assignment,
string and copy), verdict, seconds (decode_seconds and check_seconds together),
message (why the answer is not verified) and, with --n-best, candidates. A model
with random embeddings draws them with --embedding-seed, 0 by default.

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
$ symbinv solve --model ltl-small "a & X b & !a"
a & X b & !a
  witness  not found: the model missed it, or there is none
  tried    a; b & !a; cycle{1}
  verdict  incorrect: these words of the trace violate the formula: a; cycle{!a & b}
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv solve`."""
    command = command_parser("solve", DESCRIPTION, EXAMPLE)
    command.add_argument(
        "questions",
        nargs="*",
        metavar="QUESTION",
        help="a formula, a FILE.ltl, or - for the lines of standard input, which are read without any too",
    )
    command.add_argument("--file", help="read questions from the lines of this file, - for standard input")
    add_task(command, "that of --model, ltl without one")
    add_notation(command)
    command.add_argument("--json", action="store_true", help="print one JSON object per question and line")
    group = command.add_argument_group("specifications")
    group.add_argument("--finite", action="store_true", help="formulas speak of finite traces (LTLf)")
    group.add_argument("--explain", action="store_true", help="say who tried what for how long, and who checked")
    group.add_argument(
        "--without",
        action="append",
        default=[],
        choices=MEMBERS,
        metavar="MEMBER",
        help="leave out spot, bounded or model",
    )
    group.add_argument(
        "--output",
        action="append",
        type=path_here,
        default=[],
        metavar="FILE",
        help=f"write the answer to one question: {', '.join(WRITERS)}; may be repeated",
    )
    command.add_argument(
        "--model",
        help="have a model answer alone: folder, bundled name or name on the Hub (default for another task than ltl: "
        "the bundled one)",
    )
    add_decoding(command)
    command.add_argument(
        "--batch-size",
        type=at_least(1),
        default=AT_ONCE,
        metavar="N",
        help="questions that a model decodes together, at most; with 1 nothing depends on the others (default: "
        "%(default)s)",
    )
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.model is not None or options.task not in (None, LTL.name):
        for name in ("finite", "explain", "without", "output"):
            if getattr(options, name) != command.get_default(name):
                command.error(f"--{name}: a model that answers alone does not take it; leave out --model")
        if options.questions == ["-"]:
            options.questions, options.file = [], options.file or "-"
        from hf_symbinv.cli.guesses import show_guesses

        return show_guesses(command, options)
    for name in OF_MODELS:
        if getattr(options, name) != command.get_default(name):
            option = name.replace("_", "-")
            command.error(f"--{option} {getattr(options, name)}: only a model takes it; name one, as --model ltl-small")
    return _answer_all(command, options)


def _answer_all(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Have the portfolio answer the questions; the exit code."""
    for path in options.output:
        if path.suffix not in WRITERS:
            command.error(f"--output {path}: unknown kind of file; end it in {', '.join(WRITERS)}")
        require_writable(path)
    notation = notation_of(command, options, LTL)
    if options.questions == ["-"]:
        options.questions, options.file = [], options.file or "-"
    if options.output and len(options.questions) != 1:
        command.error(f"--output {options.output[0]}: the answer to one question is written; give one as an argument")
    members = [name for name in MEMBERS if name not in options.without]
    code = DONE
    with Portfolio(members, timeout=options.timeout, memory=options.memory) as portfolio:
        for item in read_items("formula", options.questions, options.file):
            try:
                specification = read_question(item, notation, options.finite)
            except ValueError as error:
                _refuse(item, error, options.json)
                code = BAD_INPUT
                continue
            answer = portfolio.answer(specification)
            for path in options.output:
                _write(path, answer, portfolio)
            if options.json:
                print(json.dumps(certify(answer, portfolio)), flush=True)
            else:
                print("\n".join([one_line(item.text), *_lines(answer, options.explain)]), flush=True)
            code = max(code, NOT_VERIFIED if answer.result == "unknown" else DONE)
    return code


def _refuse(item: Text, error: ValueError, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"specification": item.text, "error": str(error)}), flush=True)
    else:
        place = "" if isinstance(error, SpecificationError) else f"{item.place}: "
        print(f"symbinv solve: {cut(f'{place}{error}')}", file=sys.stderr, flush=True)


def _lines(answer: Answer, explain: bool) -> Iterator[str]:
    """What is shown of an answer to people, below the question."""
    rows = [("witness", _witness(answer)), ("verdict", _verdict(answer))]
    if explain:
        for tried in answer.tried:
            seconds = f"{tried.seconds:.3f} s  " if tried.seconds else ""
            rows.append((tried.member, f"{seconds}{tried.outcome}"))
        rows += [(f"checked by {check.checker}", f"{check.seconds:.3f} s  {check.verdict}") for check in answer.checks]
        rows.append(("in all", f"{answer.seconds:.3f} s"))
    width = max(len(label) for label, _ in rows)
    return (f"  {label.ljust(width)}  {text}" for label, text in rows)


def _witness(answer: Answer) -> str:
    if answer.witness is None:
        return "not found" if answer.result == "unknown" else "there is none"
    if answer.specification.finite:
        return f"{steps_text(finite_part(answer.witness, answer.specification.alive))}, and ends"
    return trace_to_infix(answer.witness)


def _verdict(answer: Answer) -> str:
    if answer.result == "unknown":
        return "unknown: no member of the portfolio has an answer within its limits"
    if answer.result == "satisfiable":
        missing = [
            f"{check.checker} did not check it: {check.message}"
            for check in answer.checks
            if check.verdict != "correct"
        ]
        return "; ".join(["correct", *missing])
    proof = f"unsatisfiable, as {answer.found_by} proves"
    if len(answer.specification.properties) == 1:
        return proof
    only = "and each is needed" if answer.minimal else "and perhaps fewer are enough"
    return f"{proof}: {', '.join(answer.subset)} ({only})"


def _write(path: Path, answer: Answer, portfolio: Portfolio) -> None:
    if path.suffix != ".json" and answer.witness is None:
        raise UserError(f"--output {path}: there is no witness to write; the verdict is {_verdict(answer)}")
    WRITERS[path.suffix](path, answer, portfolio)


def _write_certificate(path: Path, answer: Answer, portfolio: Portfolio) -> None:
    write_atomically(path, json.dumps(certify(answer, portfolio), indent=2) + "\n")


def _write_picture(path: Path, answer: Answer, _: Portfolio) -> None:
    from hf_symbinv.plotting.figures import save_picture
    from hf_symbinv.plotting.timeline import Timeline, draw_timeline

    assert answer.witness is not None
    save_picture(draw_timeline(Timeline.of(answer.witness)), path)


def _write_trace(path: Path, answer: Answer, _: Portfolio) -> None:
    assert answer.witness is not None
    specification = answer.specification
    alive = specification.alive if specification.finite else None
    write_recording(path, recording_of(answer.witness, specification.symbols(), alive))


WRITERS: dict[str, Callable[[Path, Answer, Portfolio], Any]] = {
    ".json": _write_certificate,
    ".csv": _write_trace,
    ".vcd": _write_trace,
    ".png": _write_picture,
    ".svg": _write_picture,
    ".pdf": _write_picture,
}
