"""Formulas with an exact number of symbols and a short witness each, as a text that `symbinv data --from-text` reads.

Random formulas of many symbols are long, and Spot takes seconds for many of them. Here a formula of any size gets any
number of symbols, and a SAT solver finds its witness, both as in `symbols-curve`:

    python -m papers.streams.many_symbols test.txt --symbols 2 5 10 20 --nodes 46 60 --each 200
    symbinv data --from-text test.txt --task ltl --output data/many
    symbinv evaluate ltl-base --data data/many --split train --rows 800
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

from hf_symbinv.files import write_atomically
from hf_symbinv.tasks import LTL
from papers.streams.curve import SEED, drawn


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the text, question and answer in turns, in the order of the numbers of symbols."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the text")
    parser.add_argument("--symbols", type=int, nargs="+", required=True, help="numbers of symbols")
    parser.add_argument("--nodes", type=int, nargs=2, required=True, help="of the smallest and largest formula")
    parser.add_argument("--each", type=int, required=True, help="formulas for each number of symbols")
    parser.add_argument("--seed", default=str(SEED), help="of everything random (default: that of symbols-curve)")
    arguments = parser.parse_args(argv)
    most, (smallest, largest) = max(arguments.symbols), arguments.nodes
    if most > (leaves := (largest + 1) // 2):
        parser.error(f"--symbols {most}: a formula of {largest} nodes has {leaves} leaves at most; raise --nodes")
    found = (drawn(LTL, symbols, smallest, largest, arguments.each, arguments.seed) for symbols in arguments.symbols)
    lines = itertools.chain.from_iterable(rows.items() for rows in found)
    write_atomically(arguments.output, "".join(f"{''.join(q.split())}\n{''.join(a.split())}\n" for q, a in lines))


if __name__ == "__main__":
    main()
