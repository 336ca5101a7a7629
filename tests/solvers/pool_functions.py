"""Functions for worker processes, which import them by name."""

import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

calls = 0


def behave(order: tuple[str, Any]) -> Any:
    """Do what is asked for: return, raise, sleep, work, hang inside C, die of a signal, exit, or print."""
    action, argument = order
    if action == "return":
        return argument
    if action == "raise":
        raise ValueError(argument)
    if action == "sleep":
        time.sleep(argument)
        return argument
    if action == "work":  # for so many seconds of CPU time
        end = time.process_time() + argument
        while time.process_time() < end:
            pass
        return argument
    if action == "hang":  # holds the interpreter's lock and lets no signal handler run
        return re.match("(a+)+$", "a" * 60 + "b")
    if action == "die":
        os.kill(os.getpid(), argument)
        time.sleep(10)
    if action == "exit":
        os._exit(argument)
    if action == "unpicklable":
        return lambda: argument
    if action == "allocate":
        return len(bytearray(argument))
    if action == "print":
        print(argument)
    return os.getpid()


def count_calls(_: Any) -> int:
    """How often this process has been asked."""
    global calls
    calls += 1
    return calls


def count_calls_or_hang(hang: bool) -> int:
    if hang:
        time.sleep(60)
    return count_calls(None)


def note_process(folder: Path) -> None:
    """Leave a file whose name is the number of this process."""
    (folder / str(os.getpid())).touch()


def warm_up_slowly() -> None:
    time.sleep(0.6)


def warm_up_and_fail() -> None:
    raise RuntimeError("no solver here")


def warm_up_without_a_library() -> None:
    raise ImportError("needs a library; install it")


def warm_up_and_eat() -> None:
    held = []
    while True:
        held.append(b"x" * 10**7)


def warm_up_and_die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def loaded_modules(_: Any) -> tuple[set[str], dict[str, str]]:
    """What this process has loaded, and its environment."""
    return set(sys.modules), dict(os.environ)
