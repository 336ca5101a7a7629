"""The command line of the builders, `symbinv data`: random questions, a grid of them, or another data set changed."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.errors import OptionsError, refuse
from hf_symbinv.datasets_scripts.questions import transforms
from hf_symbinv.datasets_scripts.questions import two_line_texts as texts
from hf_symbinv.datasets_scripts.questions.builder import FewerRowsWarning, RandomQuestionsConfig, prepare
from hf_symbinv.datasets_scripts.questions.grid import QuestionGridConfig
from hf_symbinv.datasets_scripts.storage import number_of_rows, split_files, splits_of
from hf_symbinv.errors import OptionsParser, exits_refused
from hf_symbinv.files import path_here
from hf_symbinv.solvers.pool import MEMORY
from hf_symbinv.tasks import load_task

_SHARED = {"task", "num_symbols", "min_size", "max_size", "seed", "timeout", "memory", "like", "as_solved"}
_LIMITS = {"min_symbols", "max_symbols", "min_size", "max_size"}
# What each way to make a data set takes besides --output and --workers.
_OPTIONS = {
    "random": {*_SHARED, "rows"},
    "grid": {*_SHARED, "grid", "min_symbols", "per_cell", "novel"},
    "from": {
        "task",
        "from",
        "supplement",
        *_LIMITS,
        "reduce",
        "extend",
        "seed",
        "ordered",
        "complete",
        "renamed",
        "like",
    },
    "from_text": {"task", "from_text", "seed"},
}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    own, cell = RandomQuestionsConfig(name="custom"), QuestionGridConfig(name="grid")

    def either(name: str) -> str:
        return f"(default: {getattr(own, name)}; with --grid {getattr(cell, name)})"

    command = OptionsParser(
        prog="symbinv data",
        description="Make a data set of questions with answers. A run that was stopped continues when the same command "
        "is given again.",
        argument_default=argparse.SUPPRESS,
    )
    add = command.add_argument
    add("--output", type=path_here, required=True, help="folder for Parquet files and card")
    tasks = "ltl, ltl-operators, prop, copy, tseitin, or a file FILE.py that defines a task"
    add("--task", help=f"{tasks} (default: {own.task}; with --from by its columns)")
    add("--workers", type=int, help="processes (default: one per available core)")
    add("--seed", type=int, help=f"of everything random (default: {own.seed})")
    add("--min-size", type=int, help=f"smallest question, such as nodes of formulas (default: {own.min_size})")
    add("--max-size", type=int, help=f"largest question {either('max_size')}")
    drawn = command.add_argument_group("random questions")
    drawn.add_argument("--num-symbols", type=int, help=f"symbols to draw with, at most {either('num_symbols')}")
    drawn.add_argument("--rows", type=int, help=f"pairs in all (default: {own.rows})")
    drawn.add_argument("--timeout", type=float, help=f"seconds of CPU time to solve a question {either('timeout')}")
    drawn.add_argument(
        "--memory", type=float, metavar="GB", help=f"memory to draw, solve or check in (default: {MEMORY:g})"
    )
    drawn.add_argument(
        "--like", metavar="RELEASE", help="drawn as a release does it: prop as deepltl; with --renamed: ite"
    )
    drawn.add_argument(
        "--as-solved", action="store_true", help="answers as the solver writes them, not in the order of the question"
    )
    drawn.add_argument("--grid", action="store_true", help="for each number of symbols and size, in one split, test")
    drawn.add_argument("--per-cell", type=int, help=f"with --grid: pairs, at most (default: {cell.per_cell})")
    drawn.add_argument(
        "--novel", nargs="+", metavar="DATA",
        help="with --grid: no questions that a renaming makes training questions of these data sets",
    )  # fmt: skip
    drawn.add_argument(
        "--from-text",
        metavar="TEXT",
        help="none: read two-line pairs from a file (.txt, .gz, .xz), a folder with train.txt, val.txt, test.txt, or "
        "such a folder on the Hub, OWNER/NAME/FOLDER, as necrashter/interchangeable-token-embeddings-datasets has them",
    )
    made = command.add_argument_group("from another data set, in this order")
    made.add_argument("--from", metavar="FOLDER", help="the data set, which stays as it is")
    made.add_argument("--supplement", metavar="FOLDER2", help="train: add rows with 0 or 1 symbols from here")
    made.add_argument("--min-symbols", type=int, help="rows with so many symbols (also with --grid; default: 0)")
    made.add_argument("--max-symbols", type=int, help="rows with so many symbols, at most")
    made.add_argument("--reduce", type=int, metavar="ROWS", help="train: only so many rows")
    made.add_argument("--extend", metavar="FOLDER3", help="train: add all rows from here whose question is new")
    made.add_argument(
        "--ordered", action="store_true", help="answers say what may come in any order in the order of the question"
    )
    made.add_argument(
        "--complete", action="store_true", help="answers leave nothing open, and are drawn from all that are correct"
    )
    made.add_argument(
        "--renamed", action="store_true", help="train: symbols renamed so that answers name them in order"
    )
    return command


def make(options: dict[str, Any], folder: Path) -> None:
    """Make the data set that the options ask for in a folder."""
    workers = options.pop("workers", None)
    way = next((name for name in ("grid", "from", "from_text") if name in options), "random")
    for name in options:
        if name not in _OPTIONS[way]:
            others = [f"--{other.replace('_', '-')}" for other in _OPTIONS if name in _OPTIONS[other]]
            rule = f"only with {' or '.join(others)}" if way == "random" else f"not together with --{way}"
            raise OptionsError(f"--{name.replace('_', '-')}: {rule.replace('_', '-')}")
    memory = options.pop("memory", MEMORY)
    if not memory > 0:
        raise OptionsError(f"--memory {memory:g}: must be a positive number of gigabytes; correct it")
    if workers is not None and workers < 1:
        raise OptionsError(f"--workers {workers}: must be at least 1; leave it out for one per available core")
    if way == "from":
        task = load_task(options.pop("task")) if "task" in options else None
        source = Path(options.pop("from"))
        for name in {"supplement", "extend"} & set(options):
            options[name] = Path(options[name])
        transforms.transform(source, folder, task, options)
    elif way == "from_text":
        task = load_task(options.get("task", RandomQuestionsConfig.task))
        texts.convert(task, options["from_text"], folder, options.get("seed", RandomQuestionsConfig.seed))
    elif way == "grid":
        del options["grid"]
        if "novel" in options:
            options["novel"] = tuple(options["novel"])
        prepare(QuestionGridConfig(name="grid", **options), folder, workers, memory=memory)
    else:
        prepare(RandomQuestionsConfig(name="custom", **options), folder, workers, memory=memory)


def _plainly(usual: Callable[..., Any]) -> Callable[..., Any]:
    """Prints the warning of builders as a sentence, without the line of code; others stay as they are."""

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if issubclass(category, FewerRowsWarning):
            print(f"warning: {message}", file=sys.stderr)
        else:
            usual(message, category, *place)

    return show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    options = vars(parser().parse_args(arguments))
    folder = options.pop("output")
    try:
        with exits_refused(), warnings.catch_warnings():
            warnings.simplefilter("always", FewerRowsWarning)
            warnings.showwarning = _plainly(warnings.showwarning)
            make(options, folder)
        files = {split: split_files(folder, split) for split in splits_of(folder)}
        rows = {split: sum(map(number_of_rows, found)) for split, found in files.items()}
    except Exception as error:
        return refuse(error)
    for split, number in rows.items():
        print(f"{folder}: {number} {split}")
    return 0
