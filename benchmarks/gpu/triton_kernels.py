"""Triton kernels for a GPU: a feed-forward block whose middle stays on chip, and attention over short sequences.

Each computes what a few lines of `modeling/layers_symbinv.py` do, which are its oracle, and is deterministic: no sum
depends on the order in which programs finish. With `TRITON_INTERPRET=1` in the environment they run on a CPU, slowly,
as their tests do. No model uses them but within `in_layers`, until a GPU has shown that they are faster.

Both compute in bfloat16 under autocast to bfloat16, else in the precision of their input, and sum in float32.

Letters: R rows, D model width, F width of the middle; B batch, G groups (H heads, or S·H), Q queries, K keys, E width
of a head.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import triton
import triton.language as tl
from torch import nn

from hf_symbinv.modeling import layers_symbinv as layers

# Widest rows that lie on chip whole, and most keys of one example, our choice: four tiles of 64 x 128 floats take half
# of the registers of a processor.
MAX_WIDTH = 128
MAX_KEYS = 128

# Pieces of the rows over which gradients of weights are summed apart, and then together: with a program for each of
# them and each 64 of the paper's 1,024 middle columns, 256 for the 132 processors of an H100 or H200.
_SPLITS = 16

_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
_PRECISIONS = (torch.float32, torch.bfloat16)


def can_run() -> bool:
    """Whether there is something to run the kernels on: a GPU, or Triton's interpreter."""
    return _INTERPRETED or torch.cuda.is_available()


