"""Argument parsers in this command's style, types of options, and options that several commands share."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

from hf_symbinv.errors import OptionsParser
from hf_symbinv.solvers.pool import MEMORY
from hf_symbinv.tasks import TASKS

DEFAULT_TASK = "ltl"
TIMEOUT = 10.0
# Questions that are read before the first of them are answered by a model.
AT_ONCE = 100


def command_parser(name: str, description: str, example: str) -> argparse.ArgumentParser:
    """A parser for `symbinv NAME`, whose help ends with an example and its real output."""
    return OptionsParser(
        prog=f"symbinv {name}",
        description=description,
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def at_least(minimum: int) -> Callable[[str], int]:
    """The type of an option that is an integer of at least `minimum`."""

    def integer(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else minimum - 1
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{text!r}: must be an integer of at least {minimum}")
        return value

    return integer


def _positive(unit: str, factor: float = 1) -> Callable[[str], float]:
    """The type of an option that is a positive, finite number of a unit; its value is multiplied by `factor`."""

    def number(text: str) -> float:
        is_number = re.fullmatch(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", text)
        value = float(text) if is_number else 0.0
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text!r}: must be a positive number of {unit}")
        return factor * value

    return number


seconds, gigabytes = _positive("seconds"), _positive("gigabytes")
# Minutes become seconds.
minutes = _positive("minutes", 60)


def add_task(parser: argparse.ArgumentParser, default: str) -> None:
    """The option that says which task it is about; `default` says what holds without it."""
    known = ", ".join(TASKS)
    parser.add_argument("--task", metavar="NAME", help=f"{known}, or FILE.py that defines one (default: {default})")


def add_decoding(parser: argparse.ArgumentParser) -> None:
    """Options on how a model decodes and how its answers are checked."""
    group = parser.add_argument_group("decoding and checking")
    add, count = group.add_argument, at_least(1)
    add("--beams", type=count, metavar="N", help="beams (default: 3, or as many as --n-best)")
    best = (
        "check the N best candidates: `solve` takes the first that is verified, `evaluate` reports best of N (default: "
        "%(default)s)"
    )
    add("--n-best", type=count, default=1, metavar="N", help=best)
    longest = "length of an answer at most, 4 or more (default: the model's, 100 for most)"
    add("--max-new-tokens", type=at_least(4), metavar="N", help=longest)
    seed = "for a model with random embeddings: seed of those of this run"
    add("--embedding-seed", type=at_least(0), metavar="N", help=seed)
    add("--device", help="such as cpu or cuda:1 (default: the first GPU, else the CPU)")
    add_timeout(group)


def add_timeout(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Adds `--timeout` and `--memory`, the limits at which the check of an answer is stopped."""
    add = parser.add_argument
    limit = "limit for checking one answer, and for each solver (default: %(default)g)"
    add("--timeout", type=seconds, default=TIMEOUT, metavar="SECONDS", help=limit)
    memory = "memory that checking one answer, or a solver, may take (default: %(default)g)"
    add("--memory", type=gigabytes, default=MEMORY, metavar="GB", help=memory)


def generation(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, int]:
    """Arguments of `generate`; ends the command if they contradict each other."""
    beams = max(3, options.n_best) if options.beams is None else options.beams
    if options.n_best > beams:
        parser.error(f"--n-best {options.n_best}: more candidates than beams; use --beams {options.n_best} or more")
    longest = {} if options.max_new_tokens is None else {"max_new_tokens": options.max_new_tokens}
    return {"num_beams": beams, **longest}
