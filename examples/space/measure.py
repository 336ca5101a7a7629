"""How long Spot and the model take to find a witness: processor time, which other programs hardly change.

    symbinv data --output data/speed --num-symbols 5 --max-size 25 --rows 1000 --seed 123
    OMP_NUM_THREADS=1 python examples/space/measure.py data/speed

It needs the extra `data` besides those of the page. The formulas are drawn as those that the model was trained on, and
each has a witness. Spot is asked about all of them, the model with five beams about the first 200.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from answering import MODEL
from datasets import concatenate_datasets, load_dataset
from transformers import pipeline

from hf_symbinv import find_witness

QUESTIONS_TO_THE_MODEL = 200


def report(who: str, answer: Callable[[str], object], formulas: Sequence[str]) -> str:
    """The times within which half and nine in ten of the formulas are answered."""
    answer(formulas[0])  # what the first call costs once
    seconds = []
    for formula in formulas:
        start = time.process_time()
        answer(formula)
        seconds.append(time.process_time() - start)
    half, most = (1000 * sorted(seconds)[(len(seconds) * tenths - 1) // 10] for tenths in (5, 9))
    return f"{who}: {len(seconds):,} formulas, half of them within {half:.1f} ms, nine in ten within {most:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time Spot and the model on the formulas of a data set.")
    parser.add_argument("folder", help="a data set that `symbinv data` made")
    splits = load_dataset(parser.parse_args().folder)
    formulas = concatenate_datasets(list(splits.values()))["formula"][:]
    print(report("Spot", find_witness, formulas), flush=True)
    pipe = pipeline("ltl-witness", model=str(MODEL), device="cpu")

    def propose(formula: str) -> object:
        return pipe(formula, notation="prefix", num_beams=5, num_return_sequences=5)

    print(report("model", propose, formulas[:QUESTIONS_TO_THE_MODEL]))


if __name__ == "__main__":
    main()
