"""Errors that a user can do something about, and the one sentence that a command prints for each.

Every room's own errors of this kind are subclasses of `UserError`. All others are bugs, and keep their traceback.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import Any

NO_READER = 141  # the exit code of a program that SIGPIPE ends
# Characters of a sentence, at most: our choice, some screens.
LONGEST = 2_000
# Files of users whose code the package runs, as tracebacks name them; who loads one adds it.
USER_FILES = set[str]()
LOGIN = "set HF_TOKEN or run `hf auth login`"
# What a write to a full disk says, or one beyond the user's part of it or beyond the size that a file may have.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What safetensors says of the system's errors; it does not name the file.
_OF_SAFETENSORS = re.compile(r"I/O error: (.*?) \(os error \d+\)")
# What torch says of the memory of a GPU, and of that of the processor.
_OF_MEMORY = re.compile("out of memory|can't allocate memory")


class UserError(ValueError):
    """What a user gave cannot be used; the message names the value, the rule and the remedy."""


class InUseError(UserError):
    """A folder in which another process is at work; the same call can do its work later."""


def explain(error: BaseException) -> str | None:
    """The sentence for an error that the user can do something about; None for any other, which is a bug.

    It has `LONGEST` characters at most: of a longer one, which repeats what a file held, the middle is left out.

    Besides `UserError` these are imports that miss an extra, files that cannot be read or written, what the Hub
    refuses, and what a task raises that a user's file defines.
    """
    sentence = _sentence(error)
    return None if sentence is None else cut(sentence)


def cut(sentence: str) -> str:
    """A sentence of at most `LONGEST` characters, with its beginning and its end, which is the remedy."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 501]}…{sentence[-500:]}"


def _sentence(error: BaseException) -> str | None:
    from hf_symbinv.extras import missing_extra

    try:
        str(error)
    except Exception:  # only a user's own exception has no text
        return _failure_of_task(error)
    if is_full_disk(error):
        where = getattr(error, "filename", None)
        return f"{where or 'writing failed'}: the disk is full; free some space, and repeat the command"
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError) or _OF_MEMORY.search(str(error)):
        return "there is not enough memory; ask for less at once, such as fewer beams or a smaller batch"
    if isinstance(error, ImportError) and error.name is None:  # a task misses its solver, and says so
        return str(error)
    if isinstance(error, ImportError) and (message := missing_extra(error, "this command")):
        return message
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"reading or writing failed: {error.strerror}"
        return f"{error.filename}: {error.strerror}; check the path and its permissions"
    if match := _OF_SAFETENSORS.search(str(error)):
        return f"weights (*.safetensors) cannot be read or written: {match[1]}; check the folder and its permissions"
    return hub_failure(error) or _failure_of_task(error)


def _failure_of_task(error: BaseException) -> str | None:
    """The sentence for what the code in a user's task file raises; None for all else."""
    for place in reversed(traceback.extract_tb(error.__traceback__)):
        if place.filename in USER_FILES:
            said = " ".join("".join(traceback.format_exception_only(error)).split())
            return f"{place.filename}, line {place.lineno}, in {place.name}: raised {said}; mend the task"
    return None


def hub_failure(error: BaseException, name: str | None = None) -> str | None:
    """The sentence for an error that has to do with the Hub, or its causes, which libraries wrap; None for any other.

    It never holds a token: it is made of a status, the Hub's own words, and the repository's name, which the error has
    if it is not given.
    """
    for cause in _causes(error):
        sentence = _hub_sentence(cause, name)
        if sentence is not None:
            return sentence
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _is_transport_error(error: BaseException) -> bool:
    """Whether a request got no answer; huggingface_hub 1 asks through httpx, 2 through httpx2."""
    bases = [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(error).__mro__]
    return "httpx.TransportError" in bases or "httpx2.TransportError" in bases


