"""Public names that stand in one place, the stub beside a package's `__init__.py`, and are imported when first used.

Type checkers read the stub anyway. It has one line for each name, ``from .module import Name as Name``, the form in
which a stub exports a name.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

from .extras import missing_extra


def attach_stub(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """What a package defines as `__getattr__`, `__dir__` and `__all__`, so that it has the names of its stub.

    Args:
        package: `__name__` of the package.
        file: `__file__` of the package; the stub is the `.pyi` beside it.

    Returns:
        `__getattr__` raises ImportError with the command that installs the extra where a name misses one, and
        AttributeError for a name that the stub has not. `__all__` is sorted.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: f"{package}.{statement.module}"
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom) and statement.level == 1
        for alias in statement.names
    }

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            message = missing_extra(error, f"{package}.{name}")
            if message is None:
                raise
            raise ImportError(message) from error
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names, sorted(homes)
