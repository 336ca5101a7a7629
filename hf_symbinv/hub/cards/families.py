"""Families of models, tasks and papers: what a card has to know of them besides its prose, which is in `templates`.

Tasks and relatives stand in `families.yaml`, papers in `papers.bib`.

Models with encoder and decoder answer questions of a task. A **relative** is a family of models that do something else,
mostly from one paper: language models, and readers that say something of a sequence, or of each token. Its **variants**
are the family's own model and those that it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml

# Symbol embeddings of the models that answer questions.
EMBEDDINGS = ("streams", "learned", "canonical", "renamed", "random")
# Variants to which names matter.
BASELINES = ("regularised", "learned", "canonical", "renamed", "vanilla")
# Fields of a configuration that say what model it is, as far as it has them.
FIELDS = (
    "symbol_embedding", "random_share", "components", "num_symbols", "num_views", "d_model", "encoder_layers",
    "encoder_passes", "decoder_layers", "num_attention_heads", "d_ff", "activation_function", "dropout",
    "encoder_positions", "encoder_positions_in_layers", "decoder_positions", "problem_type", "loss", "identity_qk",
    "identity_vo", "n_embd", "n_layer", "n_head", "n_positions", "vocab_size", "mixing_layers", "num_labels",
)  # fmt: skip


class Kind(NamedTuple):
    """The models of a task.

    Attributes:
        title: What they give.
        tags: Of the task, on the Hub.
        pipeline: The name of their pipeline.
        example: A question as a user writes it.
        papers: Keys of the papers that the task's data come from.
    """

    title: str
    tags: Sequence[str]
    pipeline: str
    example: str
    papers: Sequence[str]


# Tasks of the papers; the others have no models of a paper's sizes, and no card of a family.
PAPER_TASKS = ("ltl", "prop", "copy")


class Relative(NamedTuple):
    """A family of models that answer no questions.

    Attributes:
        title: What its models are for.
        tags: On the Hub.
        heads: Architecture -> the Hub's name for what such models do, its `pipeline_tag`; the family's own first.
        variants: Names of what such models make of symbols; the paper's own first.
        tables: Experiments of `python -m papers`; empty if no paper has such models.
        paper: The key of the paper that it is from.
    """

    title: str
    tags: Sequence[str]
    heads: Mapping[str, str]
    variants: Sequence[str]
    tables: Sequence[str]
    paper: str

    def architecture(self, config: Mapping[str, Any]) -> str | None:
        """The class of the model with this `config.json`; None if it is none of the family's."""
        name = (config.get("architectures") or [next(iter(self.heads))])[0]
        return name if name in self.heads else None


_KNOWN = yaml.safe_load((resources.files("hf_symbinv.hub.cards") / "families.yaml").read_text(encoding="utf-8"))
TASKS = {name: Kind(**fields) for name, fields in _KNOWN["tasks"].items()}
RELATIVES = {name: Relative(**fields) for name, fields in _KNOWN["relatives"].items()}


def relative_name(config: Mapping[str, Any]) -> str | None:
    """The name of the relative that a model is of; None for a model with encoder and decoder.

    Args:
        config: As `config.json` has it.
    """
    if config.get("model_type") == "identity_gpt2":
        return "identity-gpt2"
    if config.get("model_type") == "symbol_invariant_encoder":
        return "encoder"
    if config.get("encoder_layers") == 0:
        return "lexinvariant"
    if config.get("decoder_layers") != 0:
        return None
    return "tokens" if RELATIVES["tokens"].heads.keys() & set(config.get("architectures") or ()) else "renamer"


def relative_of(config: Mapping[str, Any]) -> Relative | None:
    """The relative that a model is of; None for a model with encoder and decoder."""
    name = relative_name(config)
    return None if name is None else RELATIVES[name]


def variant_of(config: Mapping[str, Any]) -> str:
    """The name of a relative's variant."""
    if config.get("model_type") == "identity_gpt2":
        return "identity" if config.get("identity_qk", True) or config.get("identity_vo", True) else "vanilla"
    embedding = str(config.get("symbol_embedding", "streams"))
    return "regularised" if embedding == "gaussian" and config.get("random_share", 1) < 1 else embedding


class Paper(NamedTuple):
    """A paper: its title, its address if the entry has one, and the entry as it stands in `papers.bib`."""

    title: str
    url: str | None
    bibtex: str

    @property
    def link(self) -> str:
        """The paper as a Markdown link; the Hub shows the models, data sets and Spaces that link to it on its page."""
        return self.title if self.url is None else f"[{self.title}]({self.url})"


@cache
def known_papers() -> Mapping[str, Paper]:
    """Key -> paper, of all entries of `papers.bib`, which have one `name = {value}` in each line."""
    text = (resources.files("hf_symbinv.hub.cards") / "papers.bib").read_text(encoding="utf-8")
    found = {}
    for entry in re.finditer(r"^@\w+\{([\w-]+),\n.*?^\}$", text, re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^  (\w+) += \{(.*)\},?$", entry[0], re.MULTILINE))
        found[entry[1]] = Paper(fields["title"], fields.get("url"), entry[0])
    return found


def cited(*keys: str) -> tuple[Paper, ...]:
    """The papers with these keys, each once."""
    return tuple(known_papers()[key] for key in dict.fromkeys(keys))


def papers_of(embedding: str | None, task: str | None) -> tuple[Paper, ...]:
    """The papers of an embedding and of a task; SIT where nothing is known of the embedding, none if that is empty."""
    interchangeable: dict[str, tuple[str, ...]] = {"learned": ("isik2026names", "isik2025interchangeable")}
    interchangeable |= dict.fromkeys(("renamed", "random"), ("isik2025interchangeable",))
    own = () if embedding == "" else interchangeable.get(embedding or "", ("isik2026names",))
    return cited(*own, *(TASKS[task].papers if task in TASKS else ()))


def papers_of_variant(relative: Relative, variant: str) -> tuple[Paper, ...]:
    """The papers of a relative, and of streams and of views that of those."""
    own = {"streams": ["isik2026names"], "views": ["ankner-renamer"]}
    return cited(relative.paper, *own.get(variant, []))
