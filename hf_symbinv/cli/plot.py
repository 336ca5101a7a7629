"""`symbinv plot`: what evaluations wrote, as pictures and tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import command_parser
from hf_symbinv.cli.failures import InputError
from hf_symbinv.evaluation.heatmap import PICTURES, Grid, GridError, save_heatmaps

TABLES = (".csv", ".md")

GRID = """\
  {"model": "tiny", "data": "ltl", "training_box": {"symbols": 2, "size": 4},
   "cells": [{"symbols": 1, "size": 3, "count": 40, "correct": 40},
             {"symbols": 2, "size": 3, "count": 40, "correct": 37},
             {"symbols": 2, "size": 5, "count": 20, "correct": 9}]}
"""

DESCRIPTION = f"""\
Show how well models answer by number of symbols (up) and length of the question
(right): one heatmap for each FILE, side by side. Light is good, also in black
and white; small squares have few samples; the dashed box is what the model was
trained on. The tables go to stdout. A FILE is what `symbinv evaluate --output`
wrote, or it holds one JSON object like this, or a list of them:

{GRID}
With "metric": "edit_distance" cells have "total_distance" instead of "correct".
With "questions": "string" k symbols take k tokens; in a formula they take 2k-1;
with "question" any cell is possible.

exit codes: 0 all is written, 2 bad usage or input
"""

EXAMPLE = """\
$ symbinv plot heatmap grid.json --output grid.png --output grid.csv
tiny on ltl: correct answers in % by number of symbols and formula length
all 86.0 % (77.9 - 91.5) of 100; in training box 96.2 % (89.5 - 98.7) of 80; outside 45.0 % (25.8 - 65.8) of 20
symbols    3  4   5  all
      1  100  -   -  100
      2   92  -  45   77
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv plot`."""
    command = command_parser("plot", DESCRIPTION, EXAMPLE)
    command.add_argument("kind", choices=["heatmap"], help="what to draw")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help="grids, as described above")
    command.add_argument(
        "--output",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help=f"write this file, a picture ({', '.join(PICTURES)}) or the table ({', '.join(TABLES)}); may be repeated",
    )
    command.add_argument(
        "--lowest",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="accuracy at the dark end of the colours (default: %(default)g)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object with the means instead")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    for path in options.output:
        if path.suffix not in PICTURES + TABLES:
            command.error(f"--output {path}: unknown kind of file; end it in {', '.join(PICTURES + TABLES)}")
    grids = [grid for path in options.files for grid in read_grids(path)]
    try:
        for path in options.output:
            write(grids, path, options.lowest)
    except GridError as error:
        raise InputError(str(error)) from error
    if options.json:
        print(json.dumps({"heatmaps": [summary(grid) for grid in grids], "files": list(map(str, options.output))}))
    else:
        print("\n\n".join(grid.table() for grid in grids))
    return DONE


def read_grids(path: Path) -> list[Grid]:
    """The grids in a JSON file.

    Raises:
        InputError: If it holds something else.
        OSError: If it cannot be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); give a file that `symbinv evaluate --output` wrote") from error
    if isinstance(content, dict) and "grid" in content:
        content = content["grid"]  # of an evaluation
    try:
        return [Grid.from_dict(grid) for grid in (content if isinstance(content, list) else [content])]
    except GridError as error:
        raise InputError(f"{path}: {error}") from error


def write(grids: Sequence[Grid], path: Path, lowest: float) -> None:
    """Write the picture or the table that the suffix of `path` stands for."""
    if path.suffix in PICTURES:
        save_heatmaps(grids, path, lowest=lowest)
    elif path.suffix == ".md":
        path.write_text("\n\n".join(grid.table(markdown=True) for grid in grids) + "\n", encoding="utf-8")
    else:
        head, *_ = grids[0].csv().splitlines(keepends=True)
        rows = [line for grid in grids for line in grid.csv().splitlines(keepends=True)[1:]]
        path.write_text(head + "".join(rows), encoding="utf-8")


def summary(grid: Grid) -> dict[str, object]:
    """The means of a grid, over all samples and inside and outside the training box."""
    means = {"all": grid.mean()}
    if grid.training_box is not None:
        means |= {"inside": grid.mean(inside=True), "outside": grid.mean(inside=False)}
    fields = {
        name: {key: value if value == value else None for key, value in asdict(mean).items()}
        for name, mean in means.items()
    }
    return {"model": grid.model, "data": grid.data, "metric": grid.metric, **fields}
