"""Data sets for training: a folder, a repository, or what a builder makes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets

from hf_symbinv.datasets_scripts.errors import OptionsError, UnreadableDataError


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """`datasets` does not log what it then raises."""
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)


def load_data(task: str, options: Mapping[str, Any], source: str | None = None) -> datasets.DatasetDict:
    """The splits of a data set.

    Of several processes, the main one builds it first and the others read what it left.

    Args:
        task: Name of the task, or its file.
        options: Fields of `RandomQuestionsConfig`, such as `num_symbols`, `max_size` and `rows`.
        source: A folder that `symbinv data` wrote, or a repository on the Hub; None to build the data set.

    Raises:
        OptionsError: For options that the builder does not take.
        UnreadableDataError: For a damaged file.
        FileNotFoundError: If there is no such data set.
    """
    if source is not None:
        try:
            with quiet():
                # By its files: the cache of `datasets` knows folders with a card by their last name only.
                if Path(source).is_dir():
                    return datasets.load_dataset("parquet", data_dir=source)
                return datasets.load_dataset(source)
        except datasets.exceptions.DatasetGenerationError as error:
            reason = str(error.__cause__ or error).partition("\n")[0].rstrip(".")
            raise UnreadableDataError(f"{source}: cannot be read ({reason}); make the data set again") from error
    from accelerate import PartialState

    from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig

    known = list(RandomQuestionsConfig(name="custom").recipe())
    for name in options:
        if name not in known:
            raise OptionsError(f"data option {name!r}: unknown; use some of {', '.join(known)}")
    builder = RandomQuestions(**{**options, "task": task})
    with PartialState().main_process_first():
        builder.download_and_prepare()
    return builder.as_dataset()
