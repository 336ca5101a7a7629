"""`symbinv plot`: what was measured, as pictures and tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import command_parser
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.grid import REMEDY, Grid, GridError, tables_csv
from hf_symbinv.files import path_here, read_json, require_writable, write_atomically
from hf_symbinv.plotting.figures import PICTURES, save_picture
from hf_symbinv.plotting.heatmap import draw_heatmaps

TABLE = ".csv"

GRID = """\
  {"model": "tiny", "data": "ltl", "training_box": {"symbols": 2, "size": 4},
   "cells": [{"symbols": 1, "size": 3, "count": 40, "correct": 40},
             {"symbols": 2, "size": 3, "count": 40, "correct": 37},
             {"symbols": 2, "size": 5, "count": 20, "correct": 9}]}
"""

DESCRIPTION = f"""\
Draw a heat map, legible in black and white too, and print its table: how well
models answer by number of symbols (up) and length of the question (right), side
by side. Light is good; cells that are not filled have few samples; the dashed box
is what the model was trained on.

A FILE is what `symbinv evaluate --output` wrote, or it holds one JSON object
like this, or a list of them:

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
1        100  -   -  100
2         92  -  45   77
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv plot`."""
    command = command_parser("plot", DESCRIPTION, EXAMPLE)
    add = command.add_argument
    add("kind", choices=("heatmap",), help="what to draw")
    add("inputs", nargs="+", type=path_here, metavar="FILE", help="files, as described above")
    files = f"picture ({', '.join(PICTURES)}) or table ({TABLE}) to write; may be repeated"
    add("--output", action="append", type=path_here, default=[], metavar="FILE", help=files)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    kinds = (*PICTURES, TABLE)
    for path in options.output:
        if path.suffix not in kinds:
            command.error(f"--output {path}: unknown kind of file; end it in {', '.join(kinds)}")
        require_writable(path)
    grids = [grid for path in options.inputs for grid in read_grids(path)]
    for path in options.output:
        if path.suffix == TABLE:
            write_atomically(path, tables_csv(grids))
        else:
            save_picture(draw_heatmaps(grids), path)
    print("\n\n".join(grid.table() for grid in grids))
    return DONE


def read_grids(path: Path) -> list[Grid]:
    """The grids in a JSON file.

    Raises:
        UserError: If it holds something else.
        OSError: If it cannot be read.
    """
    content = read_json(path, REMEDY)
    if isinstance(content, dict) and "grid" in content:
        content = content["grid"]  # of an evaluation
    if content == []:
        raise UserError(f"{path}: has no grid; {REMEDY}")
    try:
        return [Grid.from_dict(grid) for grid in (content if isinstance(content, list) else [content])]
    except GridError as error:
        raise UserError(f"{path}: {error}") from error
