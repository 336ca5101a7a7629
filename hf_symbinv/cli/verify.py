"""`symbinv verify`: questions with answers, certificates, and recorded traces in, verdicts out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hf_symbinv.answers.traces import ENDS, TABLE, WAVEFORM
from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import DEFAULT_TASK, add_task, add_timeout, command_parser
from hf_symbinv.cli.specifications import FINITE, FORMULAS, SPECIFICATION, SYNTHESIS, is_file, refuse_file
from hf_symbinv.cli.texts import Text, add_notation, block, in_chunks, notation_of, one_line, read_items
from hf_symbinv.errors import cut
from hf_symbinv.files import kind_of
from hf_symbinv.solvers import CheckResult
from hf_symbinv.tasks import SymbolTask, load_task

# Pairs that are read before the first of them are checked.
AT_ONCE = 1000

DESCRIPTION = """\
Have the task's solver check answers. An LTL witness is correct if every word
that it stands for satisfies the formula; it is written `request; grant; cycle{1}`
or, in prefix notation, `a;b;{1}`. An assignment is correct if it makes the
formula true whatever the other symbols are; it is written `a=1, b=0` or `a1b0`.
In a file, question and answer stand on one line with a tab between them, or on
two lines.

A CERTIFICATE.json that `symbinv solve --output` wrote is checked again, by Spot
and by the package's own checker; what it says of its checks is not believed.

A FILE.ltl takes the place of a formula, and each of its properties is checked.
A trace may be one that a simulator recorded, as TRACE.vcd or TRACE.csv. A
recording without a cycle is the beginning of a trace: a property is `correct`
if it holds however the trace goes on, `incorrect` if it cannot hold any more,
and else `open`. With --finite it is the whole trace.

Verdicts: correct, incorrect, invalid (no answer of the task, or a trace that
denotes no word), timeout, error (the solver failed).

exit codes: 0 every answer is correct, 1 some are not, 2 bad usage or a question
that cannot be read
"""

EXAMPLE = """\
$ symbinv verify "G(request -> F grant)" "request; cycle{grant; !grant}"
G(request -> F grant)
  witness  request; cycle{grant; !grant}
  verdict  correct
"""


class Pair(NamedTuple):
    """A question and an answer as they were given, and where they stand."""

    place: str
    question: str
    answer: str | None


class PrefixPair(NamedTuple):
    """A question and its answer in prefix notation, as the checker takes them."""

    question: str
    answer: str


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv verify`."""
    command = command_parser("verify", DESCRIPTION, EXAMPLE)
    add = command.add_argument
    pair = "or a CERTIFICATE.json alone; an answer may be a TRACE.vcd or .csv; without any, standard input is read"
    add("pair", nargs="*", metavar="QUESTION ANSWER", help=pair)
    add("--file", help="read pairs from this file, - for standard input")
    add_task(command, DEFAULT_TASK)
    add_notation(command)
    add("--finite", action="store_true", help="the trace ends where it does (LTLf)")
    clock = "of a TRACE.vcd: steps are its rising edges (default: each time with a change)"
    add("--clock", metavar="SIGNAL", help=clock)
    add("--json", action="store_true", help="print one JSON object per pair and line")
    add_timeout(command)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    one_trace = len(options.pair) == 2 and options.task in (None, DEFAULT_TASK)  # other tasks have none
    kinds = [kind_of(text) for text in options.pair]
    if one_trace and kinds[0] in (TABLE, WAVEFORM):
        command.error(f"{options.pair[0]}: a trace stands after its formula; exchange the two")
    recorded = one_trace and (kinds[1] in (TABLE, WAVEFORM) or is_file(options.pair[1]))  # refused if of neither kind
    if options.clock and not recorded:
        command.error("--clock: only with a recorded trace, a TRACE.vcd")
    if options.finite and not one_trace:
        command.error("--finite: only with one formula of LTL and one trace")
    of_file = one_trace and kinds[0] in (SPECIFICATION, FINITE, SYNTHESIS)
    ends = one_trace and options.pair[1].endswith(ENDS)
    if recorded or of_file or ends or options.finite or kinds == [".json"]:
        from hf_symbinv.cli.evidence import verify_evidence

        return verify_evidence(options)
    task = load_task(options.task or DEFAULT_TASK)
    notation = notation_of(command, options, task)
    if len(options.pair) not in (0, 2):
        question, answer = task.columns
        given = f"{len(options.pair)} argument{'s' * (len(options.pair) > 1)}"
        command.error(f"{given}: give one {question} and one {answer}, each in quotes, or a CERTIFICATE.json alone")
    if options.pair and options.file is not None:
        command.error(f"--file {options.file}: leave it out, or leave out the pair before it")
    if options.pair and task.name in FORMULAS:
        refuse_file(options.pair[0], task, notation)
    pairs = iter([Pair("", *options.pair)]) if options.pair else _pairs(read_items("pair", [], options.file))
    code = DONE
    with task.checker(timeout=options.timeout, memory=options.memory) as checker:
        for chunk in in_chunks(pairs, AT_ONCE):
            read = [_read(task, pair, notation) for pair in chunk]
            results = checker.check([item for item in read if isinstance(item, PrefixPair)])
            for pair, item in zip(chunk, read, strict=True):
                result = next(results) if isinstance(item, PrefixPair) else item
                code = max(code, _show(task, pair, result, options.json))
        if complaint := checker.complaint():
            print(f"symbinv verify: {complaint}", file=sys.stderr)
    return code


def _pairs(lines: Iterator[Text]) -> Iterator[Pair]:
    """Question and answer from one line with a tab, or from two."""
    for line in lines:
        question, tab, answer = line.text.partition("\t")
        following = None if tab else next(lines, None)
        yield Pair(line.place, question, answer if tab else following and following.text)


def _read(task: SymbolTask, pair: Pair, notation: str) -> PrefixPair | CheckResult | str:
    """The pair in prefix notation; the verdict on a text that is no answer; the reason why a question is none."""
    try:
        question = task.read_question(pair.question, notation)
    except ValueError as error:
        return str(error)
    if pair.answer is None:
        return "this {} has no {}; write it after a tab or on the next line".format(*task.columns)
    try:
        return PrefixPair(question, task.read_answer(pair.answer))
    except ValueError as error:
        return CheckResult("invalid", 0.0, str(error))


def _show(task: SymbolTask, pair: Pair, result: CheckResult | str, as_json: bool) -> int:
    """Print one result; the exit code that it alone would give."""
    question, answer = task.columns
    content: dict[str, Any] = {question: pair.question, answer: pair.answer}
    if isinstance(result, str):
        if as_json:
            print(json.dumps({**content, "error": result}), flush=True)
        else:
            place = f"{pair.place}: " if pair.place else ""
            print(f"symbinv verify: {cut(place + result)}", file=sys.stderr, flush=True)
        return BAD_INPUT
    if as_json:
        content |= {"verdict": result.verdict, "seconds": round(result.seconds, 6), "message": result.message}
        print(json.dumps(content), flush=True)
    else:
        reason = f": {one_line(result.message)}" if result.message else ""
        rows = [(answer, one_line(pair.answer or "")), ("verdict", f"{result.verdict}{reason}")]
        print(block(pair.question, rows), flush=True)
    return DONE if result.verdict == "correct" else NOT_VERIFIED
