"""What a user can mend about data: every builder's errors of this kind, and how its command ends with one."""

from __future__ import annotations

import sys

from hf_symbinv.errors import InUseError, UserError, explain

# The exit code of `symbinv` for bad usage or input, and of argparse.
BAD_INPUT = 2


class OptionsError(UserError):
    """Options of a builder that have impossible values, do not go together, or give too few rows."""


class WorkFolderError(UserError):
    """A folder that cannot take the data set: another one is in it, or another process is at it."""


class BusyFolderError(WorkFolderError, InUseError):
    """A folder into which another process writes a data set."""


class TaskFailedError(UserError):
    """A task's own code raised an exception, or its solver and its judge contradict each other."""


class UnreadableDataError(UserError):
    """A data set with damaged files."""


class PairsFormatError(UserError):
    """A text file that does not hold pairs; the message names the line."""


class TextsError(UserError):
    """A source of two-line texts that is not there, or holds no data set."""


class TransformError(UserError):
    """A data set that is not there, is not of the task, or has no row left after the change."""


class DrawingError(UserError):
    """A task cannot draw the questions that are asked for."""


def refuse(error: Exception) -> int:
    """Print on stderr, in one sentence, an error that the user can mend; the exit code."""
    message = explain(error)
    if message is None:
        raise error
    print(f"error: {message}", file=sys.stderr)
    return BAD_INPUT