def _hub_sentence(error: BaseException, name: str | None) -> str | None:
    from huggingface_hub import constants, errors

    is_absent = isinstance(error, errors.LocalEntryNotFoundError)  # from the cache, the one place that was looked at
    if isinstance(error, errors.OfflineModeIsEnabled) or (is_absent and constants.HF_HUB_OFFLINE):
        return f"{name or 'the Hub'}: offline mode is on; unset HF_HUB_OFFLINE, or use a folder"
    if isinstance(error, errors.LocalTokenNotFoundError):
        return f"{name or 'the Hub'}: no token; {LOGIN}"
    if _is_transport_error(error):
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        return (
            f"the Hub at {constants.ENDPOINT} cannot be reached ({reason}); check the network, and repeat the command"
        )
    if not isinstance(error, errors.HfHubHTTPError):
        return None
    subject = name or getattr(error, "repo_id", None) or "the Hub"
    status = error.response.status_code
    if isinstance(error, errors.GatedRepoError):
        return f"{subject}: access has to be asked for; open its page on the Hub, then {LOGIN}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{subject}: the Hub has no such repository, or it is private; check the name, or {LOGIN}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{subject}: has no such revision; name one of its branches, tags or commits"
    if isinstance(error, errors.EntryNotFoundError):
        return None  # a missing file is for those to explain who need it
    said = (error.server_message or error.response.reason_phrase or "no reason given").partition("\n")[0].rstrip(".")
    remedies = {
        401: f"the Hub does not accept the token; {LOGIN}",
        403: f"the token does not allow this ({said}); use one that may write to {subject}",
        409: f"the Hub is busy with it ({said}); repeat the command",
        412: f"it has changed meanwhile ({said}); repeat the command",
        429: "the Hub takes no more requests for now; wait some minutes and repeat the command",
    }
    if status >= 500:
        return f"{subject}: the Hub fails with status {status} ({said}); repeat the command later"
    return f"{subject}: {remedies.get(status, f'the Hub refuses with status {status} ({said})')}"


class OptionsParser(argparse.ArgumentParser):
    """An argument parser that says which option a misspelt one is like."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        words = [*takewhile(lambda word: word != "--", sys.argv[1:] if args is None else args)]
        known = re.findall(r"--([\w-]+)", self.format_help())
        for option in (word[2:].partition("=")[0] for word in words if word.startswith("--")):
            is_known = any(name.startswith(option) for name in known)
            if not is_known and (near := nearest(option, known)):
                self.error(f"--{option}: no option; did you mean --{near}?")
        return super().parse_known_args(args, namespace)


@contextmanager
def refusals(parser: argparse.ArgumentParser) -> Iterator[None]:
    """Ends a program with a sentence and 2 where `explain` has one, with 130 if interrupted, or without a reader."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        parser.exit(NO_READER)
    except KeyboardInterrupt as stop:
        from tqdm import tqdm  # on a line of its own, where a progress bar has been drawn

        tqdm.write(f"{parser.prog}: {str(stop) or 'interrupted; the same command uses what is finished'}", sys.stderr)
        parser.exit(130)
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        parser.error(message)


def drop_output() -> None:
    """Send what is still to be written to nowhere, or Python complains about it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def exits_refused() -> Iterator[None]:
    """Makes an error of `sys.exit` in a task's code, with which a command would seem to have done its work.

    The exits of `argparse` stay: they are bad usage and help.
    """
    try:
        yield
    except SystemExit as exit_:
        place = traceback.extract_tb(exit_.__traceback__)[-1]
        if place.filename == argparse.__file__:
            raise
        raise UserError(
            f"{place.filename}, line {place.lineno}: ends the program with SystemExit({exit_.code!r}) before its work "
            "is done; raise an exception there that says what is wrong"
        ) from exit_


def is_full_disk(error: BaseException) -> bool:
    """Whether something could not be written because the disk is full, or the user's part of it.

    safetensors and torch raise errors of their own, which say so in their text or not at all.
    """
    if isinstance(error, OSError):
        return error.errno in _FULL
    text = str(error)
    told = any(os.strerror(number) in text for number in _FULL)
    return told or ("PytorchStreamWriter" in text and "file write failed" in text)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without the mark at its end; the name of its type if it has none."""
    from huggingface_hub.errors import StrictDataclassError

    if isinstance(error, StrictDataclassError) and error.__cause__ is not None:
        error = error.__cause__  # a wrapper whose first line says nothing
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".:")


def in_short(value: object, limit: int = 200) -> str:
    """A value as Python writes it, cut to so many characters."""
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is too deep to show"
    return text if len(text) <= limit else f"{text[:limit]}…"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, which may be the one that was meant; None if none is like it."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
