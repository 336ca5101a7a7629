"""The papers that models, data and metrics come from, as cards cite them: the entries of `papers.bib`.

The reader knows the form of that file and no other: an entry starts with `@kind{key,`, has one `name = {value}` in each
line and ends with `}`. What stands between entries is empty or starts with `%`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

_ENTRY = re.compile(r"^@\w+\{([\w-]+),\n((?:  \w+ += \{.*\},?\n)+)\}$", re.MULTILINE)
_FIELD = re.compile(r"^  (\w+) += \{(.*)\},?$", re.MULTILINE)
# Symbol embedding -> the keys of the papers that it comes from; task -> of those of its data.
_OF_EMBEDDING = {
    "streams": ("isik2026names",),
    "learned": ("isik2026names", "isik2025interchangeable"),
    "canonical": ("isik2026names",),
    "renamed": ("isik2025interchangeable",),
    "random": ("isik2025interchangeable",),
}
_OF_TASK = {
    "ltl": ("hahn2021teaching",),
    "ltl-operators": ("hahn2021teaching",),
    "prop": ("hahn2021teaching", "isik2025interchangeable"),
    "copy": ("isik2025interchangeable",),
    "tseitin": ("tseitin1968complexity", "hahn2021teaching"),
}


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its title, its address if the entry has one, and the entry as it stands in the file."""

    title: str
    url: str | None
    bibtex: str

    @property
    def link(self) -> str:
        """The paper as a Markdown link; the Hub shows the models, data sets and Spaces that link to it on its page."""
        return self.title if self.url is None else f"[{self.title}]({self.url})"


@cache
def known_papers() -> Mapping[str, Paper]:
    """Key -> paper, of all entries of `papers.bib`."""
    return read_bibliography((resources.files("hf_symbinv.hub.cards") / "papers.bib").read_text(encoding="utf-8"))


def read_bibliography(text: str) -> dict[str, Paper]:
    """Key -> paper, in the order of the text.

    Raises:
        ValueError: For what is not of the form that the module describes, an entry without a title, and a key that
            occurs twice.
    """
    rest = _ENTRY.sub("", text).splitlines()
    wrong = next((line for line in rest if line and not line.startswith("%")), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r}: belongs to no entry; write @kind{{key, then lines `  name = {{value}},`, then }}")
    found: dict[str, Paper] = {}
    for entry in _ENTRY.finditer(text):
        key, fields = entry[1], dict(_FIELD.findall(entry[2]))
        if key in found:
            raise ValueError(f"{key}: occurs twice; give each entry its own key")
        if "title" not in fields:
            raise ValueError(f"{key}: has no title; add one")
        found[key] = Paper(fields["title"], fields.get("url"), entry[0])
    return found


def papers_of(embedding: str | None, task: str | None) -> tuple[Paper, ...]:
    """The papers of an embedding and of a task, each once; SIT where nothing is known of the embedding."""
    return cited(*_OF_EMBEDDING.get(embedding or "", ("isik2026names",)), *_OF_TASK.get(task or "", ()))


def papers_of_task(task: str) -> tuple[Paper, ...]:
    """The papers that a task's data come from; none where nothing is known of the task."""
    return cited(*_OF_TASK.get(task, ()))


def cited(*keys: str) -> tuple[Paper, ...]:
    """The papers with these keys, each once."""
    return tuple(known_papers()[key] for key in dict.fromkeys(keys))


__all__ = ["Paper", "cited", "known_papers", "papers_of", "papers_of_task", "read_bibliography"]
