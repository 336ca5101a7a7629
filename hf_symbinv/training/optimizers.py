"""Muon, for recipes with `trainer.optim: muon`: torch has it for matrices alone, and a model has more than these."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import nn

from hf_symbinv.errors import UserError

# What `trainer.optim` is called; transformers has no such optimizer.
MUON = "muon"


class MuonAndAdamW(torch.optim.Optimizer):
    """torch's Muon for the weights of linear layers, and its AdamW for embeddings, biases and norms, as one optimizer.

    Both take the same learning rate, because Muon's steps are scaled to the root mean square of AdamW's.

    `decayed` are the names of the parameters that weight decay shrinks. UserError if there is nothing to train for one
    of them.

    Source: Jordan et al. 2024, Muon: An optimizer for hidden layers in neural networks; the scale is that of Liu et al.
    2025, Muon is scalable for LLM training, section 2.2.
    """

    def __init__(
        self,
        model: nn.Module,
        decayed: Collection[str],
        *,
        learning_rate: float,
        weight_decay: float,
        betas: tuple[float, float],
        eps: float,
    ):
        linear = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
        groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                key = id(parameter) in linear, weight_decay if name in decayed else 0.0
                groups.setdefault(key, []).append(parameter)
        matrices, others = (
            [
                {"params": found, "weight_decay": decay}
                for (is_linear, decay), found in groups.items()
                if is_linear == wanted
            ]
            for wanted in (True, False)
        )
        if not matrices or not others:
            raise UserError(
                f"trainer.optim={MUON}: trains weights of linear layers and other weights, and needs both. This model "
                "does not have both, perhaps because it is sharded or frozen; leave the line out"
            )
        self.parts: tuple[torch.optim.Optimizer, ...] = (
            torch.optim.Muon(matrices, lr=learning_rate, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, lr=learning_rate, betas=betas, eps=eps),
        )
        super().__init__(self._groups(), {})

    def _groups(self) -> list[dict[str, Any]]:
        """The groups of both, the very objects, so that a schedule reaches them."""
        return [group for part in self.parts for group in part.param_groups]

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """With the keys of every optimizer, `state` and `param_groups`, a list of both under each."""
        states = [part.state_dict() for part in self.parts]
        return {name: [state[name] for state in states] for name in ("state", "param_groups")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state, groups in zip(self.parts, state_dict["state"], state_dict["param_groups"], strict=True):
            part.load_state_dict({"state": state, "param_groups": groups})
        self.param_groups = self._groups()
