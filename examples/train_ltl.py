"""Train a Symbol-Invariant Transformer to find witnesses of LTL formulas.

    accelerate launch examples/train_ltl.py --recipe ltl-smoke --output runs/smoke
    accelerate launch --multi_gpu --num_processes 2 examples/train_ltl.py --recipe ltl-smoke --output runs/two \\
        trainer.use_cpu=true
    accelerate launch examples/train_ltl.py --recipe ltl-paper --output runs/paper --data data/ltl35

Formulas are generated as the recipe says, unless --data names a folder that `symbinv data` wrote. Started again with
the same output folder, it goes on from the last checkpoint.
"""

import argparse
import json
from pathlib import Path

import yaml
from accelerate import PartialState
from datasets import load_dataset

from hf_symbinv import LtlRandom, Recipe, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="ltl-smoke", help="a recipe's name or YAML file (default: %(default)s)")
    parser.add_argument("--output", required=True, help="folder for the model, its checkpoints and run.json")
    parser.add_argument("--data", help="folder or repository with the data set, instead of generating it")
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args()
    overrides = dict(override.partition("=")[::2] for override in args.override)
    recipe = Recipe.load(args.recipe, {key: yaml.safe_load(value) for key, value in overrides.items()})
    if args.data and Path(args.data).is_dir():
        # By its files: the cache of `datasets` knows folders by their last name only and may return another one.
        data = load_dataset("parquet", data_dir=args.data)
    elif args.data:
        data = load_dataset(args.data)
    else:
        builder = LtlRandom(**recipe.data)
        with PartialState().main_process_first():
            builder.download_and_prepare()
        data = builder.as_dataset()
    record = train(recipe, data, args.output)
    if PartialState().is_main_process:
        print(json.dumps(record["results"], indent=2))


if __name__ == "__main__":
    main()
