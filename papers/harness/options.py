"""The command line of a builder whose options are the fields of a dataclass."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from hf_symbinv.files import path_here


def options_parser(module: str, description: str | None, defaults: Any, left: str) -> argparse.ArgumentParser:
    """An option for each field of a dataclass, and `--output`.

    Args:
        module: That `python -m` runs.
        description: What the help says first.
        defaults: An instance of the dataclass, whose values are the defaults.
        left: What the builder leaves in the folder.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, value in asdict(defaults).items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=type(value), default=value, help="(default: %(default)s)"
        )
    parser.add_argument("--output", type=path_here, required=True, metavar="FOLDER", help=f"for {left}")
    return parser
