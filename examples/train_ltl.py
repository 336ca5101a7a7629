"""Train a model by a recipe, such as a Symbol-Invariant Transformer that finds witnesses of LTL formulas.

    accelerate launch examples/train_ltl.py --recipe ltl-smoke --output runs/smoke
    accelerate launch --config_file examples/accelerate/cpu-2.yaml examples/train_ltl.py --recipe ltl-smoke \\
        --output runs/two trainer.use_cpu=true
    accelerate launch examples/train_ltl.py --recipe ltl-paper --output runs/paper --data data/ltl35

Questions are generated as the recipe says, unless --data names a folder that `symbinv data` wrote. Started again with
the same output folder, it goes on from the last checkpoint.
"""

import argparse
import json

from accelerate import PartialState

from hf_symbinv import Recipe, load_data, train
from hf_symbinv.errors import refusals
from hf_symbinv.training.recipe import overrides


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="ltl-smoke", help="a recipe's name or YAML file (default: %(default)s)")
    parser.add_argument("--output", required=True, help="folder for the model, its checkpoints and run.json")
    parser.add_argument("--data", help="folder or repository with the data set, instead of generating it")
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args()
    with refusals(parser):
        recipe = Recipe.load(args.recipe, overrides(args.override))
        recipe.check()
        record = train(recipe, load_data(recipe.task, recipe.data, args.data), args.output)
    if PartialState().is_main_process:
        print(json.dumps(record["results"], indent=2))


if __name__ == "__main__":
    main()
