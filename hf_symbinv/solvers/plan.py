"""What a pool computes and within which limits, in a form that can be sent to other processes."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv.auto_classes import imports_transformers
from hf_symbinv.solvers.worker import Setup


def no_preparation() -> None:
    """The initializer of a pool that needs none."""


class Plan(NamedTuple):
    """What a pool computes, within which limits; it can be sent to other processes.

    Attributes:
        setup: Of its processes.
        timeout, wall, isolate: As `ProcessPool` takes them.
    """

    setup: Setup
    timeout: float
    wall: float
    isolate: int | None

    @classmethod
    def of(
        cls,
        function: Callable[[Any], Any],
        timeout: float,
        initializer: Callable[[], object],
        isolate: int | None,
        memory: float,
        wall: float | None,
    ) -> Plan:
        """The plan of arguments of `ProcessPool`.

        Raises:
            ValueError: For an argument out of range, or a function that other processes cannot import.
        """
        if not memory > 0:
            raise ValueError(f"memory={memory}: the limit must be positive gigabytes; use math.inf for no limit")
        if not timeout > 0:
            raise ValueError(f"timeout={timeout}: the limit must be positive seconds; use math.inf for no limit")
        if isolate is not None and isolate < 1:
            raise ValueError(f"isolate={isolate}: a run has at least one item; use None to do without runs")
        light = not any(imports_transformers(file) for file in _files(function))
        path = tuple(sys.path)
        setup = Setup(path, _pickled(function), _pickled(initializer), isolate is not None, light, memory)
        return cls(setup, timeout, timeout if wall is None else wall, isolate)


def _parts(function: Callable[..., Any]) -> Iterator[Any]:
    """A function and the arguments of a `functools.partial`, and the objects of those that are methods."""
    for part in (function, *getattr(function, "args", ())):
        yield part
        yield getattr(part, "__self__", None)


def _files(function: Callable[..., Any]) -> Iterator[Path]:
    """The files of other packages that define the parts of a function."""
    for part in _parts(function):
        name = getattr(part, "__module__", None) or ""
        file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
        if file.suffix == ".py" and file.is_file() and name.partition(".")[0] != "hf_symbinv":
            yield file


def _pickled(function: Callable[..., Any]) -> bytes:
    for part in _parts(function):
        if getattr(part, "__module__", None) == "__main__":
            name = getattr(part, "__qualname__", repr(part))
            raise ValueError(
                f"{name}: what the main script defines cannot be imported by other processes; move it into a module"
            )
    try:
        return pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"{function!r}: use a function at the top level of a module ({error})") from error


__all__ = ["Plan", "no_preparation"]
