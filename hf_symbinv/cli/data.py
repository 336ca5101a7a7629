"""`symbinv data`: the command of `hf_symbinv.datasets_scripts.ltl_random` under this name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hf_symbinv.cli import BAD_INPUT

DESCRIPTION = """\
Make a data set of random LTL formulas with witnesses: Parquet files and a card,
which `symbinv train --data`, `symbinv evaluate --data` and
`datasets.load_dataset` read. A run that was stopped goes on when it is repeated.

exit codes: 0 the data set is complete, 2 bad usage or input, 130 stopped
"""

EXAMPLE = """\
$ symbinv data --output data/tiny --num-aps 3 --max-size 8 --rows 200
data/tiny: 160 train
data/tiny: 20 validation
data/tiny: 20 test
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv data`: those of the data set's own command."""
    from hf_symbinv.datasets_scripts import ltl_random

    command = ltl_random.parser()
    command.prog = "symbinv data"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description = DESCRIPTION
    command.epilog = f"example:\n{EXAMPLE}"
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    from hf_symbinv.datasets_scripts import ltl_random

    parser().parse_args(arguments)  # help and usage errors under this command's name
    code = ltl_random.main(arguments)
    return BAD_INPUT if code == 1 else code
