"""Data sets made of others: symbols renamed, training rows left out or added, rows chosen by symbols and size.

    data = datasets.load_dataset("parquet", data_dir="data/ltl")
    data = reduced(renamed(data, LTL), 80_000)

The functions take and return a `datasets.DatasetDict` with the columns of a task and `symbols` and `length`. `renamed`,
`reduced`, `supplemented` and `extended` change the training split alone, because models are tested on the questions as
they were. `ordered` and `completed` change how answers are written, in all splits.
`symbinv data --from FOLDER` does the same to a folder.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pyarrow.parquet
from datasets.table import InMemoryTable

from hf_symbinv.datasets_scripts.errors import TransformError
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.storage import Pair, publish, require_whole, schema, split_files, splits_of
from hf_symbinv.errors import in_short
from hf_symbinv.files import reading_parquet
from hf_symbinv.hub.cards.dataset import LICENSE, UNKNOWN, Origin
from hf_symbinv.tasks import TASKS, SymbolTask, symbol_names


def renamed(data: datasets.DatasetDict, task: SymbolTask, like: str = "") -> datasets.DatasetDict:
    """Training rows with symbols renamed so that the first appearances in answers always come in the order a, b, c, ...

    The other symbols of a question keep their names, unless these are taken: then they get those that have become free.
    So rows remain what they were up to a renaming, and only the order of names in answers carries a bias that a model
    can learn. Like `ite`, whose release the paper's tables have, the others keep their names even if these are taken;
    answers stay correct, because they hold whatever the other symbols are. Source: ITE, section 5.2.1.
    """
    if like not in ("", "ite"):
        raise TransformError(f"like={like!r}: no renaming of this name; use ite, or leave it out")
    question, answer = _columns(data, task)

    def rename(row: dict[str, Any]) -> dict[str, Any]:
        with _of_task(task, row[question]):
            others = () if like else task.symbols(row[question])
            renaming = first_in_order(task.symbols(row[answer]), others)
            renamed_question = task.rename(row[question], renaming)
            return {
                question: renamed_question,
                answer: task.rename(row[answer], renaming),
                "symbols": list(task.symbols(renamed_question)),
            }

    return datasets.DatasetDict({**data, "train": _train(data).map(rename)})


def first_in_order(in_answer: tuple[str, ...], in_question: tuple[str, ...]) -> dict[str, str]:
    """The renaming of `renamed`: a permutation of these symbols and the first names."""
    names = symbol_names(len(in_answer))
    renaming = dict(zip(in_answer, names, strict=True))
    others = [name for name in in_question if name not in renaming]
    free = iter([name for name in in_answer if name not in names])
    return renaming | {name: next(free) for name in others if name in names}


def ordered(data: datasets.DatasetDict, task: SymbolTask) -> datasets.DatasetDict:
    """Rows whose answers say what may come in any order in the order in which the question names its symbols.

    Solvers take the order of the symbols' names, which a model that is invariant to renaming cannot know.
    """
    question, answer = _columns(data, task)
    if type(task).ordered is SymbolTask.ordered:
        raise TransformError(f"ordered: changes no answer of task {task.name}; leave it out")

    def order(row: dict[str, Any]) -> dict[str, Any]:
        with _of_task(task, row[question]):
            return {answer: task.ordered(row[question], row[answer])}

    return data.map(order)


def completed(data: datasets.DatasetDict, task: SymbolTask, seed: int = 0) -> datasets.DatasetDict:
    """Rows whose answers leave nothing open, in all splits, drawn from all such answers with equal probability.

    A solver's choice of one answer is hard to foresee. A model that learns from answers drawn at random gives each next
    token the share of the correct answers that have it, so that its best guess is the one that leaves most of them.
    """
    question, answer = _columns(data, task)

    def complete(row: dict[str, Any]) -> dict[str, Any]:
        text = row[question]
        with _of_task(task, text):
            try:
                found = task.completed(text, random.Random(f"{seed} {text}"))
            except ValueError as error:
                raise TransformError(f"complete: {error}") from error
        if found is None:
            raise TransformError(f"complete: task {task.name} has no answers that leave nothing open; leave it out")
        return {answer: found}

    return data.map(complete)


def extended(data: datasets.DatasetDict, other: datasets.DatasetDict, task: SymbolTask) -> datasets.DatasetDict:
    """Training rows and all those of `other` whose question is in no split of `data`, names as they are."""
    question, _ = _columns(other, task)
    train = _train(data)
    seen = {text for split in data.values() for text in split[question]}
    added = _train(other).filter(
        lambda texts: [text not in seen for text in texts], input_columns=[question], batched=True
    )
    if not len(added):
        raise TransformError("extend: all its questions are in the data set already; take another one")
    return datasets.DatasetDict({**data, "train": datasets.concatenate_datasets([train, added.cast(train.features)])})


def reduced(data: datasets.DatasetDict, rows: int, seed: int = 0) -> datasets.DatasetDict:
    """So many of the training rows, chosen at random. Source: ITE, Appendix F (80,000 of 799,909)."""
    train = _train(data)
    if not 0 < rows <= len(train):
        raise TransformError(f"reduce={rows}: must be between 1 and the {len(train)} rows of split train")
    chosen = train.shuffle(seed=seed).select(range(rows))
    return datasets.DatasetDict({**data, "train": chosen.flatten_indices()})


def supplemented(data: datasets.DatasetDict, other: datasets.DatasetDict, task: SymbolTask) -> datasets.DatasetDict:
    """Training rows and, of those of `other`, the ones with 0 or 1 symbols, which are rare where there are many.

    Source: SIT, Appendix F (0-AP and 1-AP formulas of the training set with 10 APs).
    """
    (question, answer), _ = _columns(data, task), _columns(other, task)
    train = _train(data)
    seen = {text for split in data.values() for text in split[question]}
    known = sorted({name for names in train["symbols"] for name in names})
    added: list[dict[str, Any]] = []
    for row in _train(other).filter(lambda row: len(row["symbols"]) <= 1):
        foreign = not set(row["symbols"]) <= set(known)
        for shift in range(len(known)) if foreign else (0,):
            names = (*known[shift:], *known[:shift]) if foreign else row["symbols"]
            renaming = dict(zip(row["symbols"], names, strict=False))
            with _of_task(task, row[question]):
                text = task.rename(row[question], renaming)
                if len(renaming) == len(row["symbols"]) and text not in seen:
                    seen.add(text)
                    if foreign:  # then a new symbol of the answer may have the question's new name
                        new = [name for name in task.symbols(row[answer]) if name not in row["symbols"]]
                        renaming |= zip(new, task.new_names(text), strict=False)
                    symbols, reply = list(task.symbols(text)), task.rename(row[answer], renaming)
                    added.append({**row, question: text, answer: reply, "symbols": symbols})
                    break
    if not added:
        raise TransformError(
            "supplement: its rows with 0 or 1 symbols are all in the data set already; name a larger supplement"
        )
    more = datasets.Dataset.from_list(added, features=train.features)
    return datasets.DatasetDict({**data, "train": datasets.concatenate_datasets([train, more])})


def filtered(
    data: datasets.DatasetDict,
    *,
    min_symbols: int = 0,
    max_symbols: int = sys.maxsize,
    min_size: int = 1,
    max_size: int = sys.maxsize,
) -> datasets.DatasetDict:
    """The rows of all splits whose questions have so many symbols and so large a size."""

    def fits(row: dict[str, Any]) -> bool:
        return min_symbols <= len(row["symbols"]) <= max_symbols and min_size <= row["length"] <= max_size

    chosen = datasets.DatasetDict({name: split.filter(fits).flatten_indices() for name, split in data.items()})
    for name, split in chosen.items():
        if not len(split):
            symbols, sizes = (
                f"{low} or more" if high == sys.maxsize else f"{low} to {high}"
                for low, high in ((min_symbols, max_symbols), (min_size, max_size))
            )
            raise TransformError(f"split {name}: no row has {symbols} symbols and size {sizes}; choose wider limits")
    return chosen


def _train(data: datasets.DatasetDict) -> datasets.Dataset:
    if "train" not in data:
        raise TransformError(f"data has splits {sorted(data)}; this changes split train")
    return data["train"]


def _columns(data: datasets.DatasetDict, task: SymbolTask) -> tuple[str, str]:
    """The columns of question and answer."""
    for name, split in data.items():
        missing = set(schema(task).names) - {"solver_version"} - set(split.column_names)
        if missing:
            raise TransformError(
                f"split {name}: has columns {', '.join(split.column_names)}; task {task.name} needs "
                f"{', '.join(sorted(missing))} too: is it of another task?"
            )
    return task.columns


def training_classes(folder: Path, task: SymbolTask) -> set[str]:
    """The training questions of a data set up to a renaming of symbols, as `task.alpha_class` writes them."""
    data = read_folder(folder)
    column, _ = _columns(data, task)
    if "train" not in data:
        raise TransformError(f"{folder}: has no split train, only {', '.join(data)}; name data of a training")
    classes = set()
    for question in data["train"][column]:
        with _of_task(task, question):
            classes.add(task.alpha_class(question))
    return classes


@contextmanager
def _of_task(task: SymbolTask, question: str) -> Iterator[None]:
    """Whatever a task's own code raises, as an error that names the question."""
    try:
        yield
    except TransformError:
        raise
    except Exception as error:
        raise TransformError(
            f"task {task.name} failed for {in_short(question)} ({type(error).__name__}: {error}); "
            "mend the task or the data"
        ) from error


