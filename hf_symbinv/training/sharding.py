"""Models whose weights are sharded over processes."""

from __future__ import annotations

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel


def whole_model(model: PreTrainedModel) -> PreTrainedModel:
    """`model`, or if its weights are sharded (FSDP 2) a copy that has all of them, for each process.

    A sharded model needs all processes at every step, also where one of them has fewer answers to decode, and its class
    is one that torch made, which no code on the Hub defines. All processes call this together.
    """
    if not isinstance(model, FSDPModule):
        return model
    weights = {
        name: tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        for name, tensor in model.state_dict().items()
    }
    kind = next(kind for kind in type(model).__mro__ if not issubclass(kind, FSDPModule))
    with torch.random.fork_rng(devices=[]):  # what initialises the copy must not change what the run draws next
        copy: PreTrainedModel = kind(model.config)
    copy.load_state_dict(weights)
    copy.generation_config = model.generation_config
    return copy.to(model.device, model.dtype)
