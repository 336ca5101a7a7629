"""What a GPU makes faster: Triton kernels beside what they stand for, and compiled graphs beside eager layers.

`TRITON_INTERPRET=1 python benchmarks/run.py kernels training-kernels training-text --tiny --device cpu` rehearses them
without a GPU.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import torch
from harness import Row, Setting, in_turn
from inputs import paper_model, synthetic_batch
from torch.nn import functional
from training import optimizer_of, step

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM
from hf_symbinv.kernels import disable, enable

# A batch of SIT's LTL run: examples, streams, tokens; width, heads and middle of its model.
BATCH, TOY_BATCH = (768, 5, 24), (2, 2, 3)
MODEL, TOY_MODEL = (64, 4, 1024), (16, 1, 24)
# Texts, their characters, and the model of the scale `gpu` of the lexinvariant tables.
TEXTS, TOY_TEXTS = (64, 512), (2, 8)
TEXT_MODEL = {"d_model": 512, "decoder_layers": 8, "num_attention_heads": 8, "d_ff": 2048}
TOY_TEXT_MODEL = {"d_model": 16, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 24}
CHARACTERS = 96
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CALLS = 20  # of one turn, so that waiting for the GPU does not count


def cannot_run(setting: Setting, name: str) -> bool:
    """Whether there is nothing to measure on, which is said."""
    missing = setting.device != "cuda" and os.environ.get("TRITON_INTERPRET") != "1"
    if missing:
        print(f"{name}: left out, it measures a GPU (tests of what it measures run without one)", file=sys.stderr)
    return missing


def plain_feed_forward(
    x: torch.Tensor, weight1: torch.Tensor, bias1: torch.Tensor, weight2: torch.Tensor, bias2: torch.Tensor
) -> torch.Tensor:
    """What `relu_feed_forward` computes, with the middle in memory."""
    return functional.linear(functional.linear(x, weight1, bias1).relu(), weight2, bias2)


def plain_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """What `short_attention` computes, as torch computes it best."""
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def beside_plain(setting: Setting, name: str, what: str, ours: Callable, plain: Callable, inputs: list) -> list[Row]:
    """Forward and backward passes of ours beside the plain function, eager and compiled, in both precisions."""
    rows = []
    for precision, dtype in PRECISIONS.items():
        on_device = [tensor.to(setting.device) for tensor in inputs]
        tensors = [each.to(dtype).requires_grad_() if each.is_floating_point() else each for each in on_device]
        wanted = [tensor for tensor in tensors if tensor.requires_grad]

        def turn(function: Callable, tensors: list = tensors, wanted: list = wanted) -> None:
            for _ in range(1 if setting.tiny else CALLS):
                out = function(*tensors)
                torch.autograd.grad(out, wanted, torch.ones_like(out))

        for peer, function in (("eager", plain), ("compiled", torch.compile(plain))):
            mine, theirs = in_turn(setting, lambda: turn(ours), lambda function=function: turn(function))
            rows.append(
                Row(f"{name}-{precision}-{peer}", f"{what}, {precision}, forward and backward", f"torch, {peer}", "s",
                    "at least", 1, mine, theirs, f"{CALLS} times")
            )  # fmt: skip
    return rows


def kernels(setting: Setting) -> list[Row]:
    """The feed-forward block, attention of each stream, and attention of all streams to one view of them."""
    if cannot_run(setting, "kernels"):
        return []
    from hf_symbinv.kernels.triton_kernels import relu_feed_forward, short_attention

    generator = torch.Generator().manual_seed(0)
    (examples, streams, tokens), (width, heads, inner) = (TOY_BATCH, TOY_MODEL) if setting.tiny else (BATCH, MODEL)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    block = [random(examples * streams * tokens, width), random(inner, width) / width**0.5, random(inner)]
    block += [random(width, inner) / inner**0.5, random(width)]
    mask = torch.arange(tokens) <= torch.randint(tokens // 2, tokens, (examples, 1, 1, 1), generator=generator)
    what = f"feed-forward, {len(block[0])} rows, {width} → {inner} → {width}"
    rows = beside_plain(setting, "feed-forward", what, relu_feed_forward, plain_feed_forward, block)
    for name, groups, queries in (("streams", streams * heads, tokens), ("aggregated", heads, streams * tokens)):
        states = [random(examples, groups, count, width // heads) for count in (queries, tokens, tokens)]
        what = f"attention, {examples} x {groups} x {queries} queries, {tokens} keys"
        rows += beside_plain(setting, name, what, short_attention, plain_attention, [*states, mask])
    return rows


def training_kernels(setting: Setting) -> list[Row]:
    """The paper's training step in bfloat16 with kernels, with compiled layers, and with both, beside eager layers."""
    if cannot_run(setting, "training-kernels"):
        return []
    examples, streams, tokens = TOY_BATCH if setting.tiny else BATCH
    batch = synthetic_batch(setting, examples, streams, 2 * streams + 1 if setting.tiny else tokens, tokens)

    def stepper(triton: bool, compiled: bool) -> Callable[[], None]:
        model = paper_model(setting).train()
        if compiled:
            model.model.encoder.compile(dynamic=True)
            model.model.decoder.compile(dynamic=True)
        optimizer = optimizer_of(model, setting)

        def losses(piece: dict, labels: int) -> torch.Tensor:
            with torch.autocast(setting.device, torch.bfloat16):
                return model(**piece, num_items_in_batch=labels).loss

        def one() -> None:
            if triton:
                enable()
            try:
                step(model, optimizer, losses, [batch])
            finally:
                disable()

        return one

    ways = {"kernels": (True, False), "compiled": (False, True), "both": (True, True)}
    eager, *values = in_turn(setting, stepper(False, False), *(stepper(*way) for way in ways.values()))
    what = f"training step, {examples} rows, {streams} symbols, bfloat16"
    return [
        Row(f"training-{name}", f"{what}: {name}", "eager layers", "s", "at least", 1, mine, eager)
        for name, mine in zip(ways, values, strict=True)
    ]


