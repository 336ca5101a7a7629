"""The collection of formulas that people write: named, each with its source, for tests, benchmarks and comparisons.

They stand in `patterns/*.ltl`, in the syntax of specifications. A comment `# source: ...` holds for all below it.
"""

from __future__ import annotations

import re
from bisect import bisect
from importlib import resources
from typing import NamedTuple

from hf_symbinv.answers.specification import Specification, read_specification

_SOURCE = re.compile(r"^# source: (.*)$", re.MULTILINE)


class Pattern(NamedTuple):
    """A formula of the collection.

    Attributes:
        name: File and property, such as `dwyer/response.globally`.
        specification: The formula alone, as a question.
        source: Where it comes from.
    """

    name: str
    specification: Specification
    source: str


def read_collection() -> tuple[Pattern, ...]:
    """All formulas of the collection, by the names of their files."""
    folder = resources.files("hf_symbinv.answers") / "patterns"
    found = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        group = file.name.removesuffix(".ltl")
        text = file.read_text(encoding="utf-8")
        specification = read_specification(text, file.name)
        sources = [(match.start(), match[1]) for match in _SOURCE.finditer(text)]
        starts = [start for start, _ in sources]
        for item in specification.properties:
            source = sources[bisect(starts, item.start) - 1][1]
            found.append(Pattern(f"{group}/{item.name}", specification.only((item.name,)), source))
    return tuple(found)
