"""Errors that a user can do something about, and the one sentence that a command prints for each.

Every room's own errors of this kind are subclasses of `UserError`. All others are bugs, and keep their traceback.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class UserError(ValueError):
    """What a user gave cannot be used; the message names the value, the rule and the remedy."""


def explain(error: BaseException) -> str | None:
    """The sentence for an error that the user can do something about; None for any other, which is a bug.

    Besides `UserError` these are imports that miss an extra, files that cannot be read or written, and what the Hub
    refuses.
    """
    from hf_symbinv.extras import missing_extra
    from hf_symbinv.hub.errors import hub_failure

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ImportError) and error.name is None:  # a task misses its solver, and says so
        return str(error)
    if isinstance(error, ImportError) and (message := missing_extra(error, "this command")):
        return message
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"reading or writing failed: {error.strerror}"
        return f"{error.filename}: {error.strerror}; check the path and its permissions"
    return hub_failure(error)


@contextmanager
def refusals(parser: argparse.ArgumentParser) -> Iterator[None]:
    """Ends a program as `parser` does for bad usage, with exit code 2, where `explain` has a sentence."""
    try:
        yield
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        parser.error(message)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, which may be the one that was meant; None if none is like it."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
