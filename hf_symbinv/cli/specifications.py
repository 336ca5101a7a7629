"""Specifications as the command line gives them: formulas in any notation, and files."""

from __future__ import annotations

from pathlib import Path

from hf_symbinv.answers import Specification, read_specification, read_specification_file
from hf_symbinv.cli.texts import Text
from hf_symbinv.tasks import LTL

SUFFIX = ".ltl"


def read_question(item: Text, notation: str, finite: bool) -> Specification:
    """The specification that an argument or a line gives.

    Raises:
        ValueError: If it is none.
        OSError: If it is the name of a file that cannot be read.
    """
    if notation != "infix":
        text = LTL.write_question(LTL.read_question(item.text, notation), "infix")
        return read_specification(text, item.place, finite=finite)
    if item.text.endswith(SUFFIX) and not item.place.startswith("line "):
        return read_specification_file(Path(item.text), finite=finite)
    return read_specification(item.text, item.place, finite=finite)
