"""Train a model by a recipe: without a word more, a Symbol-Invariant Transformer that finds witnesses of LTL formulas.

    accelerate launch examples/train_ltl.py
    accelerate launch examples/train_ltl.py trainer.max_steps=3000
    accelerate launch --config_file examples/accelerate/cpu-2.yaml examples/train_ltl.py --output runs/two
    accelerate launch examples/train_ltl.py --recipe ltl-paper --output runs/paper --data data/ltl35

The first takes some minutes on one CPU core, and the second trains its model for longer. Questions are drawn as the
recipe says, unless --data names a folder that `symbinv data` wrote. Started again with the same output folder, a run
goes on from its last checkpoint. With `accelerate launch --quiet`, a program that cannot use what it was given ends
with its own sentence, and without a traceback of accelerate's.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from accelerate import PartialState

from hf_symbinv import Recipe, load_data, train
from hf_symbinv.errors import refusals
from hf_symbinv.plotting import save_learning_curve
from hf_symbinv.training import closing_words, interruptible, overrides


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default=str(Path(__file__).with_suffix(".yaml")),
                        help="a recipe's name or YAML file (default: train_ltl.yaml beside this program)")  # fmt: skip
    parser.add_argument("--output", default="runs/ltl", help="folder for the model, its checkpoints and run.json "
                        "(default: %(default)s)")  # fmt: skip
    parser.add_argument("--data", help="folder or repository with the data set, instead of drawing it")
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args(arguments)
    with refusals(parser), interruptible(Path(args.output)):
        recipe = Recipe.load(args.recipe, overrides(args.override))
        recipe.check()
        record = train(recipe, load_data(recipe.task, recipe.data, args.data), args.output)
    if PartialState().is_main_process:
        result, further = closing_words(record, args.output)
        print(result, flush=True)
        print(further, save_learning_curve(record, args.output), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
