"""What programs share that train one model: their command line, and what they say in the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hf_symbinv.errors import refusals
from hf_symbinv.files import path_here

Options = dict[str, dict[str, Any]]


def run_program(
    description: str, train: Callable[[argparse.Namespace], None], folder: str, options: Options | None = None
) -> None:
    """Runs `train` with the options of the command line, and ends with one sentence where it refuses them.

    Args:
        description: Of the help.
        train: What the program does.
        folder: Where `--output` leads if it is not given.
        options: Name of each other option → its arguments of `add_argument`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output",
        type=path_here,
        default=Path(folder),
        help="folder for data, the model and checkpoints (default: %(default)s)",
    )
    for name, arguments in (options or {}).items():
        parser.add_argument(name, **arguments)
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args()
    with refusals(parser):
        train(args)


def say_how_to_go_on(folder: Path, max_steps: int) -> None:
    """Says on stderr where the model is, and how to train it longer than `max_steps` steps."""
    sys.stdout.flush()
    print(
        f"the model is in {folder}; the same command with trainer.max_steps={2 * max_steps} trains it longer",
        file=sys.stderr,
    )
