"""How long Spot and the model take to find a witness, in the processes that answer the page.

    symbinv data --output data/speed --num-symbols 5 --max-size 25 --rows 1000 --seed 123
    OMP_NUM_THREADS=1 python examples/space/measure.py data/speed

It needs the extra `data` besides those of the page. The formulas are drawn as those that the model was trained on, and
each has a witness. Spot is asked about all of them, the model with five beams about the first 200.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from answering import Answering
from datasets import concatenate_datasets, load_dataset

from hf_symbinv import find_witness, to_infix
from hf_symbinv.logic import parse_prefix
from hf_symbinv.solvers import ProcessPool

QUESTIONS_TO_THE_MODEL = 200


def report(who: str, seconds: Sequence[float]) -> str:
    """The times within which half and nine in ten were answered."""
    ordered = sorted(seconds)
    half, most = (1000 * ordered[(len(ordered) * tenths - 1) // 10] for tenths in (5, 9))
    return f"{who}: {len(ordered):,} formulas, half of them within {half:.1f} ms, nine in ten within {most:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time Spot and the model on the formulas of a data set.")
    parser.add_argument("folder", help="a data set that `symbinv data` made")
    splits = load_dataset(parser.parse_args().folder)
    formulas = concatenate_datasets(list(splits.values()))["formula"][:]
    with ProcessPool(find_witness, workers=1, timeout=60.0) as pool:
        list(pool.map(formulas[:1]))  # what the first call costs once
        print(report("Spot", [outcome.seconds for outcome in pool.map(formulas)]), flush=True)
    with Answering() as answering:
        texts = [to_infix(parse_prefix(one)) for one in formulas[:QUESTIONS_TO_THE_MODEL]]
        print(report("model", [answering.solve(text).model_seconds for text in texts]))


if __name__ == "__main__":
    main()
