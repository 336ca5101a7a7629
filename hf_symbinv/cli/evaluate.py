"""`symbinv evaluate`: a model and a data set in, shares of verdicts out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from hf_symbinv.cli import DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import add_decoding, add_task, at_least, command_parser, generation
from hf_symbinv.cli.models import MODEL_HELP, Models
from hf_symbinv.evaluation import evaluate_checkpoint, load_questions, training_classes
from hf_symbinv.files import path_here, require_writable, write_atomically
from hf_symbinv.metrics.alpha_covariance import DEFAULT_LIMIT
from hf_symbinv.tasks import symbol_names

DESCRIPTION = """\
Answer the questions of a data set with a model, have the task's solver check
the answers, and print the share that is verified, with its 95 % interval
(Wilson), and how many answers got which verdict: exact is the data set's own
answer, correct another one. With --n-best N a second table counts the questions
with a verified answer among N candidates: best of N. --json gives all shares,
the settings, the times, and what `symbinv plot heatmap` draws, as one object.

--alpha-covariance N renames the symbols of N questions with each number of
symbols and prints how far answers follow. Renamings are the same tensors to a
model with streams: it answers each question once, and its answer is renamed,
unless --every-renaming is given.

A model of your own pairs of texts has no solver: its answers are compared with
those of the data, and --data takes the file that it was trained on, of which
--split test is what was held out, or another one, with --split all.

A model with random embeddings draws them ten times, and the draw with the median
cross-entropy on these questions counts; --embedding-seed chooses.

exit codes: 0 the table is complete, 1 it is, but the task's judge raised exceptions,
2 bad usage or input
"""

EXAMPLE = """\
$ symbinv data --output data/tiny --num-symbols 3 --max-size 10 --rows 500
data/tiny: 400 train
data/tiny: 50 validation
data/tiny: 50 test
$ symbinv evaluate --data data/tiny --alpha-covariance 5
ltl-base on data/tiny, split test, task ltl; num_beams 3, max_new_tokens 100, num_candidates 1
             questions  verified   95 % interval  exact  correct  incorrect  invalid  timeout  error
all                 50   100.0 %  92.9 - 100.0 %      0       50          0        0        0      0
length 1-5           4   100.0 %  51.0 - 100.0 %      0        4          0        0        0      0
length 6-10         46   100.0 %  92.3 - 100.0 %      0       46          0        0        0      0
symbols 1            6   100.0 %  61.0 - 100.0 %      0        6          0        0        0      0
symbols 2           31   100.0 %  89.0 - 100.0 %      0       31          0        0        0      0
symbols 3           13   100.0 %  77.2 - 100.0 %      0       13          0        0        0      0
grammar lasso constrained the answers
alpha-covariance with 95 % intervals: 1.0000 (1.0000 - 1.0000) over 15 questions and 75 answers
  symbols 1: 1.0000 (1.0000 - 1.0000) over 5 questions
  symbols 2: 1.0000 (1.0000 - 1.0000) over 5 questions
  symbols 3: 1.0000 (1.0000 - 1.0000) over 5 questions
  each question was decoded once and its answer renamed: names do not reach a model with streams;
  --every-renaming decodes all renamings
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv evaluate`."""
    command = command_parser("evaluate", DESCRIPTION, EXAMPLE)
    add, count = command.add_argument, at_least(1)
    add("model", nargs="?", metavar="MODEL", help=MODEL_HELP)
    add_task(command, "that of MODEL, ltl without one")
    data = "folder that `symbinv data` wrote; OWNER/NAME[/CONFIG] on the Hub; or file of pairs"
    add("--data", required=True, help=data)
    add("--split", default="test", help="(default: %(default)s)")
    add("--rows", type=count, default=1000, metavar="N", help="at most (default: %(default)s)")
    add("--batch-size", type=count, default=100, metavar="N", help="questions decoded together (default: %(default)s)")
    first = "rename the symbols of the first N questions with each number of symbols, and measure alpha-covariance"
    add("--alpha-covariance", type=count, default=0, metavar="N", help=first)
    drawn = "of each question: all if there are at most N, else N that are drawn (default: %(default)s)"
    add("--renamings", type=count, default=DEFAULT_LIMIT, metavar="N", help=drawn)
    add("--alphabet", type=count, metavar="N", help="rename into the first N names (default: the names in the data)")
    every = "with --alpha-covariance: decode all renamings, also where the model cannot tell them apart"
    add("--every-renaming", action="store_true", help=every)
    novel = "also report on the questions that split train has under no other names"
    add("--novel", action="store_true", help=novel)
    add("--no-grammar", action="store_true", help="let the model write freely, also where answers have a grammar")
    add("--json", action="store_true", help="print one JSON object instead of the table")
    add("--output", type=path_here, metavar="FILE", help="write the JSON object to this file too")
    add_decoding(command)
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    how: dict[str, Any] = generation(command, options)
    if options.no_grammar:
        how["grammar"] = None
    if options.every_renaming and not options.alpha_covariance:
        command.error("--every-renaming: only with --alpha-covariance N")
    if options.output is not None:
        require_writable(options.output)
    report, complaint = _evaluate(command, options, how)
    print(report)
    if complaint:
        print(f"symbinv evaluate: {complaint}", file=sys.stderr)
    return NOT_VERIFIED if complaint else DONE


def _evaluate(
    command: argparse.ArgumentParser, options: argparse.Namespace, how: dict[str, Any]
) -> tuple[str, str | None]:
    """What to print, and a sentence on exceptions of the judge, if there were any."""
    models = Models(options.model, options.task, options.device, options.embedding_seed)
    task, how = models.task, models.complete(how)
    limits = {"timeout": options.timeout, "memory": options.memory}
    with task.checker(otherwise=task.quick_verdict, **limits) as checker:
        questions = load_questions(task, options.data, options.split, options.rows)
        alphabet = None if options.alphabet is None else symbol_names(options.alphabet)
        most = max(question.symbols for question in questions)
        if options.alpha_covariance and alphabet is not None and len(alphabet) < most:
            command.error(f"--alphabet {len(alphabet)}: a question has {most} symbols; use at least {most}")
        evaluation = evaluate_checkpoint(
            models.checkpoint,
            questions,
            checker,
            data=options.data,
            split=options.split,
            trained_on=training_classes(task, options.data) if options.novel else frozenset(),
            embedding_seed=options.embedding_seed,
            alpha_covariance_questions=options.alpha_covariance,
            renamings=options.renamings,
            alphabet=alphabet,
            every_renaming=options.every_renaming,
            num_candidates=options.n_best,
            batch_size=options.batch_size,
            progress=sys.stderr.isatty(),
            **how,
        )
    content, table = evaluation.to_dict(), evaluation.table()
    text = json.dumps(content)
    if options.output is not None:
        write_atomically(options.output, text + "\n")
    return text if options.json else table, checker.complaint()