def read_folder(folder: Path) -> datasets.DatasetDict:
    """The data set in a folder that `symbinv data` wrote."""
    splits = splits_of(folder)
    if not splits:
        raise TransformError(f"{folder}: holds no data set (no data/SPLIT-*.parquet); make one with `symbinv data`")
    require_whole(folder)
    tables = {
        split: pyarrow.concat_tables([_read_table(file) for file in split_files(folder, split)]) for split in splits
    }
    return datasets.DatasetDict({split: datasets.Dataset(InMemoryTable(table)) for split, table in tables.items()})


def _read_table(file: Path) -> pyarrow.Table:
    with reading_parquet(file, error=TransformError):
        table = pyarrow.parquet.read_table(file)
        table.validate(full=True)  # text that is no UTF-8 too
    return table


def task_by_columns(data: datasets.DatasetDict) -> SymbolTask:
    """The task of the package with these columns."""
    names = next(iter(data.values())).column_names
    for task in TASKS.values():
        if set(task.columns) <= set(names):
            return task
    raise TransformError(f"no task has columns {', '.join(names)}; name it with --task")


def transform(source: Path, folder: Path, task: SymbolTask | None, options: Mapping[str, Any]) -> None:
    """Write the data set of folder `source`, changed by options of `symbinv data` in their order, into `folder`."""
    data = read_folder(source)
    if "like" in options and not options.get("renamed"):
        raise TransformError(f"like={options['like']!r}: says how symbols are renamed; add --renamed, or leave it out")
    if not set(options) - {"seed"}:
        raise TransformError(
            "nothing to change; choose rows, or --supplement, --reduce, --extend, --ordered, --complete or --renamed"
        )
    task = task or task_by_columns(data)
    question, answer = _columns(data, task)
    limits = {name: options[name] for name in ("min_symbols", "max_symbols", "min_size", "max_size") if name in options}
    description = {"builder": "transform 1.0.0", "source": digest(source), **options}
    for name in {"supplement", "extend"} & set(options):
        description[name] = digest(Path(options[name]))
    with claimed(folder, description) as work:
        if work is None:
            return
        if "supplement" in options:
            data = supplemented(data, read_folder(Path(options["supplement"])), task)
        if limits:
            data = filtered(data, **limits)
        if "reduce" in options:
            data = reduced(data, options["reduce"], options.get("seed", 0))
        if "extend" in options:
            data = extended(data, read_folder(Path(options["extend"])), task)
        if options.get("ordered"):
            data = ordered(data, task)
        if options.get("complete"):
            data = completed(data, task, options.get("seed", 0))
        if options.get("renamed"):
            data = renamed(data, task, options.get("like", ""))
        splits = {
            name: [Pair(*pair) for pair in zip(split[question], split[answer], strict=True)]
            for name, split in data.items()
        }
        versions = sorted({version for split in data.values() for version in split.unique("solver_version")})
        parts = [f"symbinv data --output FOLDER --from {source.name}"]
        for name, value in options.items():
            flag, folder_name = f"--{name.replace('_', '-')}", name in ("supplement", "extend")
            parts.append(flag if value is True else f"{flag} {Path(value).name if folder_name else value}")
        origin = Origin(
            title=f"{task.name}, made of {source.name}",
            story=f"The data set {source.name}, changed as the command says.",
            command=" ".join(parts),
            solver_version=", ".join(versions),
            license=UNKNOWN if UNKNOWN in versions else LICENSE,  # texts from elsewhere have no known solver either
        )
        publish(task, folder, origin, splits)


def digest(folder: Path) -> str:
    """A digest of the Parquet files in a folder."""
    content = hashlib.sha256()
    for split in splits_of(folder):
        for file in split_files(folder, split):
            content.update(file.read_bytes())
    return content.hexdigest()[:16]
