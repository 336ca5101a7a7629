"""`symbinv card`: the card of a model, written from what lies beside it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import command_parser
from hf_symbinv.errors import UserError
from hf_symbinv.files import path_here, write_atomically
from hf_symbinv.hub.cards.facts import RESULTS, add_results, read_facts, read_results
from hf_symbinv.hub.cards.model import model_card, write_model_card
from hf_symbinv.tasks import load_task

DESCRIPTION = """\
Write the card of the model in FOLDER, README.md, from what lies beside it:
config.json, run.json (which training leaves), conversion.json (`symbinv
convert`) and results.json. --results adds what `symbinv evaluate --output`
wrote to results.json; an evaluation of the same data, decoded in the same way,
is replaced.

What you write between the marks <!-- notes --> and <!-- end of notes --> of a
card is kept. A card that this command did not write is not touched.

exit codes: 0 the card is written, 2 bad usage or input
"""

EXAMPLE = """\
$ symbinv card runs/tiny --name me/tiny
runs/tiny/README.md: me/tiny, 6,400 parameters, 0 evaluations
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv card`."""
    command = command_parser("card", DESCRIPTION, EXAMPLE)
    add, data = command.add_argument, "training data on the Hub; may be repeated"
    add("folder", type=path_here, metavar="FOLDER", help="of the model")
    add("--results", type=path_here, nargs="+", action="extend", default=[], metavar="FILE", help="evaluations to add")
    add("--name", help="OWNER/NAME that it will have on the Hub, or a path (default: the folder's name)")
    add("--dataset", action="append", default=[], metavar="OWNER/NAME", help=data)
    add("--license", help="the Hub's name for it (default: apache-2.0, or none for others' encoders)")
    add("--task", metavar="NAME", help="name, or file that defines it (default: found by its tokens)")
    add("--output", type=path_here, metavar="FILE", help="write it here, and nothing into FOLDER")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    options = parser().parse_args(arguments)
    task = None if options.task is None else load_task(options.task)
    facts = read_facts(options.folder, name=options.name, task=task)
    new = read_results(options.results)
    for path, evaluation in zip(options.results, new, strict=False):
        known = facts.task.name if facts.task else None
        if known and evaluation.get("task", known) != known:
            raise UserError(f"{path}: of task {evaluation['task']}, and the model is for {known}; give its own results")
    facts = replace(facts, results=add_results(facts.results, new))
    told = {"datasets": options.dataset, "license": options.license}
    if options.output is not None:
        path = options.output
        write_atomically(path, model_card(facts, **told))
    else:
        path = write_model_card(options.folder, facts, **told)
        if new:
            text = json.dumps(facts.results, indent=1, ensure_ascii=False)
            write_atomically(options.folder / RESULTS, f"{text}\n")
    number = len(facts.results)
    print(f"{path}: {facts.name}, {facts.parameters:,} parameters, {number} evaluation{'s' * (number != 1)}")
    return DONE
