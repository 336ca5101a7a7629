"""The loss of a batch of labels, and cosine logits whose scale follows training."""

import math

import torch
from torch import Tensor, nn

from .configuration_symbinv import SymbolInvariantConfig


class AdaCos(nn.Module):
    """Scales cosine logits by a factor that follows training.

        s_0 = sqrt(2) log(C - 1),   s_t = log(B_t) / cos(min(pi / 4, median theta_y)),   s_t at most 100
        B_t = mean over tokens of the sum over the wrong classes k of exp(s_{t-1} cos theta_k)

    `scale` is a saved buffer. It changes once per optimizer step, after the loss (Zhang et al.: before it), from the
    tokens of all its micro-batches and processes, so how a batch is cut does not change its gradient.

    With few classes the scale settles near log C, about 2 to 4 for the logics, and the loss cannot fall below about
    0.7; in short runs `loss="cross_entropy"` without normalisation learned faster. (Averaged over sequences instead of
    tokens, which the papers leave open, B took the scale to 100 within 2,000 steps and training became unstable.)

    Source: Zhang et al. 2019, equations 7, 9 and 10; batch and length merged, padding ignored: SIT section 3.3.
    """

    max_scale = 100.0
    scale: Tensor

    def __init__(self, num_classes: int):
        super().__init__()
        self.initial_scale = math.sqrt(2) * math.log(max(num_classes - 1, 2))
        self.register_buffer("scale", torch.tensor(self.initial_scale))
        self._pending: list[Tensor] = []

    def forward(self, cosines: Tensor) -> Tensor:
        """Logits `(B, T, C)`: `cosines (B, T, C)` times the scale."""
        return cosines * self.scale

    @torch.no_grad()
    def observe(self, cosines: Tensor, targets: Tensor, num_items: int | None) -> None:
        """Takes in a micro-batch, `cosines (tokens, classes)`, -inf for classes that do not exist, `targets (tokens,)`.

        Tokens with the target -100 do not count. The scale changes when `num_items` tokens, of all micro-batches and
        processes, were seen; None if this is all, and then no value is read.
        """
        cosines = cosines.to(torch.promote_types(cosines.dtype, torch.float32))
        columns = targets.clamp(min=0).unsqueeze(1)
        target_cosines = cosines.gather(1, columns).squeeze(1)
        wrong = (cosines * self.scale).exp().scatter(1, columns, 0).sum(1)
        self._pending.append(_gather_processes(torch.stack((target_cosines, wrong, (targets != -100).to(wrong.dtype)))))
        if num_items is not None and sum(int(part[2].sum()) for part in self._pending) < num_items:
            return
        target_cosines, wrong, counts = torch.cat(self._pending, dim=1)
        self._pending.clear()
        total = counts.sum()
        ordered = torch.where(counts > 0, target_cosines, math.inf).sort().values
        median = ordered.gather(0, ((total - 1) / 2).long().clamp(min=0).view(1))
        mean = torch.where(counts > 0, wrong, 0).sum() / total
        angle = median.squeeze(0).clamp(-1, 1).acos().clamp(max=math.pi / 4)
        scale = (mean.log() / angle.cos()).clamp(max=self.max_scale).to(self.scale.dtype)
        # In the place of the old tensor, which the backward pass has yet to read, in a compiled graph too.
        self.scale = torch.where(total > 0, scale, self.scale)  # a step without labels teaches nothing


def _gather_processes(columns: Tensor) -> Tensor:
    """The `(rows, columns)` of all processes side by side; each may bring another number of columns."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return columns
    parts = [columns] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(parts, columns.cpu())
    return torch.cat([part.to(columns) for part in parts], dim=1)


def token_loss(
    logits: Tensor,
    cosines: Tensor,
    columns: Tensor,
    num_items: Tensor | int | None,
    adacos: AdaCos | None,
    config: SymbolInvariantConfig,
) -> Tensor:
    """Cross-entropy summed over labels, divided by their number in the whole optimizer step.

    With `config.label_smoothing` e it is `(1 - e) (-log p_y) + e mean_k (-log p_k)`, the mean over all base tokens and
    the symbols that the example can write, so a renaming does not change it.

    `logits (B, T, C)` are `cosines (B, T, C)` as `adacos`, if anything, scaled them; in training it takes them in.
    `columns (B, T)` has each label's column, or -100; `num_items (scalar)` counts the step's labels, None: the batch's.

    Source: label smoothing Szegedy et al. 2016, section 7.
    """
    targets = columns.flatten()  # (B·T,)
    keep = targets != -100
    logits = logits.flatten(0, 1).to(torch.promote_types(logits.dtype, torch.float32))  # (B·T, C)
    total = nn.functional.cross_entropy(logits, targets, reduction="sum", ignore_index=-100)
    if config.label_smoothing:
        exists = logits > -torch.inf
        logs = torch.where(exists & keep.unsqueeze(1), logits.log_softmax(1), 0.0)
        total = (1 - config.label_smoothing) * total - config.label_smoothing * (logs.sum(1) / exists.sum(1)).sum()
    if adacos is not None and adacos.training:
        adacos.observe(cosines.detach().flatten(0, 1), targets, None if num_items is None else int(num_items))
    return total / (keep.sum().clamp(min=1) if num_items is None else num_items)