@contextmanager
def in_layers() -> Iterator[None]:
    """While it is open, the layers of every model of this process compute by these kernels what these take."""
    attend, feed_forward = layers.attend, layers.FeedForward.forward

    def attend_by_kernel(
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        mask: torch.Tensor | None,
        eager: bool,
        output_weights: bool,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if eager or output_weights or not attention_fits(queries, keys, mask):
            return attend(queries, keys, values, mask, eager, output_weights)
        return short_attention(queries, keys, values, mask), None

    def feed_forward_by_kernel(block: layers.FeedForward, hidden_states: torch.Tensor) -> torch.Tensor:
        first, second = block.fc1, block.fc2
        is_plain = isinstance(block.activation, nn.ReLU) and layers.is_plain(first) and layers.is_plain(second)
        if not (is_plain and feed_forward_fits(hidden_states)):
            return feed_forward(block, hidden_states)
        read = block.read(hidden_states)
        computed = relu_feed_forward(read, first.weight, first.bias, second.weight, second.bias)
        return block.add(hidden_states, computed)

    layers.attend, layers.FeedForward.forward = attend_by_kernel, feed_forward_by_kernel  # type: ignore[method-assign]
    try:
        yield
    finally:
        layers.attend, layers.FeedForward.forward = attend, feed_forward  # type: ignore[method-assign]


def feed_forward_fits(x: torch.Tensor) -> bool:
    """Whether `relu_feed_forward` takes `x (..., D)`."""
    return _fits(x) and x.shape[-1] <= MAX_WIDTH


def attention_fits(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor | None) -> bool:
    """Whether `short_attention` takes `queries (B, G, Q, E)`, `keys (B, G, K, E)` and `mask (B, G, Q, K)`."""
    is_plain = mask is None or mask.dtype == torch.bool
    return _fits(queries) and is_plain and keys.shape[2] <= MAX_KEYS and keys.shape[3] <= MAX_WIDTH


def _fits(states: torch.Tensor) -> bool:
    return states.numel() > 0 and (states.is_cuda or _INTERPRETED) and _precision(states) in _PRECISIONS


def _precision(states: torch.Tensor) -> torch.dtype:
    """What products are computed in: as autocast says, else as the states are."""
    device = states.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype


def relu_feed_forward(
    x: torch.Tensor, weight1: torch.Tensor, bias1: torch.Tensor, weight2: torch.Tensor, bias2: torch.Tensor
) -> torch.Tensor:
    """W_2 relu(W_1 x + b_1) + b_2, computing the middle again in the backward pass.

    Args:
        x: `(..., D)`, float32 or bfloat16.
        weight1, bias1: `(F, D)` and `(F,)`.
        weight2, bias2: `(D, F)` and `(D,)`.

    Returns:
        `(..., D)`, in the precision of the computation.
    """
    rows = x.reshape(-1, x.shape[-1])
    weights = (weight1.contiguous(), bias1, weight2.contiguous(), bias2)
    return _feed_forward(rows.contiguous(), *weights, _precision(x)).view(x.shape)


def short_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """softmax(Q Kᵀ / sqrt(E)) V with all keys of an example and head on chip; no weights go through memory.

    Args:
        queries: `(B, G, Q, E)`, float32 or bfloat16.
        keys, values: `(B, G, K, E)`.
        mask: bool, broadcasts to `(B, G, Q, K)`, True where a query may attend, at least once per query; None for
            everywhere.

    Returns:
        `(B, G, Q, E)`, in the precision of the computation.
    """
    return _attention(queries, keys, values, mask, _precision(queries))


@triton.jit
def _dot(a, b, PRECISION: tl.constexpr, WIDEN: tl.constexpr):  # type: ignore[no-untyped-def]
    """a b in float32. The interpreter multiplies the bits of bfloat16 as integers, so there they are widened first."""
    if WIDEN:
        a = a.to(tl.float32)
        b = b.to(tl.float32)
    return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def _tile(pointer, row, column, rows, columns, stride, COMPUTE: tl.constexpr):  # type: ignore[no-untyped-def]
    """A tile of a matrix, zero outside of it."""
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    place = row.to(tl.int64)[:, None] * stride + column[None, :]
    return tl.load(pointer + place, mask=inside, other=0.0).to(COMPUTE)


@triton.jit
def _put(pointer, values, row, column, rows, columns, stride):  # type: ignore[no-untyped-def]
    """Writes a tile of a matrix, but what lies outside of it."""
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    tl.store(pointer + row.to(tl.int64)[:, None] * stride + column[None, :], values, mask=inside)


@triton.jit(do_not_specialize=["rows"])
def _feed_forward_kernel(  # type: ignore[no-untyped-def]
    x, weight1, bias1, weight2, bias2, out, rows,
    WIDTH: tl.constexpr, INNER: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
    BLOCK_INNER: tl.constexpr, COMPUTE: tl.constexpr, PRECISION: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """A program per block of rows."""
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    column = tl.arange(0, BLOCK_WIDTH)
    states = _tile(x, row, column, rows, WIDTH, WIDTH, COMPUTE)
    total = tl.zeros((BLOCK_ROWS, BLOCK_WIDTH), tl.float32)
    for start in range(0, INNER, BLOCK_INNER):
        inner = start + tl.arange(0, BLOCK_INNER)
        first = _tile(weight1, inner, column, INNER, WIDTH, WIDTH, COMPUTE)
        second = _tile(weight2, column, inner, WIDTH, INNER, INNER, COMPUTE)
        bias = tl.load(bias1 + inner, mask=inner < INNER, other=0.0).to(tl.float32)
        middle = tl.maximum(_dot(states, tl.trans(first), PRECISION, WIDEN) + bias[None, :], 0.0)
        total += _dot(middle.to(COMPUTE), tl.trans(second), PRECISION, WIDEN)
    total += tl.load(bias2 + column, mask=column < WIDTH, other=0.0).to(tl.float32)[None, :]
    _put(out, total, row, column, rows, WIDTH, WIDTH)


@triton.jit(do_not_specialize=["rows"])
def _feed_forward_states_kernel(  # type: ignore[no-untyped-def]
    x, gradient, weight1, bias1, weight2, out, rows,
    WIDTH: tl.constexpr, INNER: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
    BLOCK_INNER: tl.constexpr, COMPUTE: tl.constexpr, PRECISION: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """The gradient of `x`: a program per block of rows."""
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    column = tl.arange(0, BLOCK_WIDTH)
    states = _tile(x, row, column, rows, WIDTH, WIDTH, COMPUTE)
    given = _tile(gradient, row, column, rows, WIDTH, WIDTH, COMPUTE)
    total = tl.zeros((BLOCK_ROWS, BLOCK_WIDTH), tl.float32)
    for start in range(0, INNER, BLOCK_INNER):
        inner = start + tl.arange(0, BLOCK_INNER)
        first = _tile(weight1, inner, column, INNER, WIDTH, WIDTH, COMPUTE)
        second = _tile(weight2, column, inner, WIDTH, INNER, INNER, COMPUTE)
        bias = tl.load(bias1 + inner, mask=inner < INNER, other=0.0).to(tl.float32)
        middle = _dot(states, tl.trans(first), PRECISION, WIDEN) + bias[None, :]
        back = tl.where(middle > 0, _dot(given, second, PRECISION, WIDEN), 0.0)
        total += _dot(back.to(COMPUTE), first, PRECISION, WIDEN)
    _put(out, total, row, column, rows, WIDTH, WIDTH)


@triton.jit(do_not_specialize=["rows", "rows_per_split"])
def _feed_forward_weights_kernel(  # type: ignore[no-untyped-def]
    x, gradient, weight1, bias1, weight2, out1, out_bias1, out2, rows, rows_per_split,
    WIDTH: tl.constexpr, INNER: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
    BLOCK_INNER: tl.constexpr, COMPUTE: tl.constexpr, PRECISION: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """Gradients of the weights, summed over one piece of the rows: a program per block of middle columns and piece.

    `out1` and `out2` are `(pieces, F, D)`, `out_bias1` is `(pieces, F)`.
    """
    split = tl.program_id(1)
    column = tl.arange(0, BLOCK_WIDTH)
    inner = tl.program_id(0) * BLOCK_INNER + tl.arange(0, BLOCK_INNER)
    first = _tile(weight1, inner, column, INNER, WIDTH, WIDTH, COMPUTE)
    second = _tile(weight2, column, inner, WIDTH, INNER, INNER, COMPUTE)
    bias = tl.load(bias1 + inner, mask=inner < INNER, other=0.0).to(tl.float32)
    total1 = tl.zeros((BLOCK_INNER, BLOCK_WIDTH), tl.float32)
    total2 = tl.zeros((BLOCK_INNER, BLOCK_WIDTH), tl.float32)
    total_bias = tl.zeros((BLOCK_INNER,), tl.float32)
    for start in range(split * rows_per_split, tl.minimum((split + 1) * rows_per_split, rows), BLOCK_ROWS):
        row = start + tl.arange(0, BLOCK_ROWS)
        states = _tile(x, row, column, rows, WIDTH, WIDTH, COMPUTE)
        given = _tile(gradient, row, column, rows, WIDTH, WIDTH, COMPUTE)
        middle = tl.maximum(_dot(states, tl.trans(first), PRECISION, WIDEN) + bias[None, :], 0.0)
        back = tl.where(middle > 0, _dot(given, second, PRECISION, WIDEN), 0.0)
        total_bias += tl.sum(back, 0)
        total1 += _dot(tl.trans(back.to(COMPUTE)), states, PRECISION, WIDEN)
        total2 += _dot(tl.trans(middle.to(COMPUTE)), given, PRECISION, WIDEN)
    _put(out1 + split * INNER * WIDTH, total1, inner, column, INNER, WIDTH, WIDTH)
    _put(out2 + split * INNER * WIDTH, total2, inner, column, INNER, WIDTH, WIDTH)
    tl.store(out_bias1 + split * INNER + inner, total_bias, mask=inner < INNER)


@triton.jit
def _weights(  # type: ignore[no-untyped-def]
    queries, keys, mask, query, key, num_queries, num_keys, mask_row, mask_key, scale,
    HAS_MASK: tl.constexpr, PRECISION: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    """The weights of a tile of queries, in float32; queries beyond the last attend to all keys."""
    scores = _dot(queries, tl.trans(keys), PRECISION, WIDEN) * scale
    seen = (key < num_keys)[None, :]
    if HAS_MASK:
        inside = seen & (query < num_queries)[:, None]
        seen = seen & (tl.load(mask + query[:, None] * mask_row + key[None, :] * mask_key, mask=inside, other=1) != 0)
    scores = tl.where(seen, scores, float("-inf"))
    powers = tl.exp(scores - tl.max(scores, 1)[:, None])
    return powers / tl.sum(powers, 1)[:, None]


@triton.jit(do_not_specialize=["num_queries", "num_keys"])
def _attention_kernel(  # type: ignore[no-untyped-def]
    queries, keys, values, mask, out, num_queries, num_keys, scale,
    query_b, query_g, query_row, key_b, key_g, key_row, value_b, value_g, value_row,
    mask_b, mask_g, mask_row, mask_key,
    GROUPS: tl.constexpr, WIDTH: tl.constexpr, BLOCK_QUERIES: tl.constexpr, BLOCK_KEYS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr, HAS_MASK: tl.constexpr, COMPUTE: tl.constexpr, PRECISION: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """A program per example, group and block of queries."""
    place = tl.program_id(0).to(tl.int64)
    b, g = place // GROUPS, place % GROUPS
    query = tl.program_id(1) * BLOCK_QUERIES + tl.arange(0, BLOCK_QUERIES)
    key, column = tl.arange(0, BLOCK_KEYS), tl.arange(0, BLOCK_WIDTH)
    own = _tile(queries + b * query_b + g * query_g, query, column, num_queries, WIDTH, query_row, COMPUTE)
    others = _tile(keys + b * key_b + g * key_g, key, column, num_keys, WIDTH, key_row, COMPUTE)
    inputs = _tile(values + b * value_b + g * value_g, key, column, num_keys, WIDTH, value_row, COMPUTE)
    weights = _weights(
        own, others, mask + b * mask_b + g * mask_g, query, key, num_queries, num_keys, mask_row, mask_key, scale,
        HAS_MASK, PRECISION, WIDEN,
    )  # fmt: skip
    attended = _dot(weights.to(COMPUTE), inputs, PRECISION, WIDEN)
    _put(out + place * num_queries * WIDTH, attended, query, column, num_queries, WIDTH, WIDTH)


@triton.jit(do_not_specialize=["num_queries", "num_keys"])
def _attention_backward_kernel(  # type: ignore[no-untyped-def]
    gradient, queries, keys, values, mask, out_queries, out_keys, out_values, num_queries, num_keys, scale,
    query_b, query_g, query_row, key_b, key_g, key_row, value_b, value_g, value_row,
    mask_b, mask_g, mask_row, mask_key,
    GROUPS: tl.constexpr, WIDTH: tl.constexpr, BLOCK_QUERIES: tl.constexpr, BLOCK_KEYS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr, HAS_MASK: tl.constexpr, COMPUTE: tl.constexpr, PRECISION: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """A program per example and group takes all blocks of queries in turn, keeping sums for its keys and values."""
    place = tl.program_id(0).to(tl.int64)
    b, g = place // GROUPS, place % GROUPS
    key, column = tl.arange(0, BLOCK_KEYS), tl.arange(0, BLOCK_WIDTH)
    others = _tile(keys + b * key_b + g * key_g, key, column, num_keys, WIDTH, key_row, COMPUTE)
    inputs = _tile(values + b * value_b + g * value_g, key, column, num_keys, WIDTH, value_row, COMPUTE)
    total_keys = tl.zeros((BLOCK_KEYS, BLOCK_WIDTH), tl.float32)
    total_values = tl.zeros((BLOCK_KEYS, BLOCK_WIDTH), tl.float32)
    for start in range(0, num_queries, BLOCK_QUERIES):
        query = start + tl.arange(0, BLOCK_QUERIES)
        own = _tile(queries + b * query_b + g * query_g, query, column, num_queries, WIDTH, query_row, COMPUTE)
        given = _tile(gradient + place * num_queries * WIDTH, query, column, num_queries, WIDTH, WIDTH, COMPUTE)
        weights = _weights(
            own, others, mask + b * mask_b + g * mask_g, query, key, num_queries, num_keys, mask_row, mask_key, scale,
            HAS_MASK, PRECISION, WIDEN,
        )  # fmt: skip
        back = _dot(given, tl.trans(inputs), PRECISION, WIDEN)
        back = (weights * (back - tl.sum(weights * back, 1)[:, None]) * scale).to(COMPUTE)
        total_values += _dot(tl.trans(weights.to(COMPUTE)), given, PRECISION, WIDEN)
        total_keys += _dot(tl.trans(back), own, PRECISION, WIDEN)
        found = _dot(back, others, PRECISION, WIDEN)
        _put(out_queries + place * num_queries * WIDTH, found, query, column, num_queries, WIDTH, WIDTH)
    _put(out_keys + place * num_keys * WIDTH, total_keys, key, column, num_keys, WIDTH, WIDTH)
    _put(out_values + place * num_keys * WIDTH, total_values, key, column, num_keys, WIDTH, WIDTH)


def _dots(compute: torch.dtype) -> dict[str, Any]:
    """How tiles are multiplied: bfloat16 as it is, float32 as torch is told to."""
    return {
        "COMPUTE": tl.bfloat16 if compute == torch.bfloat16 else tl.float32,
        "PRECISION": "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee",
        "WIDEN": _INTERPRETED,
    }


def _feed_forward_blocks(width: int, inner: int, compute: torch.dtype) -> dict[str, Any]:
    is_narrow = width <= 64
    return {
        "WIDTH": width,
        "INNER": inner,
        "BLOCK_ROWS": 128 if is_narrow else 64,
        "BLOCK_WIDTH": max(16, triton.next_power_of_2(width)),
        "BLOCK_INNER": 64 if is_narrow else 32,
        **_dots(compute),
    }


# The compiler takes these for what they say they are, without looking inside.
@torch.library.custom_op("hf_symbinv::feed_forward", mutates_args=())
def _feed_forward(
    x: torch.Tensor,
    weight1: torch.Tensor,
    bias1: torch.Tensor,
    weight2: torch.Tensor,
    bias2: torch.Tensor,
    compute: torch.dtype,
) -> torch.Tensor:
    out = torch.empty_like(x, dtype=compute)
    blocks = _feed_forward_blocks(x.shape[1], len(weight1), compute)
    grid = (triton.cdiv(len(x), blocks["BLOCK_ROWS"]),)
    # Every program reads all weights, so their conversion pays.
    weights = (weight1.to(compute), bias1, weight2.to(compute), bias2)
    _feed_forward_kernel[grid](x, *weights, out, len(x), **blocks)
    return out


@_feed_forward.register_fake
def _(x, weight1, bias1, weight2, bias2, compute):  # type: ignore[no-untyped-def]
    return torch.empty_like(x, dtype=compute)


@torch.library.custom_op("hf_symbinv::feed_forward_backward", mutates_args=())
def _feed_forward_backward(
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight1: torch.Tensor,
    bias1: torch.Tensor,
    weight2: torch.Tensor,
    compute: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    gradient, inner, (rows, width) = gradient.contiguous(), len(weight1), x.shape
    blocks = _feed_forward_blocks(width, inner, compute)
    gradient_x = torch.empty_like(x)
    inputs = (x, gradient, weight1.to(compute), bias1, weight2.to(compute))
    _feed_forward_states_kernel[(triton.cdiv(rows, blocks["BLOCK_ROWS"]),)](*inputs, gradient_x, rows, **blocks)
    blocks["BLOCK_ROWS"] = 64
    rows_per_split = triton.cdiv(triton.cdiv(rows, 64), _SPLITS) * 64
    splits = triton.cdiv(rows, rows_per_split)
    part1, part2 = (x.new_empty(splits, inner, width, dtype=torch.float32) for _ in range(2))
    part_bias1 = x.new_empty(splits, inner, dtype=torch.float32)
    grid = (triton.cdiv(inner, blocks["BLOCK_INNER"]), splits)
    parts = (part1, part_bias1, part2)
    _feed_forward_weights_kernel[grid](*inputs, *parts, rows, rows_per_split, **blocks)
    gradient1, gradient_bias1, gradient2 = (part.sum(0).to(weight1.dtype) for part in parts)
    return gradient_x, gradient1, gradient_bias1, gradient2.T.contiguous()


@_feed_forward_backward.register_fake
def _(gradient, x, weight1, bias1, weight2, compute):  # type: ignore[no-untyped-def]
    return tuple(torch.empty_like(tensor) for tensor in (x, weight1, bias1, weight2))


def _feed_forward_saved(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *tensors, bias2, ctx.compute = inputs
    ctx.save_for_backward(*tensors)
    ctx.bias_dtype = bias2.dtype


def _feed_forward_gradients(ctx, gradient):  # type: ignore[no-untyped-def]
    found = _feed_forward_backward(gradient, *ctx.saved_tensors, ctx.compute)
    return *found, gradient.sum(0, dtype=torch.float32).to(ctx.bias_dtype), None


_feed_forward.register_autograd(_feed_forward_gradients, setup_context=_feed_forward_saved)


def _attention_arguments(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None, compute: torch.dtype
) -> tuple[list[torch.Tensor], list[Any], dict[str, Any]]:
    """The tensors, the numbers and the constants that both kernels take."""
    batch, groups, num_queries, width = queries.shape
    num_keys = keys.shape[2]
    states = [tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (queries, keys, values)]
    strides = [stride for tensor in states for stride in tensor.stride()[:3]]
    if mask is None:
        seen, mask_strides = states[0], (0, 0, 0, 0)  # never read
    else:
        seen = mask.expand(batch, groups, num_queries, num_keys).view(torch.uint8)
        mask_strides = seen.stride()
    constants = {
        "GROUPS": groups,
        "WIDTH": width,
        "BLOCK_QUERIES": max(16, min(64, triton.next_power_of_2(num_queries))),
        "BLOCK_KEYS": max(16, triton.next_power_of_2(num_keys)),
        "BLOCK_WIDTH": max(16, triton.next_power_of_2(width)),
        "HAS_MASK": mask is not None,
        **_dots(compute),
    }
    return [*states, seen], [num_queries, num_keys, 1 / math.sqrt(width), *strides, *mask_strides], constants


@torch.library.custom_op("hf_symbinv::attention", mutates_args=())
def _attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    compute: torch.dtype,
) -> torch.Tensor:
    tensors, numbers, constants = _attention_arguments(queries, keys, values, mask, compute)
    out = queries.new_empty(queries.shape, dtype=compute)
    batch, groups, num_queries, _ = queries.shape
    grid = (batch * groups, triton.cdiv(num_queries, constants["BLOCK_QUERIES"]))
    _attention_kernel[grid](*tensors, out, *numbers, **constants)
    return out


@_attention.register_fake
def _(queries, keys, values, mask, compute):  # type: ignore[no-untyped-def]
    return queries.new_empty(queries.shape, dtype=compute)


@torch.library.custom_op("hf_symbinv::attention_backward", mutates_args=())
def _attention_backward(
    gradient: torch.Tensor,
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    compute: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    tensors, numbers, constants = _attention_arguments(queries, keys, values, mask, compute)
    found = tuple(tensor.new_empty(tensor.shape) for tensor in (queries, keys, values))
    grid = (queries.shape[0] * queries.shape[1],)
    _attention_backward_kernel[grid](gradient.contiguous(), *tensors, *found, *numbers, **constants)
    return found


@_attention_backward.register_fake
def _(gradient, queries, keys, values, mask, compute):  # type: ignore[no-untyped-def]
    return tuple(tensor.new_empty(tensor.shape) for tensor in (queries, keys, values))


def _attention_saved(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *tensors, ctx.compute = inputs
    ctx.save_for_backward(*tensors)


def _attention_gradients(ctx, gradient):  # type: ignore[no-untyped-def]
    return *_attention_backward(gradient, *ctx.saved_tensors, ctx.compute), None, None


_attention.register_autograd(_attention_gradients, setup_context=_attention_saved)
