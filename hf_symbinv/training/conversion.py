"""A trained vanilla model becomes a model with streams: the embeddings change, every other parameter stays as it is.

A model with `learned`, `renamed` or `canonical` rows and one with streams have the same blocks, if their components are
EP, DP and CP. The row of one symbol becomes the *actual* row, that of another the *placeholder* row (SIT section 5.8).
What comes out is symbol-invariant at once, and answers well after a little more training: name its folder as `start` in
a recipe. With aggregated attention besides, it has the paper's EP EA DP CP.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hf_symbinv.errors import UserError
from hf_symbinv.files import folder_atomically, write_atomically
from hf_symbinv.hub.cards.facts import CONVERSION, hub_id, read_facts
from hf_symbinv.hub.cards.model import write_model_card
from hf_symbinv.hub.cards.rendering import public
from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TABLE = "model.embedding.weight"
COMPONENTS = ("EP", "DP", "CP")


class ConversionError(UserError):
    """A model that cannot be converted to one with streams; the message says which one can."""


def to_streams(
    model: SymbolInvariantForConditionalGeneration, actual: int = 0, placeholder: int = 1, aggregated: bool = False
) -> SymbolInvariantForConditionalGeneration:
    """A new model with streams, made of a trained one with a row per symbol.

    Args:
        model: with `symbol_embedding` `learned`, `renamed` or `canonical` and the components EP, DP and CP.
        actual: referent whose row every stream sees at its own symbol; of canonical names the first symbol is 0.
        placeholder: referent whose row it sees at all others.
        aggregated: add an EA block behind each EP, which changes no output before it is trained.

    Returns:
        The model, in evaluation mode, with the dtype, the generation configuration and the grammar of `model`.

    Raises:
        ConversionError: If `model` is of another kind, has other components or fewer than two symbols, or a referent
            has no row or both are the same.
    Source: SIT section 5.8.
    """
    config = model.config
    for holds, rule in (
        (
            config.symbol_embedding in ("learned", "renamed", "canonical"),
            f"symbol_embedding={config.symbol_embedding!r}: only a row that a symbol has of its own can become the "
            "actual or the placeholder row; convert a model with learned, renamed or canonical",
        ),
        (
            sorted(config.components) == sorted(COMPONENTS),
            f'components="{"-".join(config.components)}": a vanilla model has {"-".join(COMPONENTS)}; convert one of '
            "those",
        ),
        (
            actual != placeholder and {actual, placeholder} <= set(range(config.num_symbols)),
            f"actual={actual} and placeholder={placeholder}: the model has rows for the symbols "
            f"0 … {config.num_symbols - 1} (a, b, …); use two of them",
        ),
        (
            not (aggregated and (config.norm_first or config.identity_qk or config.identity_vo)),
            "aggregated: an EA block has no effect only behind blocks that end in their norm and have no identities; "
            "convert without it",
        ),
    ):
        if not holds:
            raise ConversionError(rule)

    components = ["EP", "DP", "EA", "CP"] if aggregated else list(COMPONENTS)
    fields = {**config.to_dict(), "symbol_embedding": "streams", "components": components}
    converted = SymbolInvariantForConditionalGeneration(SymbolInvariantConfig.from_dict(fields)).to(model.dtype)
    state, base = dict(model.state_dict()), config.base_vocab_size
    rows = state[TABLE]
    own = rows[base:].view(config.num_symbols, config.num_views, -1)
    state[TABLE] = torch.cat((rows[:base], own[actual], own[placeholder]))
    del state["lm_head.weight"]  # the table under its other name
    converted.load_state_dict(state, strict=not aggregated)
    if aggregated:
        for layer in converted.model.encoder.layers:
            _add_without_effect(layer.self_attention["EP"], layer.self_attention["EA"])
    converted.generation_config = copy.deepcopy(model.generation_config)
    return converted.to(model.device).eval()


@torch.no_grad()
def _add_without_effect(own: Any, all_: Any) -> None:
    """Makes an EA block that leaves what an EP block before it gives, and asks as that does.

    EP's gain g and shift b move to EA's norm: LN(g z + b) is not g z + b, but g LN(z) + b is, for z of mean 0 and
    variance 1. EA's projections read z for g z + b.
    """
    gain, shift = own.norm.weight.clone(), own.norm.bias.clone()
    for name in ("q_proj", "k_proj", "v_proj"):
        source, target = getattr(own, name), getattr(all_, name)
        target.weight.copy_(source.weight * gain)
        target.bias.copy_(source.bias + source.weight @ shift)
    all_.out_proj.weight.zero_()
    all_.out_proj.bias.zero_()
    all_.norm.weight.copy_(gain)
    all_.norm.bias.copy_(shift)
    own.norm.weight.fill_(1.0)
    own.norm.bias.zero_()


def save_converted(
    model: SymbolInvariantForConditionalGeneration,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | Path,
    *,
    source: str,
    how: str,
) -> None:
    """Writes a model with its tokenizer, and what it was made of into `conversion.json` and a card: all, or nothing.

    Args:
        model, tokenizer: what to save.
        folder: made if it does not exist.
        source: name of the checkpoint it was made of.
        how: a sentence on what was done.
    """
    repository = "/".join(source.split("/")[:2])  # of OWNER/NAME/FOLDER too
    made = {"source": public(source), "how": how, "base_model": hub_id(repository)}
    text = json.dumps(made, indent=2, ensure_ascii=False)
    with folder_atomically(Path(folder)) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        write_atomically(partial / CONVERSION, text + "\n")
        write_model_card(partial, read_facts(partial))
