"""Tiny models with random weights, and random inputs for them; every size differs from every other."""

import random
from collections.abc import Sequence
from typing import Any

import torch
from transformers import TrainingArguments
from transformers.generation.streamers import BaseStreamer

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM, SymbolInvariantForConditionalGeneration

SIZES = {"d_model": 18, "encoder_layers": 1, "decoder_layers": 2, "num_attention_heads": 3, "d_ff": 11, "dropout": 0.0}
SIZES |= {"scale_embedding": True}  # random models then name symbols
BASE, PAD, EOS, START = 13, 1, 2, 0  # of the "ltl" preset
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TOKENS = ["<s>", "<pad>", "</s>", *"01&|!;{}UX"]
ALL = ["EP", "EA", "DP", "DA", "CP", "CA"]


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
    return randomised(SymbolInvariantForConditionalGeneration(config), seed=seed, dtype=dtype, spread=spread)


def tiny_decoder(**fields: Any) -> SymbolInvariantForCausalLM:
    """A decoder alone as the preset "lexinvariant" has it, in evaluation mode, with the ids of "ltl"."""
    sizes = {**SIZES, "encoder_layers": 0, "base_vocab_size": BASE, "num_symbols": 7}
    return SymbolInvariantForCausalLM(SymbolInvariantConfig.from_preset("lexinvariant", **sizes, **fields)).eval()


def randomised(
    model: Any, *, seed: int = 0, dtype: torch.dtype = torch.float64, spread: float = 0.4, identity: float | None = None
) -> Any:
    """`model` in evaluation mode with normal parameters, norms and scales around 1; those of identities may differ."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            factor = spread if identity is None or "identity" not in name else identity
            parameter.copy_(factor * noise + (1.0 if name.endswith(("norm.weight", ".scale")) else 0.0))
    return model.to(dtype).eval()


def trainer_arguments(folder: Any, kind: type[TrainingArguments] = TrainingArguments, **fields: Any) -> Any:
    """Arguments of a trainer on the CPU that, unless `fields` say so, shows, reports and saves nothing."""
    quiet = {"use_cpu": True, "save_strategy": "no", "report_to": [], "disable_tqdm": True, "logging_steps": 5}
    return kind(str(folder), **{**quiet, "dataloader_pin_memory": False, **fields})


def gradients(model: Any, **inputs: Any) -> dict[str, torch.Tensor]:
    """The loss, and the gradient of each parameter that has one."""
    model.zero_grad()
    loss = model(**inputs).loss
    loss.backward()
    given = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    return {"loss": loss.detach(), **{name: gradient.clone() for name, gradient in given.items()}}


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
    return [rng.choice(binary), *formula(rng, left, leaves, config), *formula(rng, size - 1 - left, leaves, config)]


def formula_with(rng: random.Random, size: int, symbols: Sequence[int], config: SymbolInvariantConfig) -> list[int]:
    """Ids of a random formula in which each of `symbols` occurs, or one of constants if there are none; EOS last."""
    while True:
        ids = formula(rng, size, symbols or [3, 4], config)
        leaves = [index for index, token in enumerate(ids) if token in symbols]
        if len(leaves) >= len(symbols):
            for index, symbol in zip(rng.sample(leaves, len(symbols)), symbols, strict=True):
                ids[index] = symbol
            return [*ids, config.eos_token_id]


def examples(
    config: SymbolInvariantConfig,
    counts: Sequence[int] = (0, 3, 1, 4, 2),
    referents: Sequence[int] = (0, 1, 2, 5, 7, 12, 30, 999),
    late: int = 77,
    seed: int = 0,
) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and targets of different lengths, with so many symbols; two of them are joined by a `late` one."""
    rng, base = random.Random(seed), config.base_vocab_size
    sources, targets = [], []
    for index, count in enumerate(counts):
        symbols = [base + referent for referent in rng.sample(referents, count)]
        sources.append(formula_with(rng, 6 + (index * 2) % 5, symbols, config))
        answer = [rng.choice([*range(3, base), *symbols * 3]) for _ in range(3 + index % 4)]
        targets.append([config.decoder_start_token_id, *answer, *([base + late] if count == 2 else [])])
    return sources, targets


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


def rename(ids: torch.Tensor, renaming: Any, base: int = BASE, views: int = 1) -> torch.Tensor:
    """`ids` with referent r replaced by `renaming[r]` in the same view; base ids and -100 stay."""

    def of(token: int) -> int:
        referent, view = divmod(token - base, views)
        return base + renaming[referent] * views + view if token >= base else token

    return ids.clone().apply_(of)


def rename_each(ids: torch.Tensor, renamings: Sequence[Any], views: int = 1) -> torch.Tensor:
    """`ids` with as many rows for each of `renamings`, which are renamed by it."""
    parts = zip(ids.split(len(ids) // len(renamings)), renamings, strict=True)
    return torch.cat([rename(part, renaming, views=views) for part, renaming in parts])


def read_in_pieces(model: Any, batch: dict[str, torch.Tensor], targets: torch.Tensor, cuts: Sequence[int]) -> Any:
    """Logits of answers that are read from a cache up to each of `cuts`, then to their end."""
    cache, steps, encoded = None, [], model.model.encode(**batch)
    for start, stop in zip((0, *cuts), (*cuts, targets.shape[1]), strict=True):
        output = model(
            encoder_outputs=encoded, attention_mask=batch["attention_mask"], past_key_values=cache, use_cache=True,
            decoder_input_ids=targets[:, start:stop],
        )  # fmt: skip
        cache = output.past_key_values
        steps.append(output.logits)
    return torch.cat(steps, 1)


class Recorder(BaseStreamer):
    """Keeps what a streamer is given, and whether it was told the end."""

    def __init__(self) -> None:
        self.values: list[torch.Tensor] = []
        self.ended = False

    def put(self, value: torch.Tensor) -> None:
        self.values.append(value.clone())

    def end(self) -> None:
        self.ended = True


def text(ids: Sequence[int]) -> str:
    """The compact text of ids of the "ltl" preset, up to EOS and without the start token."""
    words = []
    for token in ids[1:]:
        if token == EOS:
            return "".join(words)
        words.append(TOKENS[token] if token < BASE else LETTERS[token - BASE])
    raise AssertionError(f"no EOS in {ids}")
