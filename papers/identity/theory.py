"""The theory of template tasks in numbers: the kernel of a random transformer, and the start of learning to copy.

Letters: N strings, K tokens of a string, V tokens of the vocabulary, G random attention heads, D embedding width.

Source: When can transformers reason with abstract symbols? (2024), sections 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from papers.identity.templates import CLS, TemplateTask

PIECE = 50  # heads at a time: 60 MB for 450 strings and 650 tokens


def attention_kernel(
    ids: torch.Tensor, vocab_size: int, *, beta: float, gamma: float, heads: int, generator: torch.Generator
) -> torch.Tensor:
    """K_attn of all pairs of strings, by the same random heads for all, so that it is a kernel whatever their number.

    `K_attn(X, Y) = E[smax(β m(X))ᵀ (X Yᵀ + γ² I) smax(β m(Y))]`, where m is Gaussian with the covariance
    `X Yᵀ + γ² I` and X has the one-hot vectors of a string's tokens as rows. So m is a random number for each token of
    the vocabulary and γ times one for each position.

    Args:
        ids: `(N, K)`, each string ending with `CLS`.
        vocab_size: V.
        beta, gamma: The inverse temperature, and the strength of positions.
        heads: G, whose mean stands for the expectation.
        generator: Of the random numbers.

    Returns:
        `(N, N)`, float64.

    Source: Equation 3.
    """
    count, length = ids.shape
    kernel = torch.zeros(count, count, dtype=torch.float64)
    for start in range(0, heads, PIECE):
        piece = min(PIECE, heads - start)
        of_token, of_place = (torch.randn(piece, size, generator=generator) for size in (vocab_size, length))
        scores = of_token[:, ids] + gamma * of_place.unsqueeze(1)  # (G, N, K)
        weights = (beta * scores).softmax(-1)
        features = torch.zeros(piece, count, vocab_size).scatter_add(2, ids.expand(piece, -1, -1), weights)
        features = torch.cat((features, gamma * weights), dim=2)  # (G, N, V + K)
        features = features.transpose(0, 1).reshape(count, -1)
        kernel += (features @ features.T).double()
    return kernel / heads


def matching_kernel(ids: torch.Tensor) -> torch.Tensor:
    """The share of positions at which two strings `(N, K)` have the same token: what an MLP on one-hot vectors sees.

    Source: section 4.3.
    """
    return (ids.unsqueeze(0) == ids.unsqueeze(1)).double().mean(-1)


def cosine_features_kernel(kernel: torch.Tensor, b1: float, b2: float) -> torch.Tensor:
    """`E[φ(u) φ(v)]` for Gaussian u and v with the covariance `kernel` and `φ(t) = cos(b₁ t + b₂)`, a random MLP layer.

    `½ exp(-b₁² (K_uu + K_vv) / 2) (exp(b₁² K_uv) + cos(2 b₂) exp(-b₁² K_uv))`, since the product of cosines is half the
    sum of those of difference and sum of the arguments. Source: Equation 3.
    """
    diagonal = kernel.diagonal()
    outer = torch.exp(-(b1**2) * (diagonal.unsqueeze(0) + diagonal.unsqueeze(1)) / 2)
    return outer * (torch.exp(b1**2 * kernel) + math.cos(2 * b2) * torch.exp(-(b1**2) * kernel)) / 2


def template_pairs(task: TemplateTask) -> tuple[torch.Tensor, int]:
    """Ids of each template substituted once, then of each substituted with other symbols; and V. Source: Equation 6."""
    strings, highest = [], 0
    for first in (0, len(task.wildcards)):
        for template in task.templates:
            wildcards = task.wildcards_of(template)
            substitution = {wildcard: f"s{first + place}" for place, wildcard in enumerate(wildcards)}
            tokens, _ = task.substitute(template, substitution)
            strings.append(task.token_ids([*tokens, CLS]))
            highest = max(highest, *strings[-1])
    return torch.tensor(strings), highest + 1


def template_matrix(kernel: torch.Tensor) -> torch.Tensor:
    """N of Equation 5 from the kernel `(2 r, 2 r)` of `template_pairs`."""
    half = len(kernel) // 2
    block = kernel[:half, half:]
    return (block + block.T) / 2


def log_condition(matrix: torch.Tensor) -> float:
    """log₁₀ of the smallest over the largest singular value: 0 at best, -15.7 (rounding) of a singular matrix."""
    values = torch.linalg.svdvals(matrix)
    smallest = max(float(values[-1] / values[0]), torch.finfo(matrix.dtype).eps)
    return math.log10(smallest)


def ridge_regression(kernel: torch.Tensor, labels: torch.Tensor, ridge: float) -> torch.Tensor:
    """Predictions for the strings after the first `len(labels)`, on which it is trained.

    Args:
        kernel: Of all strings.
        labels: Of the first ones.
        ridge: λ, as a multiple of the mean of the kernel's diagonal.

    Source: Equation 4.
    """
    count = len(labels)
    train = kernel[:count, :count]
    regularised = train + ridge * train.diagonal().mean() * torch.eye(count, dtype=kernel.dtype)
    return kernel[count:, :count] @ torch.linalg.solve(regularised, labels.to(kernel.dtype))


class CopyingAttention(nn.Module):
    """`f(x) = W_E (Σ_h W_Oᵀ W_V + b I) W_Eᵀ x`: attention on a string of one token, with tied embeddings.

    Args:
        vocab_size: V.
        width: D; the heads together have as many dimensions.
        identity: Whether there is a trainable b, 0 at first.

    Source: Equation 10 with γ = 0, and Theorem 5.2. The one position tells nothing; as a part of every input that all
    training tokens share it makes the loss on unseen ones rise at first (with γ = 1 and D = 512, by 0.6 for 1). All
    weights are drawn with variance 1 / D, our choice, so that vectors have length 1 and logits do not grow with D.
    """

    def __init__(self, vocab_size: int, width: int, *, identity: bool) -> None:
        super().__init__()
        self.embedding, self.value, self.output = (
            nn.Parameter(torch.randn(rows, width) / width**0.5) for rows in (vocab_size, width, width)
        )
        self.identity = nn.Parameter(torch.zeros(())) if identity else None

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits `(N, V)` for the tokens `(N,)`."""
        inputs = self.embedding[ids]
        hidden = inputs @ self.value.T @ self.output
        if self.identity is not None:
            hidden = hidden + self.identity * inputs
        return hidden @ self.embedding.T


