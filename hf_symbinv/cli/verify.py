"""`symbinv verify`: formulas with witnesses in, verdicts out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import add_timeout, command_parser
from hf_symbinv.cli.texts import Text, add_notation, in_chunks, one_line, parse_witness, read_items
from hf_symbinv.logic import FormulaSyntaxError, trace_to_prefix
from hf_symbinv.solvers import CheckResult
from hf_symbinv.tasks import LTL

# Pairs that are read before the first of them are checked.
AT_ONCE = 1000

DESCRIPTION = """\
Have Spot check witnesses. A witness is correct if every word that it stands for
satisfies the formula. It is written in infix, `request; grant; cycle{1}`, or in
prefix notation, `a;b;{1}`, however the formula is written. In a file, formula
and witness stand on one line with a tab between them, or on two lines.

Verdicts: correct, incorrect, invalid (no lasso trace, or one that denotes no
word), timeout, error (Spot failed).

With --json each pair gives one object on a line: formula, witness, verdict,
seconds and message; or, for a formula that cannot be read, formula, witness and
error.

exit codes: 0 every witness is correct, 1 some are not, 2 bad usage or a formula
that cannot be read
"""

EXAMPLE = """\
$ symbinv verify "G(request -> F grant)" "request; cycle{grant; !grant}"
G(request -> F grant)
  witness  request; cycle{grant; !grant}
  verdict  correct
"""


class Pair(NamedTuple):
    """A formula and a witness as they were given, and where they stand."""

    place: str
    formula: str
    witness: str | None


class PrefixPair(NamedTuple):
    """The same in prefix notation."""

    formula: str
    witness: str


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv verify`."""
    command = command_parser("verify", DESCRIPTION, EXAMPLE)
    command.add_argument("pair", nargs="*", metavar="FORMULA WITNESS", help="without them, standard input is read")
    command.add_argument("--file", help="read pairs from this file, - for standard input")
    add_notation(command)
    command.add_argument("--json", action="store_true", help="print one JSON object per pair and line")
    add_timeout(command)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if len(options.pair) not in (0, 2):
        command.error(f"{len(options.pair)} arguments: give one formula and one witness, each in quotes")
    if options.pair and options.file is not None:
        command.error(f"--file {options.file}: leave it out, or leave out the pair before it")
    pairs = iter([Pair("", *options.pair)]) if options.pair else _pairs(read_items("pair", [], options.file))
    code = DONE
    with LTL.checker(timeout=options.timeout) as checker:
        for chunk in in_chunks(pairs, AT_ONCE):
            read = [_read(pair, options.notation) for pair in chunk]
            results = checker.check([item for item in read if isinstance(item, PrefixPair)])
            for pair, item in zip(chunk, read, strict=True):
                result = next(results) if isinstance(item, PrefixPair) else item
                code = max(code, _show(pair, result, options.json))
    return code


def _pairs(lines: Iterator[Text]) -> Iterator[Pair]:
    """Formula and witness from one line with a tab, or from two."""
    for place, text in lines:
        formula, tab, witness = text.partition("\t")
        following = None if tab else next(lines, None)
        yield Pair(place, formula, witness if tab else following and following.text)


def _read(pair: Pair, notation: str) -> PrefixPair | CheckResult | str:
    """The pair in prefix notation; the verdict on a witness that is no trace; the reason why a formula is none."""
    try:
        formula = LTL.write(LTL.parse(pair.formula, notation), "prefix")
    except FormulaSyntaxError as error:
        return str(error)
    if pair.witness is None:
        return "this formula has no witness; write it after a tab or on the next line"
    try:
        return PrefixPair(formula, trace_to_prefix(parse_witness(pair.witness)))
    except FormulaSyntaxError as error:
        return CheckResult("invalid", 0.0, str(error))


def _show(pair: Pair, result: CheckResult | str, as_json: bool) -> int:
    """Print one result; the exit code that it alone would give."""
    content: dict[str, Any] = {"formula": pair.formula, "witness": pair.witness}
    if isinstance(result, str):
        if as_json:
            print(json.dumps({**content, "error": result}), flush=True)
        else:
            place = f"{pair.place}: " if pair.place else ""
            print(f"symbinv verify: {place}{result}", file=sys.stderr, flush=True)
        return BAD_INPUT
    if as_json:
        content |= {"verdict": result.verdict, "seconds": round(result.seconds, 6), "message": result.message}
        print(json.dumps(content), flush=True)
    else:
        reason = f": {one_line(result.message)}" if result.message else ""
        print(one_line(pair.formula))
        print(f"  witness  {one_line(pair.witness or '')}")
        print(f"  verdict  {result.verdict}{reason}", flush=True)
    return DONE if result.verdict == "correct" else NOT_VERIFIED
