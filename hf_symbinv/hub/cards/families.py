"""One card for each family of models: what holds for all checkpoints of an embedding and a task, or of a relative."""

from __future__ import annotations

from pathlib import Path

from hf_symbinv.hub.cards.dataset import LICENSE
from hf_symbinv.hub.cards.descriptions import EMBEDDINGS, TASKS
from hf_symbinv.hub.cards.papers import papers_of
from hf_symbinv.hub.cards.relatives import RELATIVES
from hf_symbinv.hub.cards.rendering import check_card, render
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


def relative_card(name: str) -> str:
    """The card of a relative, with the metadata that the Hub reads."""
    from huggingface_hub import ModelCardData

    relative = RELATIVES[name]
    head, (own, *others) = next(iter(relative.heads.values())), relative.variants.values()
    metadata = ModelCardData(
        library_name="transformers", pipeline_tag=head.pipeline_tag, license=LICENSE, tags=list(relative.tags)
    )
    text = render(
        "relative.md.jinja",
        card_data=metadata.to_yaml(), mark=MARK, relative=relative, head=head, own=own, others=others,
    )  # fmt: skip
    return check_card(text, "model")


def write_family_cards(folder: Path) -> list[Path]:
    """Write the card of every family, `TASK-EMBEDDING.md` and `RELATIVE.md`, into a folder; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    cards = {f"{task}-{embedding}": family_card(task, embedding) for task in TASKS for embedding in EMBEDDINGS}
    cards |= {name: relative_card(name) for name in RELATIVES}
    paths = [folder / f"{name}.md" for name in cards]
    for path, text in zip(paths, cards.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


__all__ = ["family_card", "relative_card", "write_family_cards"]
