"""The command `symbinv`. Each command is one module of this package, imported when it is asked for.

A command's module has `main(arguments) -> exit code`. Exit codes: 0 the work is done, 1 it is done but an answer is not
verified, 2 bad usage or input, 3 the work goes on when the command is repeated, 130 interrupted, 141 the reader of the
output went away.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from hf_symbinv import __version__
from hf_symbinv.errors import NO_READER, drop_output, exits_refused, explain, nearest

COMMANDS = {
    "solve": "answer questions, such as formulas, and check or prove the answers",
    "verify": "check answers, certificates and recorded traces",
    "task": "start a task of your own, and check that it keeps the laws of tasks",
    "data": "make a data set of questions with answers",
    "train": "train a model by a recipe",
    "evaluate": "measure a model on a data set",
    "invariance": "rename the symbols of texts, and count the answers of any model that change",
    "plot": "draw heat maps, and print their tables",
    "card": "write a model's card from what was recorded of it",
    "convert": "make a model with streams of a vanilla one, or read an earlier release",
    "push": "bring a model, data or a Space to the Hub",
}
DONE, NOT_VERIFIED, BAD_INPUT, UNFINISHED, INTERRUPTED = 0, 1, 2, 3, 130

EXAMPLE = """\
$ symbinv solve "G(request -> F grant)"
G(request -> F grant)
  witness  cycle{!request}
  verdict  correct
"""


def parser() -> argparse.ArgumentParser:
    """Options of `symbinv` itself, and its help."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name.ljust(width)}  {summary}" for name, summary in COMMANDS.items())
    top = argparse.ArgumentParser(
        prog="symbinv",
        usage="symbinv COMMAND ...",
        description="Answer questions of logic with models that do not care how symbols are named.",
        epilog=f"commands:\n{commands}\n\n`symbinv COMMAND --help` explains a command.\n\nexample:\n{EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"hf_symbinv {__version__}")
    top.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `symbinv` with `arguments`, those of the process by default; the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments:
        parser().print_help(sys.stderr)
        return BAD_INPUT
    if arguments[0] not in COMMANDS:
        if near := nearest(arguments[0], COMMANDS):
            parser().error(f"{arguments[0]!r}: no command; did you mean {near}?")
        parser().parse_args(arguments)
    name = arguments[0]
    if not sys.stderr.isatty():  # tqdm, which draws the bars of all libraries, reads this when it is imported
        os.environ.setdefault("TQDM_DISABLE", "1")
    # An answer may hold a name that the terminal cannot show; a file may hold text that is none.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with exits_refused():
            code: int = importlib.import_module(f"{__name__}.{name}").main(arguments[1:])
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        return _fail(name, str(stop) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        drop_output()
        return NO_READER
    except Exception as error:
        if (message := explain(error)) is None:
            raise
        return _fail(name, message, BAD_INPUT)


def _fail(name: str, message: str, code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
    line = f"symbinv {name}: {message}"
    if (bars := sys.modules.get("tqdm")) is None:
        print(line, file=sys.stderr)
    else:  # on a line of its own, where a progress bar has been drawn
        bars.tqdm.write(line, file=sys.stderr)
    return code
