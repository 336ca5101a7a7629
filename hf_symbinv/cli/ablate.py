"""`symbinv ablate`: one recipe with several component sets, each trained with several seeds, as one table."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_symbinv.cli import DONE, UNFINISHED
from hf_symbinv.cli.arguments import add_executor, at_least, command_parser, minutes
from hf_symbinv.cli.train import read_recipe, train_recipe
from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.remote import path_here
from hf_symbinv.solvers import run_jobs

if TYPE_CHECKING:
    from hf_symbinv.training import Recipe

DESCRIPTION = """\
Train the model of a recipe once for each component set and seed, and print how
many test answers are correct, over all seeds together, with the 95 % interval
(Wilson). Each run is a folder of OUTPUT; runs that are there are used, so a
command that was stopped goes on when it is repeated. With --executor the runs are
trained on the machines of a Ray cluster, all of which must have OUTPUT and the
data under the same path; one that a machine began and did not finish goes on
elsewhere from its last checkpoint.

Components: E, D, C for encoder, decoder, cross-attention; P per stream, A
aggregated, such as EP-DP-EA-CP. From a checkout of the repository
`python -m papers sit-6` compares the papers' own sets.

exit codes: 0 the table is complete, 2 bad usage or input, 3 the time was too
short: repeat the command to go on
"""

EXAMPLE = """\
$ symbinv ablate prop-smoke EP-DP-EA-DA-CP EP-DP-CP --output runs/ablation trainer.max_steps=20
components      parameters  seeds  correct   95 % interval  of
EP-DP-EA-DA-CP      60,288      1   22.0 %   15.0 - 31.1 %  100
EP-DP-CP            43,136      1   25.0 %   17.5 - 34.3 %  100
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv ablate`."""
    command = command_parser("ablate", DESCRIPTION, EXAMPLE)
    command.add_argument("recipe", metavar="RECIPE", help="a recipe's name or YAML file")
    command.add_argument(
        "words",
        nargs="+",
        metavar="COMPONENTS",
        help="component sets, and SECTION.KEY=VALUE that differ from the recipe",
    )
    command.add_argument("--output", type=path_here, required=True, help="folder for the runs")
    command.add_argument("--data", help="folder or repository with the data set; default: generated as the recipe says")
    command.add_argument(
        "--seeds", type=at_least(1), default=1, metavar="N", help="trainings of each set (default: %(default)s)"
    )
    command.add_argument(
        "--max-minutes", type=minutes, metavar="MINUTES", help="stop after this time, go on another time"
    )
    add_executor(command, "train")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_intermixed_args(arguments)

    sets = [word.split("-") for word in options.words if "=" not in word]
    if not sets:
        command.error("no COMPONENTS: give some sets, such as EP-DP-EA-CP EP-DP-CP")
    recipe = read_recipe(options.recipe, [word for word in options.words if "=" in word])
    recipes = {"-".join(each): replace(recipe, model={**recipe.model, "components": each}) for each in sets}
    for each in recipes.values():
        each.check()
    deadline = None if options.max_minutes is None else time.time() + options.max_minutes
    folders = {name: [options.output / f"{name}-seed{seed}" for seed in range(options.seeds)] for name in recipes}
    jobs = [
        partial(_train, replace(each, trainer={**each.trainer, "seed": seed}), options.data, folder, deadline)
        for name, each in recipes.items()
        for seed, folder in enumerate(folders[name])
    ]
    say = partial(print, "symbinv ablate:", file=sys.stderr, flush=True)
    found = iter(run_jobs(jobs, options.executor, say))

    from accelerate import PartialState  # torch only where it is needed

    is_main, rows = PartialState().is_main_process, []
    for name, its in folders.items():
        records = [record for record in islice(found, options.seeds) if record is not None]
        if len(records) < options.seeds:
            if is_main:
                print(f"symbinv ablate: time is up; repeat the command to go on with {name}", file=sys.stderr)
            return UNFINISHED
        rows.append(_row(name, its[-1], records))
    if is_main:
        print(json.dumps(rows) if options.json else _table(rows))
    return DONE


def _train(recipe: Recipe, data: str | None, folder: Path, deadline: float | None) -> dict[str, Any] | None:
    """The record of a run; None if it is not finished by the deadline, in seconds since 1970."""
    left = None if deadline is None else deadline - time.time()
    if left is not None and left <= 0:
        return None
    with contextlib.redirect_stdout(sys.stderr):  # where Trainer prints its log
        record, _ = train_recipe(recipe, data, folder, left)
    return record if record["finished"] else None


def _row(name: str, folder: Path, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was measured of one component set, one of whose models lies in `folder`."""
    import torch

    from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
    from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration

    with torch.device("meta"):
        config = SymbolInvariantConfig.from_pretrained(folder)
        parameters = SymbolInvariantForConditionalGeneration(config).num_parameters()
    results = [record["results"] for record in records]
    count = sum(result["test_count"] for result in results)
    correct = sum(round(result["test_accuracy"] * result["test_count"]) for result in results)
    return {
        "components": name, "parameters": parameters, "seeds": len(records),
        "correct": correct, "count": count, "interval": list(wilson_interval(correct, count)),
    }  # fmt: skip


def _table(rows: Sequence[dict[str, Any]]) -> str:
    width = max(len("components"), *(len(row["components"]) for row in rows))
    lines = [f"{'components':{width}}  parameters  seeds  correct   95 % interval  of"]
    for row in rows:
        low, high = (100 * end for end in row["interval"])
        lines.append(
            f"{row['components']:{width}}  {row['parameters']:>10,}  {row['seeds']:>5}"
            f"  {100 * row['correct'] / row['count']:>5.1f} %  {f'{low:.1f} - {high:.1f}':>12} %  {row['count']:,}"
        )
    return "\n".join(lines)
