"""Models that are trained to do something else than to answer questions with symbols.

A **relative** is a family of such models, mostly from one paper: language models, and readers that say something of
a sequence, or of each token. Its **variants** are the family's own model and those that it is compared with. Here stand
facts. Prose stands in `templates/relatives`, and that on each variant in `templates/embeddings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hf_symbinv.hub.cards.papers import Paper, cited

# Variants to which names matter.
BASELINES = ("regularised", "learned", "canonical", "renamed", "vanilla")


@dataclass(frozen=True, slots=True)
class Relative:
    """A family of models.

    Attributes:
        title: What its models are for.
        tags: On the Hub.
        heads: Architecture -> the Hub's name for what such models do, its `pipeline_tag`; the family's own first.
        variants: Names of what such models make of symbols; the paper's own first.
        fields: Of the configuration, those that say what model it is.
        tables: Experiments of `python -m papers`; empty if no paper has such models.
        paper: The key of the paper that it is from.
    """

    title: str
    tags: tuple[str, ...]
    heads: Mapping[str, str]
    variants: tuple[str, ...]
    fields: tuple[str, ...]
    tables: tuple[str, ...]
    paper: str

    def architecture(self, config: Mapping[str, Any]) -> str | None:
        """The class of the model with this `config.json`; None if it is none of the family's."""
        name = (config.get("architectures") or [next(iter(self.heads))])[0]
        return name if name in self.heads else None


_IDENTITY_FIELDS = ("identity_qk", "identity_vo", "identity_multiplier")

RELATIVES = {
    "lexinvariant": Relative(
        title="sequences of symbols",
        tags=("symbol-invariance", "lexinvariant"),
        heads={"SymbolInvariantForCausalLM": "text-generation"},
        variants=("gaussian", "regularised", "learned", "renamed", "streams"),
        fields=(
            "symbol_embedding", "random_share", "num_symbols", "d_model", "decoder_layers", "num_attention_heads",
            "d_ff", "activation_function", "dropout", "decoder_positions", "loss", *_IDENTITY_FIELDS,
        ),
        tables=(
            "lexinv-markov", "lexinv-streams", "lexinv-text", "lexinv-cipher", "lexinv-streams-keys", "lexinv-symbols",
        ),
        paper="huang2023lexinvariant",
    ),
    "identity-gpt2": Relative(
        title="reasoning with abstract symbols",
        tags=("symbolic-reasoning", "gpt2"),
        heads={
            "IdentityGPT2LMHeadModel": "text-generation",
            "IdentityGPT2ForSequenceClassification": "text-classification",
        },
        variants=("identity", "vanilla"),
        fields=("n_embd", "n_layer", "n_head", "n_positions", "vocab_size", *_IDENTITY_FIELDS),
        tables=("identity-templates", "identity-symbols", "identity-copy", "identity-kernel", "identity-gpt2"),
        paper="abstractsymbols",
    ),
    "renamer": Relative(
        title="predicting a number or a class of a sequence",
        tags=("symbol-invariance", "renamer", "code"),
        heads={"SymbolInvariantForSequenceClassification": "text-classification"},
        variants=("views", "learned", "canonical", "renamed", "streams"),
        fields=(
            "symbol_embedding", "num_symbols", "num_views", "d_model", "encoder_layers", "encoder_passes",
            "num_attention_heads", "d_ff", "activation_function", "dropout", "encoder_positions",
            "encoder_positions_in_layers", "max_positions", "pooling", "problem_type",
            "regression_loss", *_IDENTITY_FIELDS,
        ),
        tables=("renamer-blocks", "renamer-sizes", "renamer-figure2", "renamer-derivatives"),
        paper="ankner-renamer",
    ),
    "tokens": Relative(
        title="pointing at symbols and classifying tokens",
        tags=("symbol-invariance", "code"),
        heads={
            "SymbolInvariantForMaskedLM": "fill-mask",
            "SymbolInvariantForTokenClassification": "token-classification",
        },
        variants=("streams", "views", "learned", "canonical", "renamed"),
        fields=(
            "symbol_embedding", "components", "num_symbols", "num_views", "d_model", "encoder_layers",
            "encoder_passes", "num_attention_heads", "d_ff", "activation_function", "dropout", "encoder_positions",
            "encoder_positions_in_layers", "loss", *_IDENTITY_FIELDS,
        ),
        tables=(),
        paper="isik2026names",
    ),
    "encoder": Relative(
        title="vectors and classes of texts and of their tokens",
        tags=("symbol-invariance",),
        heads={
            "SymbolInvariantEncoder": "feature-extraction",
            "SymbolInvariantEncoderForSequenceClassification": "text-classification",
            "SymbolInvariantEncoderForTokenClassification": "token-classification",
        },
        variants=("streams",),
        fields=("base_vocab_size", "mixing_layers", "num_labels"),
        tables=(),
        paper="isik2026names",
    ),
}  # fmt: skip


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


def papers_of_variant(relative: Relative, variant: str) -> tuple[Paper, ...]:
    """The papers of a relative, and of streams and of views that of those."""
    own = {"streams": ["isik2026names"], "views": ["ankner-renamer"]}
    return cited(relative.paper, *own.get(variant, []))


__all__ = ["BASELINES", "RELATIVES", "Relative", "papers_of_variant", "relative_name", "relative_of", "variant_of"]
