"""`symbinv data`: the command of `hf_symbinv.datasets_scripts` under this name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

DESCRIPTION = """\
Make a data set of questions with answers: Parquet files and a card, which
`symbinv train --data`, `symbinv evaluate --data` and `datasets.load_dataset`
read. A run that was stopped goes on when it is repeated.

With access to the Hub, this reads the texts that the authors of "Interchangeable
Token Embeddings" published, FOLDER being one of their repository's:

  symbinv data --output data/published --from-text \\
      necrashter/interchangeable-token-embeddings-datasets/FOLDER

exit codes: 0 the data set is complete, 2 bad usage or input, 130 stopped
"""

EXAMPLE = """\
$ symbinv data --output data/tiny --num-symbols 3 --max-size 8 --rows 200
data/tiny: 160 train
data/tiny: 20 validation
data/tiny: 20 test
$ symbinv data --from data/tiny --output data/fewer --renamed --reduce 50
data/fewer: 50 train
data/fewer: 20 validation
data/fewer: 20 test
$ symbinv data --grid --task copy --min-symbols 3 --num-symbols 3 --max-size 8 --output data/grid
data/grid: 442 test
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv data`: those of the data sets' own command."""
    from hf_symbinv.datasets_scripts import command

    options = command.parser()
    options.formatter_class = argparse.RawDescriptionHelpFormatter
    options.description = DESCRIPTION
    options.epilog = f"example:\n{EXAMPLE}"
    return options


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    from hf_symbinv.datasets_scripts import command

    parser().parse_args(arguments)  # help in this command's words
    return command.main(arguments)
