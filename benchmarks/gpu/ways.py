"""Ways to compute a training step, and a training that takes one of them and can be stopped and resumed bit for bit.

A step reads its rows on the device: rows, learning rate and loss lie in tensors that stay where they are, so a step of
each shape can be captured as a CUDA graph. Nothing is read from the device in a step. Dropout draws from a seed that is
the number of the step, so there is no state of a generator to keep.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from packed import NONE, Rows

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

# SIT and ITE: AdamW with these, cosine decay behind a linear warm-up, gradients clipped at 1.
LEARNING_RATE, BETAS, WEIGHT_DECAY, CLIP, WARMUP = 1e-3, (0.9, 0.95), 0.1, 1.0, 1000


@dataclass(frozen=True)
class Way:
    """How a step is computed.

    Attributes:
        precision: `float32` or `bfloat16`, of products.
        graphs: Whether each shape's step is a CUDA graph.
        compiled: Whether each layer is compiled, with sizes that may change.
        kernels: Whether layers compute by the Triton kernels of this folder.
    """

    precision: str = "float32"
    graphs: bool = False
    compiled: bool = False
    kernels: bool = False

    @property
    def name(self) -> str:
        """As results call it, such as `graphs-kernels-bfloat16`; `eager` without anything."""
        used = [part for part in ("graphs", "compiled", "kernels") if getattr(self, part)]
        return "-".join([*(used or ["eager"]), self.precision])

    @classmethod
    def named(cls, name: str) -> Way:
        """The way of a name."""
        *used, precision = name.split("-")
        return cls(precision, **{part: True for part in used if part != "eager"})

    def runs_on(self, device: str) -> bool:
        """Whether there is what the way needs; a CPU calls the step that a GPU captures."""
        return device == "cuda" or not self.kernels or os.environ.get("TRITON_INTERPRET") == "1"


def rate_at(step: int, steps: int, warmup: int = WARMUP) -> float:
    """The learning rate of a step, counted from 0, of so many."""
    if step < warmup:
        return LEARNING_RATE * step / warmup
    return LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1)))


class Training:
    """A model, its optimizer and its steps.

    Attributes:
        losses: `(steps,)` float32 on the device, of each step that was taken.

    Args:
        config: Of the model, whose weights are drawn from seed 0.
        rows: On the device.
        shapes: `(C, 3)`: streams, length of questions, length of answers.
        batch: Rows of a step.
        steps: Of the whole training, which the learning rate decays over.
        way: How steps are computed.
    """

    def __init__(
        self, config: SymbolInvariantConfig, rows: Rows, shapes: torch.Tensor, batch: int, steps: int, way: Way
    ):
        self.device = rows.questions.device.type
        self.data, self.shapes, self.way, self.config = rows, shapes.tolist(), way, config
        torch.manual_seed(0)
        self.model = SymbolInvariantForConditionalGeneration(config).to(self.device).train()
        if way.compiled:
            backend = "inductor" if self.device == "cuda" else "eager"  # which needs no compiler of C++
            for layer in (*self.model.model.encoder.layers, *self.model.model.decoder.layers):
                layer.compile(dynamic=True, backend=backend)
        named = dict(self.model.named_parameters())
        decayed = {name: value for name, value in named.items() if value.dim() > 1}
        groups = [
            {"params": list(decayed.values()), "weight_decay": WEIGHT_DECAY},
            {"params": [value for name, value in named.items() if name not in decayed], "weight_decay": 0.0},
        ]
        self.names = {id(value): name for name, value in named.items()}
        self.parameters = list(named.values())
        self.rate = torch.zeros((), device=self.device)
        capturable = {"capturable": True} if self.device == "cuda" else {}
        self.optimizer = torch.optim.AdamW(groups, lr=self.rate, betas=BETAS, fused=True, **capturable)
        rates = [rate_at(step, steps, min(WARMUP, steps // 10)) for step in range(steps)]
        self.rates = torch.tensor(rates, device=self.device)
        self.losses = torch.zeros(steps, device=self.device)
        self.rows = torch.zeros(batch, dtype=torch.long, device=self.device)
        self.loss = torch.zeros((), device=self.device)
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        self.optimizer.step()  # at rate 0: makes the moments, which stay 0, and moves nothing
        self.count(0)
        self._graphs: dict[int, Callable[[], object]] = {}
        self._pool: Any = None

    def batch(self, shape: int) -> dict[str, torch.Tensor]:
        """`input_ids (B, L)`, `attention_mask (B, L)` and `labels (B, T)` of `rows`, in the lengths of a shape."""
        _, length, answer = self.shapes[shape]
        ids = self.data.questions.index_select(0, self.rows)[:, :length].long()
        labels = self.data.answers.index_select(0, self.rows)[:, :answer].long()
        mask = (ids != self.config.pad_token_id).long()
        return {"input_ids": ids, "attention_mask": mask, "labels": labels.masked_fill(labels == NONE, -100)}

    def compute(self, shape: int) -> None:
        """One step on `rows` at `rate`, which leaves its `loss`."""
        torch._foreach_zero_([parameter.grad for parameter in self.parameters])
        adacos = self.model.adacos
        scale = None if adacos is None else adacos.scale
        with self._precision():
            loss = self.model(**self.batch(shape), num_streams=self.shapes[shape][0]).loss
        loss.backward()
        if scale is not None:  # a new tensor has taken its place, and a graph reads the old one's again
            scale.copy_(adacos.scale)
            adacos.scale = scale
        torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
        self.optimizer.step()
        self.loss.copy_(loss.detach())

    def _precision(self) -> Any:
        if self.way.precision == "float32":
            return nullcontext()
        # Without the cache of converted weights, which a graph would not fill again.
        return torch.autocast(self.device, torch.bfloat16, cache_enabled=False)

    def step(self, step: int, rows: torch.Tensor, shape: int) -> None:
        """Takes the step of this number on `rows (B,)` int64, which have a shape; waits for nothing."""
        self.rows.copy_(rows, non_blocking=True)
        self.rate.copy_(self.rates[step])
        with ExitStack() as stack:
            if self.way.kernels:
                from triton_kernels import in_layers

                stack.enter_context(in_layers())
            if self.way.graphs and not self._graphs:
                self._capture()
            torch.manual_seed(step)
            if self.way.graphs:
                self._graphs[shape]()
            else:
                self.compute(shape)
        self.losses[step].copy_(self.loss)

    def _capture(self) -> None:
        """Makes the graphs of all shapes, the largest first, since later ones use its memory.

        Steps are taken for it on rows that fit the shape, and taken back.
        """
        kept = {"rows": self.rows.clone(), **{name: value.clone() for name, value in self.state().items()}}
        sizes = [streams * (length + answer) for streams, length, answer in self.shapes]
        for shape in sorted(range(len(sizes)), key=lambda shape: -sizes[shape]):
            fits = (self.data.keys <= torch.tensor(self.shapes[shape])).all(1).nonzero().flatten()
            self.rows.copy_(fits[torch.arange(len(self.rows)) % len(fits)])
            self._graphs[shape] = self._captured(shape)
        self.rows.copy_(kept["rows"])
        self.restore(kept)

    def _captured(self, shape: int) -> Callable[[], object]:
        """The step of a shape on `rows` as a CUDA graph; a CPU, which has none, computes it each time.

        A step is taken before, to make what is made once, and one in which no read of the device is let through.
        """
        if self.device != "cuda":
            self.compute(shape)
            return partial(self.compute, shape)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.compute(shape)
            torch.cuda.set_sync_debug_mode("error")
            try:
                self.compute(shape)
            finally:
                torch.cuda.set_sync_debug_mode("default")
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self.compute(shape)
        self._pool = graph.pool()
        return graph.replay

    def count(self, step: int) -> None:
        """Tells the optimizer how many steps were taken."""
        for state in self.optimizer.state.values():
            state["step"].fill_(step)

    def state(self) -> dict[str, torch.Tensor]:
        """Everything that a step changes, as it lies on the device, by name."""
        found = {f"weights.{name}": value for name, value in self.model.named_parameters()}
        found |= {f"weights.{name}": value for name, value in self.model.named_buffers()}
        for parameter, state in self.optimizer.state.items():
            name = self.names[id(parameter)]
            found |= {f"first.{name}": state["exp_avg"], f"second.{name}": state["exp_avg_sq"]}
            found[f"count.{name}"] = state["step"]
        return {**found, "losses": self.losses}

    @torch.no_grad()
    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Puts a `state` back in its place."""
        for name, value in self.state().items():
            value.copy_(state[name])


def wait(device: str) -> None:
    """Until the device has done what it was told."""
    if device == "cuda":
        torch.cuda.synchronize()
