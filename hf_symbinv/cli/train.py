"""`symbinv train`: a recipe in, a trained model out; `examples/train_ltl.py` does the same as a script."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_symbinv.cli import DONE, UNFINISHED
from hf_symbinv.cli.arguments import command_parser, minutes
from hf_symbinv.errors import UserError
from hf_symbinv.files import path_here
from hf_symbinv.tasks import PAIRS

if TYPE_CHECKING:
    from hf_symbinv.training import Recipe

PAIRS_RECIPE = "pairs-small"

DESCRIPTION = """\
Train a model by a recipe. The output folder gets the model, its tokenizer,
checkpoints and run.json. Started again with the same folder, a run goes on from
its last checkpoint, for longer if trainer.max_steps is raised, and after
--max-minutes. Prints the results as one JSON object.

With start=FOLDER a run trains on a model that there is, such as one of `symbinv
convert` or a bundled one, start=ltl-small.

With --pairs a model learns from your own pairs of texts: a file (.jsonl, .json,
.csv, .tsv or .parquet), a folder of files or OWNER/NAME on the Hub, and with
--symbols a regular expression that says what a symbol is. Questions are split so
that no renaming of a training question is in validation or test.

  symbinv train --pairs pairs.jsonl --symbols '[a-z_]\\w*' --output runs/own
  symbinv train ltl-smoke --output runs/smoke
  symbinv train ltl-smoke --output runs/smoke trainer.max_steps=300
  symbinv train ltl-paper --output runs/paper --data data/ltl trainer.bf16=true
  symbinv train ltl-paper --output runs/tuned start=runs/converted
  accelerate launch --multi_gpu -m hf_symbinv.cli train ltl-paper --output runs/p

exit codes: 0 the model is trained, 2 bad usage or input, 3 time was up: repeat
the command to go on
"""

EXAMPLE = """\
$ symbinv train --list
copy-paper
copy-small
copy-smoke
ltl-base
ltl-canonical
ltl-fast
ltl-paper
ltl-small
ltl-smoke
pairs-small
prop-base
prop-canonical
prop-paper
prop-small
prop-smoke
tseitin-small
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv train`."""
    command = command_parser("train", DESCRIPTION, EXAMPLE)
    add = command.add_argument
    add("recipe", nargs="?", metavar="RECIPE", help="a recipe's name or YAML file")
    add("overrides", nargs="*", metavar="SECTION.KEY=VALUE", help="other values, such as trainer.max_steps=100")
    add("--output", type=path_here, help="folder for the model, its checkpoints and run.json")
    data = "the data set: a folder, or OWNER/NAME or OWNER/NAME/CONFIG on the Hub (default: the recipe's)"
    add("--data", help=data)
    stop = "stop after the first step that ends later than this, counted from when the data are there"
    add("--max-minutes", type=minutes, metavar="MINUTES", help=stop)
    add("--list", action="store_true", help="list the recipes that come with the package")
    add = command.add_argument_group("your own pairs of texts").add_argument
    add("--pairs", metavar="DATA", help="a file, a folder of files, or OWNER/NAME on the Hub")
    add("--symbols", metavar="REGEX", help="what a symbol is, such as '[a-z_]\\w*'")
    for name in ("question", "answer"):
        add(f"--{name}-column", metavar="NAME", help=f"the column of {name}s (default: found by its name)")
    fixed = "words that match --symbols and have a fixed meaning, with commas between them, or a file of them"
    add("--base-words", metavar="WORDS", help=fixed)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_intermixed_args(arguments)
    if options.pairs and os.environ.get("RANK", "0") == "0":
        print(f"symbinv train: reading {options.pairs}", file=sys.stderr, flush=True)

    from hf_symbinv.training import recipe_names  # torch only where it is needed

    if options.list:
        print("\n".join(recipe_names()))
        return DONE
    texts, own = list(options.overrides), _pairs_options(options)
    if own and options.recipe is not None and "=" in options.recipe:  # no recipe is named, and the first text is none
        texts, options.recipe = [options.recipe, *texts], None
    if own and options.recipe is None:
        options.recipe = PAIRS_RECIPE
    if options.recipe is None:
        command.error(f"no RECIPE: give a YAML file or one of {', '.join(recipe_names())}")
    if options.output is None:
        command.error("no --output: name a folder for the model")
    recipe = read_recipe(options.recipe, texts, own)

    from hf_symbinv.training import closing_words, interruptible

    # Trainer prints its log on standard output.
    with contextlib.redirect_stdout(sys.stderr), interruptible(options.output):
        record, is_main = train_recipe(recipe, options.data, options.output, options.max_minutes)
        if record["finished"] and recipe.task == PAIRS and is_main:
            from hf_symbinv.evaluation.own_pairs import measure_pairs

            record["results"] |= measure_pairs(options.output)
    if not record["finished"]:
        if is_main:
            step, steps = record["step"], record["max_steps"]
            message = f"time is up after step {step:,} of {steps:,}; repeat the command to go on"
            print(f"symbinv train: {message}", file=sys.stderr)
        return UNFINISHED
    if is_main:
        print(json.dumps(record["results"], indent=2), flush=True)
        from hf_symbinv.plotting import save_learning_curve

        print(
            *closing_words(record, options.output),
            save_learning_curve(record, options.output),
            sep="\n",
            file=sys.stderr,
        )
    return DONE


def _pairs_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options on a user's own pairs, under their names in a recipe."""
    names = ("pairs", "symbols", "question_column", "answer_column", "base_words")
    return {f"data.{name}": getattr(options, name) for name in names if getattr(options, name)}


def read_recipe(name: str, texts: Sequence[str], own: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of this name or file with `SECTION.KEY=VALUE` in it, and with `own`, values by dotted key.

    Raises:
        UserError: If there is none, or its model or trainer cannot be built, which is found before data are made.
    """
    from hf_symbinv.training import Recipe  # torch only where it is needed
    from hf_symbinv.training.recipe import overrides

    recipe = Recipe.load(name, {**overrides(texts), **(own or {})})
    if own and recipe.task != PAIRS:
        given = " and ".join(f"--{key.removeprefix('data.').replace('_', '-')}" for key in own)
        raise UserError(f"{given}: recipe {name} is of task {recipe.task}; leave it out, or name one of task pairs")
    recipe.check()
    return recipe


def train_recipe(
    recipe: Recipe, data: str | None, output: Path, max_seconds: float | None
) -> tuple[dict[str, Any], bool]:
    """What `train` returns, and whether this process is the one to print it."""
    from accelerate import PartialState

    from hf_symbinv.datasets_scripts.loading import load_data
    from hf_symbinv.training import train

    state = PartialState()
    loaded = load_data(recipe.task, recipe.data, data)
    if state.is_main_process:
        for line in loaded.said:
            print(f"symbinv train: {line}", file=sys.stderr)
    record = train(recipe, loaded, output, max_seconds=max_seconds)
    return record, state.is_main_process
