"""Texts that experiments read: the user's own, or the code of Python's standard library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from hf_symbinv.datasets_scripts.language.characters import STANDARD_LIBRARY, CorpusError
from hf_symbinv.datasets_scripts.questions.builder import WorkFolderError
from papers.harness.experiments import MissingDataError

# Corpus → the variable that names its source, and the source without it.
SOURCES = {"prose": ("HF_SYMBINV_PROSE", None), "code": ("HF_SYMBINV_CODE", STANDARD_LIBRARY)}


@contextmanager
def source_of(corpus: str) -> Iterator[str]:
    """Where `prose` or `code` is read from; errors inside say which variable names it.

    Raises:
        MissingDataError: If no source is named, or what is done with it inside cannot be done.
    """
    variable, default = SOURCES[corpus]
    source = os.environ.get(variable, default)
    if not source:
        raise MissingDataError(
            f"{variable} is not set; let it name the {corpus} to read: a text file, whose documents begin after lines "
            "that start with the character 0x01, a folder of texts, or a data set on the Hub"
        )
    try:
        yield source
    except CorpusError as error:
        raise MissingDataError(f"{variable}: {error}") from error
    except WorkFolderError as error:
        raise MissingDataError(f"{variable}={source}: {error}, or name the corpus that is there") from error
