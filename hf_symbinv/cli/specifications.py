"""Questions as the command line gives them: formulas in any notation, and files."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

from hf_symbinv.answers import (
    Clauses,
    Specification,
    read_dimacs_file,
    read_specification,
    read_specification_file,
    read_tlsf_file,
)
from hf_symbinv.cli.texts import Text
from hf_symbinv.errors import UserError
from hf_symbinv.files import kind_of
from hf_symbinv.logic import told_of_names
from hf_symbinv.tasks import SymbolTask

SPECIFICATION, FINITE, SYNTHESIS, CLAUSES = ".ltl", ".ltlf", ".tlsf", ".cnf"
KINDS = f"{SPECIFICATION}, {FINITE}, {SYNTHESIS} or {CLAUSES}, perhaps compressed as .gz, .bz2 or .xz"
# Tasks whose questions are formulas.
FORMULAS = ("ltl", "ltl-operators", "prop")
# A path, or a name with an ending.
_FILE_NAME = re.compile(r"(?:[A-Za-z]:)?[\w.~+-]*(?:[/\\][\w.~+-]+)+|[\w~+-][\w.~+-]*\.[A-Za-z]\w{0,7}", re.ASCII)


def read_question(item: Text, task: SymbolTask, notation: str, finite: bool) -> Specification | Clauses:
    """The question that an argument or a line gives; arguments that end as files do are names of files.

    Raises:
        ValueError: If it is none.
        OSError: If it is the name of a file that cannot be read.
    """
    found = _read_question(item, task, notation, finite)
    if isinstance(found, Specification):
        if finite and not found.finite:
            raise UserError("--finite: the specification says that its traces are infinite; leave out one of the two")
        for told in told_of_names("\n".join(one.text for one in found.properties)):
            print(f"symbinv: {item.place}: {told}", file=sys.stderr, flush=True)
    return found


def _read_question(item: Text, task: SymbolTask, notation: str, finite: bool) -> Specification | Clauses:
    text, propositional = item.text, task.name == "prop"
    if not item.place.startswith("line "):
        path, kind = Path(text), kind_of(text) if _FILE_NAME.fullmatch(text) or is_file(text) else ""
        if kind == CLAUSES:
            return read_dimacs_file(path)
        if kind == SYNTHESIS:
            return read_tlsf_file(path)
        if kind in (SPECIFICATION, FINITE):
            return read_specification_file(path, finite=finite or kind == FINITE, propositional=propositional)
        refuse_file(text, task, notation)
    if notation != "infix":
        text = task.write_question(task.read_question(text, notation), "infix")
    found = read_specification(text, item.place, finite=finite, propositional=propositional)
    if item.place.startswith("line ") and len(found.properties) == 1 and found.properties[0].role != "property":
        raise UserError(
            f"`{found.properties[0].role}` begins a line of a specification, and each line is a question of its own "
            f"here; give the specification as an argument, a file that ends in {SPECIFICATION}"
        )
    return found


def refuse_file(text: str, task: SymbolTask, notation: str) -> None:
    """Refuses the name of a file in the place of a question.

    Raises:
        UserError: For a text that a file is called, or that has the form of a file's name.
    """
    if not (_FILE_NAME.fullmatch(text) or is_file(text)):
        return
    remedy = f"--file {text} takes each line as a question"
    if kind_of(text) not in (SPECIFICATION, FINITE, SYNTHESIS, CLAUSES):
        remedy = f"a specification stands in a file that ends in {KINDS}; {remedy}"
    with suppress(ValueError):
        alone = f"({text})"
        if notation == "infix" and task.read_question(alone, notation):
            remedy = f"{remedy}; a proposition of this name stands in parentheses: '{alone}'"
    raise UserError(f"{text}: is the name of a file; {remedy}")


def is_file(text: str) -> bool:
    """Whether there is a file of this name."""
    with suppress(OSError, ValueError):  # no system has a file of such a name
        return Path(text).is_file()
    return False
