"""The same function with other names for its variables."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Mapping

from hf_symbinv.errors import UserError
from papers.code.functions import Function, read_functions, write


class RenamingError(UserError):
    """New names that make another function, or none."""


def rename(function: Function, names: Mapping[str, str]) -> str:
    """A function's text with other names for its variables, which means the same.

    Callers that pass its arguments by name, and `__name__` of what is defined inside it, see the new names.

    Args:
        function: As `read_functions` gives it.
        names: Name in `function.variables` → new name; the other variables keep theirs.

    Raises:
        RenamingError: If there is no such variable, a new name is no identifier, or it would capture: some name in the
            text would no longer mean what it means now.
    """
    for old, new in names.items():
        if old not in function.variables:
            raise RenamingError(f"{old!r}: {function.name} has no such variable; use {', '.join(function.variables)}")
        if not new.isidentifier() or keyword.iskeyword(new) or unicodedata.normalize("NFKC", new) != new:
            raise RenamingError(f"{new!r}, the new name of {old!r}: is no name of a variable; give an identifier")
    marks = [(symbol.start, symbol.end) for symbol in function.symbols]
    text, _ = write(function.text, marks, [names.get(name, name) for _, _, name in function.spans()])
    found, _ = read_functions(text)
    if len(found) != 1 or found[0].canonical() != function.canonical():
        said = ", ".join(f"{old} → {new}" for old, new in names.items())
        raise RenamingError(f"{said}: a name in {function.name} would mean something else; give names that it has not")
    return text
