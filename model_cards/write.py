"""One card for each family of models: what holds for all checkpoints of an embedding and a task, or of a relative.

python model_cards/write.py
"""

from __future__ import annotations

import shlex
from pathlib import Path

from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.dataset import LICENSE
from hf_symbinv.hub.cards.families import EMBEDDINGS, PAPER_TASKS, RELATIVES, TASKS, cited, papers_of
from hf_symbinv.hub.cards.rendering import check_card, program, render
from hf_symbinv.tasks import TASKS as KNOWN

MARK = "<!-- Written by `model_cards/write.py`. -->"
# Sizes of models without streams: those of `papers/streams/scales/cpu.yaml`. The recipes have the sizes of streams.
_SMALL = {"logic": "d_model=64 num_attention_heads=4 encoder_layers=4 decoder_layers=2 d_ff=256",
          "copy": "d_model=64 num_attention_heads=4"}  # fmt: skip
# Dimensions of random parts: the same file's, and those of ITE section 5.2.3; the recipe `copy-paper` has its own.
_RANDOM_DIM = {"logic": (8, 5), "copy": (6, 8)}


def family_card(task: str, embedding: str) -> str:
    """The card of the models with one embedding for one task."""
    small, paper = training_commands(task, embedding)
    return render(
        "family.md.jinja",
        mark=MARK, name=embedding, kind=TASKS[task], task=KNOWN[task], small=small, paper=paper,
        papers=papers_of(embedding, task),
    )  # fmt: skip


def training_commands(task: str, embedding: str) -> tuple[str, str]:
    """The commands that train a small model of a family, and one of a paper's sizes."""
    kind = "copy" if task == "copy" else "logic"
    small, paper = list[str](), list[str]()
    if embedding != "streams":
        preset = [] if kind == "copy" else [f"preset={task}-baseline"]
        small += [*preset, f"symbol_embedding={embedding}", *_SMALL[kind].split()]
        paper += [*preset, f"symbol_embedding={embedding}"]
    elif kind == "copy":
        paper += ["symbol_embedding=streams"]
    if embedding == "random":
        small.append(f"random_dim={_RANDOM_DIM[kind][0]}")
        paper.append(f"random_dim={_RANDOM_DIM[kind][1]}")
    # With the recipe's rate for AdamW, random embeddings learn little of propositional logic.
    rate = ["trainer.learning_rate=3.0e-4"] if (task, embedding) == ("prop", "random") else []
    return (
        shlex.join(["symbinv", "train", f"{task}-small", *(f"model.{field}" for field in small), *rate]),
        shlex.join(["symbinv", "train", f"{task}-paper", *(f"model.{field}" for field in paper)]),
    )


def relative_card(name: str) -> str:
    """The card of a relative, with the metadata that the Hub reads."""
    from huggingface_hub import ModelCardData

    relative = RELATIVES[name]
    architecture, tag = next(iter(relative.heads.items()))
    metadata = ModelCardData(library_name="transformers", pipeline_tag=tag, license=LICENSE, tags=list(relative.tags))
    text = render(
        "relative.md.jinja",
        card_data=metadata.to_yaml(), mark=MARK, name=name, relative=relative,
        program=program(architecture, "OWNER/NAME"), papers=cited(relative.paper),
    )  # fmt: skip
    return check_card(text, "model")


def write_family_cards(folder: Path) -> list[Path]:
    """Write the card of every family, `TASK-EMBEDDING.md` and `RELATIVE.md`, into a folder; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    cards = {f"{task}-{embedding}": family_card(task, embedding) for task in PAPER_TASKS for embedding in EMBEDDINGS}
    cards |= {name: relative_card(name) for name in RELATIVES}
    paths = [folder / f"{name}.md" for name in cards]
    for path, text in zip(paths, cards.values(), strict=True):
        write_atomically(path, text)
    return paths


if __name__ == "__main__":
    print("\n".join(map(str, write_family_cards(Path(__file__).parent))))
