"""Data sets for training: a folder, a repository, or what a builder makes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from hf_symbinv.errors import UserError, nearest
from hf_symbinv.tasks import PAIRS, SymbolTask


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """`datasets` does not log what it then raises."""
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)


class LoadedData(datasets.DatasetDict):
    """The splits of a data set, and where they are from.

    Attributes:
        source: The folder or repository; None if they were drawn.
        builder: What they were made with, as `generation.json` in the folder has it; None if that is not known.
        task: What they ask, if that was learned from them; None if the task has a name or a file.
        said: Lines for people on what was found in a user's data.
    """

    def __init__(
        self,
        splits: Mapping[str, datasets.Dataset],
        source: str | None,
        builder: Mapping[str, Any] | None,
        task: SymbolTask | None = None,
        said: Sequence[str] = (),
    ) -> None:
        super().__init__(splits)
        self.source, self.builder, self.task, self.said = source, builder, task, list(said)


def load_data(task: str, options: Mapping[str, Any], source: str | None = None) -> LoadedData:
    """The splits of a data set.

    Of several processes, the main one builds it first and the others read what it left.

    Args:
        task: Name of the task, or its file; or `pairs`, for a user's own texts.
        options: Fields of `RandomQuestionsConfig`, such as `num_symbols`, `max_size` and `rows`; for `pairs` those of
            `PairsOptions`.
        source: A folder that `symbinv data` wrote, or a repository on the Hub; None to build the data set. For `pairs`
            it takes the place of the option `pairs`.

    Raises:
        UserError: For options that the builder does not take, a damaged file, or if there is no such data set.
    """
    if task == PAIRS:
        from hf_symbinv.datasets_scripts.pairs import load_pairs

        return load_pairs(options, source)
    if source is not None:
        try:
            with quiet():
                # By its files: the cache of `datasets` knows folders with a card by their last name only.
                if Path(source).is_dir():
                    return LoadedData(datasets.load_dataset("parquet", data_dir=source), source, _made_with(source))
                return LoadedData(datasets.load_dataset(source), source, None)
        except FileNotFoundError as error:
            raise UserError(str(error)) from error
        except datasets.exceptions.DatasetGenerationError as error:
            reason = str(error.__cause__ or error).partition("\n")[0].rstrip(".")
            raise UserError(f"{source}: cannot be read ({reason}); make the data set again") from error
    from accelerate import PartialState

    from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig
    from hf_symbinv.tasks import load_task

    known = list(RandomQuestionsConfig(name="custom").recipe())
    for name in options:
        if name not in known:
            near = nearest(name, known)
            hint = "" if near is None else f"did you mean data.{near}? "
            raise UserError(f"data option {name!r}: unknown; {hint}use some of {', '.join(known)}")
    builder = RandomQuestions(**{**options, "task": task})
    with PartialState().main_process_first():
        builder.download_and_prepare()
    made = {**builder.config.recipe(), "task": load_task(task).name}
    return LoadedData(builder.as_dataset(), None, made)


def _made_with(folder: str) -> dict[str, Any] | None:
    path = Path(folder) / "generation.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
