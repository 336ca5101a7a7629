"""`symbinv plot`: what was measured, trained and answered, as pictures and tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import command_parser
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.grid import REMEDY, Grid, GridError, tables_csv
from hf_symbinv.files import read_json, require_writable, write_atomically
from hf_symbinv.logic import FormulaSyntaxError, read_trace
from hf_symbinv.plotting.figures import PICTURES, save_picture
from hf_symbinv.plotting.heatmap import draw_heatmaps
from hf_symbinv.plotting.timeline import Timeline, draw_timeline

TABLES = (".csv", ".md")

GRID = """\
  {"model": "tiny", "data": "ltl", "training_box": {"symbols": 2, "size": 4},
   "cells": [{"symbols": 1, "size": 3, "count": 40, "correct": 40},
             {"symbols": 2, "size": 3, "count": 40, "correct": 37},
             {"symbols": 2, "size": 5, "count": 20, "correct": 9}]}
"""

DESCRIPTION = f"""\
Draw a picture, legible in black and white too, and print its table.

  heatmap FILE...  how well models answer by number of symbols (up) and length
                   of the question (right), side by side. Light is good; cells
                   that are not filled have few samples; the dashed box is what
                   the model was trained on
  trace WITNESS    a witness as a timeline: which propositions hold in which
                   steps, and which steps repeat

A FILE of heatmap is what `symbinv evaluate --output` wrote, or it holds one
JSON object like this, or a list of them:

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
$ symbinv plot trace "request; !grant; cycle{grant; request | !grant}" --output trace.png
step     0  1  |  2  3
request  1  .  |  .  ?
grant    .  0  |  1  ?
1 true, 0 false, . either
steps 2 to 3 repeat for ever
? in step 3: request | !grant
"""


class Plot(NamedTuple):
    """What a kind of plot gives: its table, and how its pictures and files of tables are made."""

    table: str
    draw: Callable[[], Any]
    files: dict[str, Callable[[], str]]


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv plot`."""
    command = command_parser("plot", DESCRIPTION, EXAMPLE)
    add = command.add_argument
    add("kind", choices=KINDS, help="what to draw")
    add("inputs", nargs="+", metavar="INPUT", help="files or a witness, as described above")
    files = f"picture ({', '.join(PICTURES)}) or, of heatmaps, table ({', '.join(TABLES)}) to write; may be repeated"
    add("--output", action="append", type=Path, default=[], metavar="FILE", help=files)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    kinds = PICTURES + (TABLES if options.kind == "heatmap" else ())
    for path in options.output:
        if path.suffix not in kinds:
            command.error(f"--output {path}: unknown kind of file; end it in {', '.join(kinds)}")
        require_writable(path)
    plot = KINDS[options.kind](options.inputs)
    for path in options.output:
        if path.suffix in plot.files:
            write_atomically(path, plot.files[path.suffix]())
        else:
            save_picture(plot.draw(), path)
    print(plot.table)
    return DONE


def heatmap(inputs: Sequence[str]) -> Plot:
    """How well models answer by number of symbols and length, a grid for each."""
    grids = [grid for path in inputs for grid in read_grids(Path(path))]
    return Plot(
        "\n\n".join(grid.table() for grid in grids),
        lambda: draw_heatmaps(grids),
        {
            ".md": lambda: "\n\n".join(grid.table(markdown=True) for grid in grids) + "\n",
            ".csv": lambda: tables_csv(grids),
        },
    )


def trace(inputs: Sequence[str]) -> Plot:
    """Which propositions hold in which step of a witness."""
    if len(inputs) > 1:
        raise UserError(f"{len(inputs)} witnesses: give one, in quotes")
    try:
        timeline = Timeline.of(read_trace(inputs[0]))
    except FormulaSyntaxError as error:
        raise UserError(f"witness: {error}") from error
    return Plot(timeline.text(), lambda: draw_timeline(timeline), {})


KINDS = {"heatmap": heatmap, "trace": trace}


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
