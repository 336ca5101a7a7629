"""How attention, feed-forward blocks and dropout are computed: every way there is, and for each the place that chooses.

`attend` chooses among the ways to attend, `feed_forward` among those of a feed-forward block; all ways give the same to
rounding. What a GPU computes by kernels of its own is registered from outside, by `hf_symbinv.kernels.enable()`.

Letters: B batch, G groups (H heads, or S·H), Q queries, K keys, E width of a head; R rows, D model width, F width of
the middle.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import nn

# Keys up to which attention on a CPU is written out in training, our choice: with 128 a step on answers of 100 tokens
# took a quarter more memory.
SHORT = 64

# Rows of the feed-forward block that a CPU computes together, our choice: 1024 x 1024 floats are 4 MB and stay in the
# cache. One core ran at 96 GFLOP/s, and at 36 with 8,192 rows; two are 9 % faster than with 512 rows.
ROWS = 1024


# Whether torch.export records: nothing may depend on values then, not even a shape. (`len(tensor)` would make a number
# of a dimension that is to stay open; `tensor.shape[0]` does not.) Torch 2.6 can only tell what is without Dynamo.
is_exporting: Callable[[], bool] = getattr(
    torch.compiler, "is_exporting", lambda: torch.compiler.is_compiling() and not torch.compiler.is_dynamo_compiling()
)


def reads_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `function` between two graphs of `torch.compile`: it reads values, to check them or to choose a shape.

    A graph breaks once then, and not at every value. While exporting, it is recorded, and must not read any.
    """
    outside = torch.compiler.disable(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (function if is_exporting() else outside)(*args, **kwargs)

    return call


@dataclass(frozen=True)
class Kernel:
    """Another way to compute what `attend` or `feed_forward` compute, of tensors with their shapes."""

    # Whether it takes them: for attention `fits(queries, keys, mask)`, for feed-forward `fits(states)`.
    fits: Callable[..., bool]
    # For attention `compute(queries, keys, values, mask)`; for feed-forward as `cached_feed_forward`, of `(..., D)`.
    compute: Callable[..., torch.Tensor]


@dataclass
class Kernels:
    """What is registered from outside, and goes first where it fits; None for nothing."""

    attention: Kernel | None = None
    feed_forward: Kernel | None = None


registered = Kernels()


def attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    eager: bool,
    output_weights: bool,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """softmax(Q Kᵀ / sqrt(E) + mask) V, computed in the way that suits device, size and request.

    Of `queries (B, G, Q, E)`, `keys (B, G, K, E)` and `values (B, G, K, E)`. `mask (B or 1, G or 1, Q or 1, K)` is
    bool, True where a query may attend, or floats that are added to the scores; None for attention everywhere. With
    `eager` (`attn_implementation="eager"`) it is written out, whatever the device.

    Returns:
        `(B, G, Q, E)`, and with `output_weights` the weights `(B, G, Q, K)`.
    """
    if not (eager or output_weights):
        if registered.attention is not None and registered.attention.fits(queries, keys, mask):
            return registered.attention.compute(queries, keys, values, mask), None
        # Written out, the backward pass over short sequences takes a CPU a third to two thirds of the fused one's time.
        trains = queries.requires_grad and queries.device.type == "cpu" and not is_exporting()
        if not (trains and keys.shape[-2] <= SHORT):
            return nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None
    weights = attention_weights(queries, keys, mask)
    return weights @ values, weights if output_weights else None


def attention_weights(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """softmax(Q Kᵀ / sqrt(E) + mask), `(B, G, Q, K)`, with a softmax in float32 at least.

    Of `queries (B, G, Q, E)` and `keys (B, G, K, E)`; `mask (B or 1, G or 1, Q or 1, K)` is as that of `attend`.
    """
    scores = (queries / math.sqrt(queries.shape[-1])) @ keys.transpose(-1, -2)  # (B, G, Q, K)
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, -math.inf)
        scores = scores + mask
    return scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(scores.dtype)


def feed_forward(states: torch.Tensor, first: nn.Linear, activation: nn.Module, second: nn.Linear) -> torch.Tensor:
    """W_2 f(W_1 x + b_1) + b_2, computed in the way that suits device and size.

    Maps x, the `states (..., D)`, to the same shape; `first` has W_1 `(F, D)` and b_1, `second` W_2 `(D, F)` and b_2.
    """
    kernel = registered.feed_forward
    is_special = (kernel is not None and kernel.fits(states)) or fits_cache(states)
    if not (is_special and isinstance(activation, nn.ReLU) and is_plain(first) and is_plain(second)):
        return second(activation(first(states)))
    weights = (first.weight, first.bias, second.weight, second.bias)
    if kernel is not None and kernel.fits(states):
        return kernel.compute(states, *weights)
    return cached_feed_forward(states.reshape(-1, states.shape[-1]), *weights).view_as(states)  # of (R, D)


def is_plain(linear: nn.Linear) -> bool:
    """Whether nothing but plain weights decides what a layer does: no adapter, quantisation, hook or other forward."""
    own = linear.__dict__  # read directly, since this is asked at every layer of every step
    hooks = own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"]
    if type(linear) is not nn.Linear or hooks or "forward" in own:
        return False
    return all(type(parameter) is nn.Parameter for parameter in own["_parameters"].values())


def fits_cache(states: torch.Tensor) -> bool:
    """Whether `states (..., D)` are rows enough on a CPU, in a precision in which gradients can be summed in pieces."""
    return (
        not torch.compiler.is_compiling()
        and states.device.type == "cpu"
        and states.numel() > ROWS * states.shape[-1]
        and states.dtype in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
    )


def cached_feed_forward(
    rows: torch.Tensor, weight1: torch.Tensor, bias1: torch.Tensor, weight2: torch.Tensor, bias2: torch.Tensor
) -> torch.Tensor:
    """W_2 relu(W_1 x + b_1) + b_2, whose wide middle goes through the cache of a CPU and never through memory.

    The middle is computed again in the backward pass. Equal to the plain products to rounding, and deterministic.
    Maps x, the `rows (R, D)`, to the same shape, by `weight1 (F, D)`, `bias1 (F,)`, `weight2 (D, F)`, `bias2 (D,)`.
    """
    return _CachedFeedForward.apply(rows, weight1, bias1, weight2, bias2)


class _CachedFeedForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight1, bias1, weight2, bias2):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x, weight1, bias1, weight2)
        out = torch.empty(len(x), len(weight2), dtype=x.dtype)
        for rows, result in zip(x.split(ROWS), out.split(ROWS), strict=True):
            torch.addmm(bias2, torch.addmm(bias1, rows, weight1.T).relu_(), weight2.T, out=result)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        x, weight1, bias1, weight2 = ctx.saved_tensors
        gradient = gradient.contiguous()
        gradient_x, gradient2 = torch.empty_like(x), torch.zeros_like(weight2)
        gradient1, gradient_bias1 = torch.zeros_like(weight1.T, memory_format=torch.contiguous_format), bias1 * 0
        for rows, result, into in zip(x.split(ROWS), gradient.split(ROWS), gradient_x.split(ROWS), strict=True):
            middle = torch.addmm(bias1, rows, weight1.T).relu_()  # (rows, F)
            gradient2.addmm_(result.T, middle)
            back = torch.ops.aten.threshold_backward(result @ weight2, middle, 0)  # where the ReLU let through
            gradient1.addmm_(rows.T, back)
            gradient_bias1 += back.sum(0)
            torch.mm(back, weight1, out=into)
        return gradient_x, gradient1.T, gradient_bias1, gradient2, gradient.sum(0)


class _Masked(torch.autograd.Function):
    """`scale * states`, and 0 where `dropped (…)` is True. Keeps one byte per element for the backward pass."""

    @staticmethod
    def forward(ctx, states, dropped, scale):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(dropped)
        ctx.scale = scale
        return (states * scale).masked_fill_(dropped, 0)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (dropped,) = ctx.saved_tensors
        return (gradient * ctx.scale).masked_fill_(dropped, 0), None, None


class Dropout(nn.Dropout):
    """nn.Dropout whose masks on a CPU come from 16 random bits per element, seven times as fast as Bernoulli draws.

    The probability is rounded to a multiple of 2^-16 and what is kept is scaled by the rounded one, so means are exact.
    """

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Drops numbers of `states (...)`, whatever their shape, in training; gives the same shape."""
        if not self.training or self.p == 0:
            return states
        if states.device.type != "cpu" or torch.compiler.is_compiling():
            return super().forward(states)
        kept = round((1 - self.p) * 2**16)
        bits = torch.empty(-(-states.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        dropped = (bits[: states.numel()] >= kept - 2**15).view_as(states)
        return _Masked.apply(states, dropped, 2**16 / kept)