def training_text(setting: Setting) -> list[Row]:
    """A lexinvariant model's training step in bfloat16, with compiled layers and compiled whole, beside eager."""
    if cannot_run(setting, "training-text"):
        return []
    (rows, length), sizes = (TOY_TEXTS, TOY_TEXT_MODEL) if setting.tiny else (TEXTS, TEXT_MODEL)
    config = SymbolInvariantConfig.from_preset("lexinvariant", num_symbols=CHARACTERS, **sizes)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(config.base_vocab_size, config.vocab_size, (rows, 1 + length), generator=generator)
    ids[:, 0] = config.bos_token_id
    batch = {"input_ids": ids.to(setting.device), "labels": ids.to(setting.device)}

    def stepper(compiled: str) -> Callable[[], None]:
        torch.manual_seed(0)
        model = SymbolInvariantForCausalLM(config).to(setting.device).train()
        if compiled == "layers":
            model.model.decoder.compile()
        called = torch.compile(model) if compiled == "whole" else model
        optimizer = optimizer_of(model, setting)

        def losses(piece: dict, labels: int) -> torch.Tensor:
            with torch.autocast(setting.device, torch.bfloat16):
                return called(**piece).loss

        return lambda: step(model, optimizer, losses, [batch])

    eager, *values = in_turn(setting, *map(stepper, ("", "layers", "whole")))
    what = f"training step, {rows} texts of {length} characters, bfloat16"
    return [
        Row(f"training-text-{name}", f"{what}: compiled {name}", "eager", "s", "at least", 1, mine, eager)
        for name, mine in zip(("layers", "whole"), values, strict=True)
    ]


BENCHMARKS = {"kernels": kernels, "training-kernels": training_kernels, "training-text": training_text}
