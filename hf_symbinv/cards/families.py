"""One card for each family of models, an embedding of symbols and a task: what holds for all checkpoints of it."""

from __future__ import annotations

from pathlib import Path

from hf_symbinv.cards.descriptions import EMBEDDINGS, TASKS
from hf_symbinv.cards.papers import papers_of
from hf_symbinv.cards.rendering import render
from hf_symbinv.tasks import TASKS as KNOWN

MARK = "<!-- Written by `symbinv card --families`. -->"


def family_card(task: str, embedding: str) -> str:
    """The card of the models with one embedding for one task."""
    return render(
        "family.md.jinja",
        mark=MARK,
        name=embedding,
        embedding=EMBEDDINGS[embedding],
        kind=TASKS[task],
        task=KNOWN[task],
        # One stream leaves nothing to aggregate.
        components="" if embedding == "streams" else " 'model.components=[EP, DP, CP]'",
        papers=papers_of(embedding, task),
    )


def write_family_cards(folder: Path) -> list[Path]:
    """Write the card of every family, `TASK-EMBEDDING.md`, into a folder; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for task in TASKS:
        for embedding in EMBEDDINGS:
            paths.append(folder / f"{task}-{embedding}.md")
            paths[-1].write_text(family_card(task, embedding), encoding="utf-8")
    return paths


__all__ = ["family_card", "write_family_cards"]
