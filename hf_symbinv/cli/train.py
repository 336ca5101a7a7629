"""`symbinv train`: a recipe in, a trained model out; `examples/train_ltl.py` does the same as a script."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_symbinv.cli import DONE, UNFINISHED
from hf_symbinv.cli.arguments import command_parser, minutes

if TYPE_CHECKING:
    from hf_symbinv.training import Recipe

DESCRIPTION = """\
Train a model by a recipe. The output folder gets the model, its tokenizer,
checkpoints and run.json. Started again with the same folder, a run goes on from
its last checkpoint. Prints the results as one JSON object.

With --max-minutes a run stops in time, after a step and with a checkpoint, and
goes on when the command is repeated, until it is done: in pieces of any length,
it ends with the weights of a run in one.

A run goes on for longer in its folder if trainer.max_steps is raised. From there
the learning rate is that of the schedule over all steps.

With start=FOLDER a run trains on a model that there is, such as one of `symbinv
convert` or a bundled one, start=ltl-small: its architecture stays, and the recipe
gives the rest. Of the model, only dropout and the like may be set, such as
model.dropout=0.2.

  symbinv train ltl-smoke --output runs/smoke
  symbinv train ltl-smoke --output runs/smoke trainer.max_steps=300
  symbinv train ltl-paper --output runs/paper --data data/ltl trainer.bf16=true
  accelerate launch --multi_gpu -m hf_symbinv.cli train ltl-paper --output runs/p
  symbinv convert runs/baseline --output runs/converted
  symbinv train ltl-paper --output runs/tuned start=runs/converted

exit codes: 0 the model is trained, 2 bad usage or input, 3 time was up: repeat
the command to go on
"""

EXAMPLE = """\
$ symbinv train --list
copy-paper
copy-small
copy-smoke
ltl-paper
ltl-small
ltl-smoke
prop-paper
prop-small
prop-smoke
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv train`."""
    command = command_parser("train", DESCRIPTION, EXAMPLE)
    command.add_argument("recipe", nargs="?", metavar="RECIPE", help="a recipe's name or YAML file")
    command.add_argument(
        "overrides", nargs="*", metavar="SECTION.KEY=VALUE", help="values that differ, such as trainer.max_steps=100"
    )
    command.add_argument("--output", help="folder for the model, its checkpoints and run.json")
    command.add_argument("--data", help="folder or repository with the data set; default: generated as the recipe says")
    command.add_argument(
        "--max-minutes",
        type=minutes,
        metavar="MINUTES",
        help="stop after the first step that ends later than this, counted from when the data are there",
    )
    command.add_argument("--list", action="store_true", help="list the recipes that come with the package")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_intermixed_args(arguments)

    from hf_symbinv.training import recipe_names  # torch only where it is needed

    if options.list:
        print("\n".join(recipe_names()))
        return DONE
    if options.recipe is None:
        command.error(f"no RECIPE: give a YAML file or one of {', '.join(recipe_names())}")
    if options.output is None:
        command.error("no --output: name a folder for the model")
    recipe = read_recipe(options.recipe, options.overrides)
    with contextlib.redirect_stdout(sys.stderr):  # where Trainer prints its log
        record, is_main = train_recipe(recipe, options.data, options.output, options.max_minutes)
    if not record["finished"]:
        if is_main:
            step, steps = record["step"], record["max_steps"]
            message = f"time is up after step {step:,} of {steps:,}; repeat the command to go on"
            print(f"symbinv train: {message}", file=sys.stderr)
        return UNFINISHED
    if is_main:
        print(json.dumps(record["results"], indent=2))
    return DONE


def read_recipe(name: str, texts: Sequence[str]) -> Recipe:
    """The recipe of this name or file with `SECTION.KEY=VALUE` in it.

    Raises:
        UserError: If there is none, or its model or trainer cannot be built, which is found before data are made.
    """
    from hf_symbinv.training import Recipe  # torch only where it is needed
    from hf_symbinv.training.recipe import overrides

    recipe = Recipe.load(name, overrides(texts))
    recipe.check()
    return recipe


def train_recipe(
    recipe: Recipe, data: str | None, output: str, max_seconds: float | None
) -> tuple[dict[str, Any], bool]:
    """What `train` returns, and whether this process is the one to print it."""
    from accelerate import PartialState

    from hf_symbinv.datasets_scripts.loading import load_data
    from hf_symbinv.training import train

    state = PartialState()
    record = train(recipe, load_data(recipe.task, recipe.data, data), output, max_seconds=max_seconds)
    return record, state.is_main_process
