"""Tiny models with random weights, and random inputs for them; every size differs from every other."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

SIZES = {"d_model": 18, "encoder_layers": 1, "decoder_layers": 2, "num_attention_heads": 3, "d_ff": 11, "dropout": 0.0}
BASE, PAD, EOS, START = 13, 1, 2, 0  # of the "ltl" preset
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TOKENS = ["<s>", "<pad>", "</s>", *"01&|!;{}UX"]


def tiny_config(preset: str = "ltl", **overrides: Any) -> SymbolInvariantConfig:
    return SymbolInvariantConfig.from_preset(preset, **{**SIZES, **overrides})


def tiny_model(
    preset: str = "ltl",
    *,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    attention: str = "sdpa",
    spread: float = 0.4,
    **overrides: Any,
) -> SymbolInvariantForConditionalGeneration:
    """A model in evaluation mode whose every parameter is random, biases and norms too, so that each one matters."""
    config = tiny_config(preset, **overrides)
    config._attn_implementation = attention
    model = SymbolInvariantForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(spread * noise + (1.0 if name.endswith("norm.weight") else 0.0))
    return model.to(dtype).eval()


def enable_checkpointing(model: Any, **kwargs: Any) -> None:
    """Turns activation checkpointing on, with torch's `kwargs`; older versions of transformers name it otherwise."""
    name = "activation" if hasattr(model, "activation_checkpointing_enable") else "gradient"
    getattr(model, f"{name}_checkpointing_enable")(*([kwargs] if kwargs else []))


def formula(rng: random.Random, size: int, leaves: Sequence[int], config: SymbolInvariantConfig) -> list[int]:
    """Ids of a random prefix formula of exactly `size` tokens; `leaves` are the ids of its operands."""
    unary = [token for token, arity in config.token_arity.items() if arity == 1]
    binary = [token for token, arity in config.token_arity.items() if arity == 2]
    if size == 1:
        return [rng.choice(leaves)]
    if size == 2 or rng.random() < 0.3:
        return [rng.choice(unary), *formula(rng, size - 1, leaves, config)]
    left = rng.randint(1, size - 2)
    return [
        rng.choice(binary),
        *formula(rng, left, leaves, config),
        *formula(rng, size - 1 - left, leaves, config),
    ]


def formula_with(rng: random.Random, size: int, symbols: Sequence[int], config: SymbolInvariantConfig) -> list[int]:
    """Ids of a random formula in which each of `symbols` occurs, or one of constants if there are none; EOS last."""
    while True:
        ids = formula(rng, size, symbols or [3, 4], config)
        leaves = [index for index, token in enumerate(ids) if token in symbols]
        if len(leaves) >= len(symbols):
            for index, symbol in zip(rng.sample(leaves, len(symbols)), symbols, strict=True):
                ids[index] = symbol
            return [*ids, config.eos_token_id]


def pad(
    rows: Sequence[Sequence[int]], side: str = "right", value: int = PAD, extra: int = 0
) -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask` of rows of ids, as wide as the longest and `extra` more."""
    width = max(map(len, rows)) + extra
    ids, mask = [], []
    for row in rows:
        filling, ones, zeros = [value] * (width - len(row)), [1] * len(row), [0] * (width - len(row))
        ids.append([*row, *filling] if side == "right" else [*filling, *row])
        mask.append(ones + zeros if side == "right" else zeros + ones)
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def rename(ids: torch.Tensor, renaming: dict[int, int], base: int = BASE) -> torch.Tensor:
    """`ids` with referent r replaced by `renaming[r]`; base ids and -100 stay."""
    return ids.clone().apply_(lambda token: base + renaming[token - base] if token >= base else token)


def text(ids: Sequence[int]) -> str:
    """The compact text of ids of the "ltl" preset, up to EOS and without the start token."""
    words = []
    for token in ids[1:]:
        if token == EOS:
            return "".join(words)
        words.append(TOKENS[token] if token < BASE else LETTERS[token - BASE])
    raise AssertionError(f"no EOS in {ids}")
