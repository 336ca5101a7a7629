"""Data sets for training: a folder, a repository, or what a builder makes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets

from hf_symbinv.datasets_scripts.errors import UnreadableDataError
from hf_symbinv.datasets_scripts.pairs import load_pairs
from hf_symbinv.datasets_scripts.splits import LoadedData, quiet, require_plain
from hf_symbinv.datasets_scripts.storage import MARKER, require_whole
from hf_symbinv.errors import UserError, first_line, hub_failure, nearest
from hf_symbinv.files import read_object
from hf_symbinv.hub.cards.facts import repository_of
from hf_symbinv.tasks import PAIRS


def load_data(task: str, options: Mapping[str, Any], source: str | None = None) -> LoadedData:
    """The splits of a data set.

    Of several processes, the main one builds it first and the others read what it left.

    Args:
        task: Name of the task, or its file; or `pairs`, for a user's own texts.
        options: Fields of `RandomQuestionsConfig`, such as `num_symbols`, `max_size` and `rows`; for `pairs` those of
            `PairsOptions`.
        source: A folder that `symbinv data` wrote; or a repository
            on the Hub, OWNER/NAME, or one of several data sets in it, OWNER/NAME/CONFIG. None to build the data set.
            For `pairs` it takes the place of the option `pairs`.

    Raises:
        UserError: For options that the builder does not take, a damaged file, or if there is no such data set.
    """
    if task == PAIRS:
        return load_pairs(options, source)
    if source is not None:
        return _load(source)
    from accelerate import PartialState

    from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig
    from hf_symbinv.tasks import load_task

    known = [*RandomQuestionsConfig(name="custom", like="deepltl", as_solved=True, task="prop").recipe()]
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


def _load(source: str) -> LoadedData:
    """The splits in a folder or a repository."""
    folder = Path(source)
    if folder.is_dir():
        refuse_folders_of_data_sets(folder)
        made = _made_with(folder)
        require_whole(folder)
    elif folder.exists():
        raise UnreadableDataError(f"{source}: is a file; name the folder of a data set, or one on the Hub")
    try:
        with quiet():
            # By its files: the cache of `datasets` knows folders with a card by their last name only.
            if folder.is_dir():
                return LoadedData(datasets.load_dataset("parquet", data_dir=str(folder)), source, made)
            return LoadedData(datasets.load_dataset(*repository_of(source)), source, None)
    except Exception as error:  # of many types, for folders without data, damaged files, no network
        if isinstance(error, (ImportError, UserError)):
            raise
        if reason := hub_failure(error, source) or several_data_sets(error, source):
            raise UnreadableDataError(reason) from error
        cause = error.__cause__ if isinstance(error, datasets.exceptions.DatasetGenerationError) else None
        if isinstance(error, FileNotFoundError):
            raise UnreadableDataError(first_line(error)) from error
        raise UnreadableDataError(
            f"{source}: cannot be read ({first_line(cause or error)}); make the data set again"
        ) from error


def refuse_folders_of_data_sets(folder: Path) -> None:
    """Refuses a folder of which `datasets` would mix the data sets in the folders below, or read another folder."""
    require_plain(folder)
    below = {path.parent for path in folder.rglob("*.parquet")} - {folder, folder / "data"}
    hidden = (".", "__")  # which `datasets` does not read either
    seen = sorted(path for path in below if not any(p.startswith(hidden) for p in path.relative_to(folder).parts))
    if seen:
        inner = seen[0].parent if seen[0].name == "data" else seen[0]
        raise UserError(f"{folder}: is no data set, but holds some in folders below; name one of them, such as {inner}")


def several_data_sets(error: Exception, source: str) -> str | None:
    """The sentence for a repository of several data sets of which none was named; None for another error."""
    known = re.search(r"Config name is missing.*available configs: \[(.*?)\]", str(error), re.DOTALL)
    if known is None:
        return None
    names = [f"{source}/{name}" for name in re.findall(r"'([^']+)'", known[1])]
    return f"{source}: holds several data sets; name one of them, {' or '.join(names)}"


def _made_with(folder: Path) -> dict[str, Any] | None:
    path = folder / MARKER
    return read_object(path, "make the data set again", UnreadableDataError) if path.is_file() else None
