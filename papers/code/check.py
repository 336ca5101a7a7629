"""`python -m papers.code.check`: Python files in, variables that look misused out."""

from __future__ import annotations

import argparse
import json
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformers.utils import logging

from hf_symbinv.datasets_scripts.errors import BAD_INPUT, refuse
from papers.code.finding import BUNDLED, Finder, Suspicion
from papers.code.functions import Function, Reason, read_functions

DONE, SUSPECTED = 0, 1
# Functions that are read before a model sees them.
AT_ONCE = 2000

DESCRIPTION = """\
Look for variables that were mistaken for others in Python files. A model reads
each function without the names of its variables, so a renaming changes nothing
of what it says. It is a suspicion, and no proof.

A line is printed for each function whose suspicion is at least as probable as
the threshold. The threshold of the model was measured on functions of which
half had such a bug put in; real code has far fewer, so that more of what is
shown is wrong. Functions that are left out, such as those that call locals() or
have more variables than the model knows, are counted on the last line.

With --json each suspicion gives one object on a line.

exit codes: 0 nothing is suspected, 1 something is, 2 bad usage or a file that
cannot be read
"""

EXAMPLE = """\
$ python -m papers.code.check --threshold 0.5 distance.py
distance.py:3:15: 'x1' looks like a misuse of 'y1' (0.81)
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    command = argparse.ArgumentParser(
        prog="python -m papers.code.check",
        description=DESCRIPTION,
        epilog=f"example:\n{EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("file", nargs="+", type=Path, help="a Python file, or a folder with such files")
    command.add_argument(
        "--model", help="a folder that papers.code.train_finder wrote (default: finder beside this file)"
    )
    command.add_argument("--threshold", type=share, help="show suspicions from here on (default: what the model says)")
    command.add_argument("--json", action="store_true", help="print one JSON object per suspicion and line")
    return command


def share(text: str) -> float:
    """The type of an option that is a probability."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number from 0 to 1")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    for path in options.file:
        if not path.exists():
            command.error(f"{path}: there is no such file")
    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    try:
        finder = Finder.from_pretrained(options.model or BUNDLED)
    except Exception as error:
        return refuse(error)
    return Check(finder, finder.threshold if options.threshold is None else options.threshold, options.json).run(
        files_of(options.file)
    )


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """The files that are named, and those with the ending .py in the folders that are, each once."""
    seen = set[Path]()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.is_file() and file not in seen:
                seen.add(file)
                yield file


class Check:
    """One run of the command.

    Args:
        finder: The model.
        threshold: Of what is printed.
        is_json: Whether it is printed as JSON.
    """

    def __init__(self, finder: Finder, threshold: float, is_json: bool) -> None:
        self.finder, self.threshold, self.is_json = finder, threshold, is_json
        self.files = self.functions = self.left_out = self.shown = self.unread = 0

    def run(self, files: Iterator[Path]) -> int:
        """Prints what is found in files; the exit code."""
        waiting: list[Function] = []
        for path in files:
            waiting += self._read(path)
            if len(waiting) >= AT_ONCE:
                self._print(waiting)
                waiting = []
        self._print(waiting)
        print(
            f"files: {self.files:,}, functions: {self.functions:,}, left out: {self.left_out:,}, "
            f"suspected: {self.shown:,}",
            file=sys.stderr,
        )
        return BAD_INPUT if self.unread else SUSPECTED if self.shown else DONE

    def _read(self, path: Path) -> list[Function]:
        self.files += 1
        try:
            with tokenize.open(path) as opened:  # in the file's own encoding
                source = opened.read()
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            self._refuse(f"{path}: {error}")
            return []
        functions, skipped = read_functions(source, str(path))
        for one in skipped:
            if one.reason is Reason.NO_PYTHON:
                self._refuse(f"{path}:{one.line}: {one.reason}")
        able = [one for one in functions if len(one.variables) <= self.finder.most_variables]
        self.functions += len(able)
        self.left_out += len(skipped) + len(functions) - len(able)
        return able

    def _refuse(self, message: str) -> None:
        self.unread += 1
        print(f"error: {message}", file=sys.stderr)

    def _print(self, functions: Sequence[Function]) -> None:
        for function, found in zip(functions, self.finder.suspicions(functions), strict=True):
            if found is not None and found.probability >= self.threshold:
                self.shown += 1
                said = described(function, found)
                print(
                    json.dumps(said)
                    if self.is_json
                    else f"{said['file']}:{said['line']}:{said['column']}: {said['name']!r} looks like a misuse of "
                    f"{said['instead']!r} ({found.probability:.2f})"
                )
        sys.stdout.flush()


def described(function: Function, found: Suspicion) -> dict[str, Any]:
    """A suspicion as JSON has it."""
    symbol = function.symbols[found.symbol]
    line, column = function.position(symbol.start)
    return {
        "file": function.file, "line": line, "column": column, "function": function.name,
        "name": function.variables[symbol.variable], "instead": function.variables[found.variable],
        "probability": found.probability,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
