"""Small models that answer no questions, one of each kind."""

from hf_symbinv import (
    IdentityGPT2Config,
    IdentityGPT2LMHeadModel,
    SymbolInvariantConfig,
    SymbolInvariantEncoder,
    SymbolInvariantEncoderConfig,
    SymbolInvariantForCausalLM,
    SymbolInvariantForSequenceClassification,
    SymbolInvariantForTokenClassification,
)
from papers.renamer import x86

SIZES = {"d_model": 16, "num_attention_heads": 2, "d_ff": 24}
BLOCKS = {"base_vocab_size": len(x86.BASE_TOKENS), "num_views": len(x86.VIEWS), "num_symbols": len(x86.REFERENTS)}
PROGRAMS = {
    "base_tokens": ["<s>", "<pad>", "</s>", "<mask>", "=", "+", ";", "1", "return"], "mask_token": "<mask>",
    "symbols": {name: [place, 0] for place, name in enumerate("abxy")},
}  # fmt: skip


def language_model(**fields):
    config = SymbolInvariantConfig.from_preset("lexinvariant", num_symbols=96, decoder_layers=1, **SIZES, **fields)
    return SymbolInvariantForCausalLM(config)


def reader(**fields):
    config = SymbolInvariantConfig.from_preset("renamer-tiny", **BLOCKS, **SIZES, num_labels=1, **fields)
    return SymbolInvariantForSequenceClassification(config)


def tokens(kind=SymbolInvariantForTokenClassification, **fields):
    sizes = {"base_vocab_size": len(PROGRAMS["base_tokens"]), "num_symbols": 4, "encoder_layers": 1, "num_labels": 2}
    return kind(SymbolInvariantConfig(**sizes, **SIZES, decoder_layers=0, **fields))


def gpt2(kind=IdentityGPT2LMHeadModel, **fields):
    sizes = {"vocab_size": 9, "n_positions": 8, "n_embd": 12, "n_layer": 1, "n_head": 2, "num_labels": 1}
    return kind(IdentityGPT2Config(**sizes, bos_token_id=None, eos_token_id=None, pad_token_id=0, **fields))


def encoder(kind=SymbolInvariantEncoder):
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    bert = {"model_type": "bert", "vocab_size": 300, "_name_or_path": "alice/bert", **sizes}
    return kind(SymbolInvariantEncoderConfig(encoder=bert, mixing_layers=1))
