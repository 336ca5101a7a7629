"""Questions as the command line gives them: formulas in any notation, and files."""

from __future__ import annotations

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
from hf_symbinv.tasks import SymbolTask

SPECIFICATION, SYNTHESIS, CLAUSES = ".ltl", ".tlsf", ".cnf"


def read_question(item: Text, task: SymbolTask, notation: str, finite: bool) -> Specification | Clauses:
    """The question that an argument or a line gives; arguments that end as files do are names of files.

    Args:
        item: The argument or line.
        task: Of formulas, temporal or propositional.
        notation: Of formulas that stand there themselves.
        finite: Formulas speak of finite traces.

    Raises:
        ValueError: If it is none.
        OSError: If it is the name of a file that cannot be read.
    """
    text, propositional = item.checked(), task.name == "prop"
    if notation != "infix":
        text = task.write_question(task.read_question(text, notation), "infix")
    elif not item.place.startswith("line "):
        path = Path(text)
        if text.endswith(CLAUSES):
            return read_dimacs_file(path)
        if text.endswith(SYNTHESIS):
            return read_tlsf_file(path)
        if text.endswith(SPECIFICATION):
            return read_specification_file(path, finite=finite, propositional=propositional)
    return read_specification(text, item.place, finite=finite, propositional=propositional)