def start_of_copying(model: CopyingAttention, train: torch.Tensor, test: torch.Tensor) -> float:
    """How fast the loss on unseen tokens falls at the start of gradient flow, while that on training tokens falls by 1.

    Half of the fall is b's, where there is one: learning rates may differ, and are chosen so.

    Args:
        model: As it begins.
        train, test: Tokens `(N,)`.

    Source: Theorems 5.1 and 5.2.
    """
    fall, groups = 0.0, _groups(model)
    for group in groups:
        seen, unseen = (torch.autograd.grad(_loss(model, tokens), group) for tokens in (train, test))
        both = sum(float((one * other).sum()) for one, other in zip(seen, unseen, strict=True))
        fall += both / _squared(seen)
    return fall / len(groups)


def descend(model: CopyingAttention, train: torch.Tensor, *, steps: int, step: float) -> None:
    """Gradient descent with the learning rates of `start_of_copying`.

    Args:
        model: Is trained.
        train: Tokens `(N,)`, all in every step.
        steps: How many.
        step: How far the loss would fall in the first one, if it was as steep all along.
    """
    groups = _groups(model)
    rates = [step / len(groups) / _squared(torch.autograd.grad(_loss(model, train), group)) for group in groups]
    optimizer = torch.optim.SGD([{"params": group, "lr": rate} for group, rate in zip(groups, rates, strict=True)])
    for _ in range(steps):
        optimizer.zero_grad()
        _loss(model, train).backward()
        optimizer.step()


def _groups(model: CopyingAttention) -> list[list[nn.Parameter]]:
    weights = [model.embedding, model.value, model.output]
    return [weights] if model.identity is None else [weights, [model.identity]]


def _loss(model: CopyingAttention, tokens: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(tokens), tokens)


def _squared(gradients: Sequence[torch.Tensor]) -> float:
    return sum(float(gradient.square().sum()) for gradient in gradients)
