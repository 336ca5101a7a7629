"""A second loss for the encoder: it says of each part of a question in which of some fixed worlds the part is true.

A question's answer says little about its parts, and the first thing that a model has to learn is what operators mean.
The truth values of all parts say that directly, and computing them takes no solver. Layer k is asked for the parts of
at most k operators above each other, which it can compute from what the layer before knows, and the last one for all
parts. Of streams it is the view of all of them that is asked, and two layers later: first they have to find out whose
symbol comes first. A linear layer reads the values; it is trained beside the model, kept in checkpoints, and is no part
of the finished model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import nn
from transformers import PreTrainedModel

from hf_symbinv.errors import UserError
from hf_symbinv.logic import Worlds
from hf_symbinv.logic.worlds import heights
from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
from hf_symbinv.modeling.embedding_symbinv import aggregate_streams
from hf_symbinv.tasks.base import SymbolTask
from hf_symbinv.training.sequences import SequenceCollator

# In a checkpoint: the weights of the layer.
FILE = "truth_head.safetensors"
# In a batch: the truth values, and how many operators are above each other in each part, -1 where there is no part.
TRUTH, HEIGHTS = "truth", "truth_heights"
# Embeddings whose symbols can be numbered by their first appearance, and how many layers are not asked because of that.
# Our choice for streams: each sees its own symbol alone, and the number of a symbol takes what the others see.
NUMBERED = {"canonical": 0, "streams": 2}


def worlds_of(task: SymbolTask, config: SymbolInvariantConfig) -> Worlds:
    """The worlds in which the parts of a task's questions are true or not.

    Raises:
        UserError: If the task has none, or the model knows symbols by their names.
    """
    worlds = task.worlds(config.num_symbols)
    if worlds is None:
        raise UserError(f"truth_loss: task {task.name} does not say what its questions mean; leave the line out")
    if config.symbol_embedding not in NUMBERED:
        raise UserError(
            "truth_loss: needs model.symbol_embedding=canonical or streams, which number the symbols of a question; "
            f"the model has {config.symbol_embedding}; change it, or leave the line out"
        )
    return worlds


class TruthCollator(SequenceCollator):
    """As the base class, and `truth` `(B, L, bits)` with `truth_heights` `(B, L)`, -1 where no word of a question is.

    Args:
        pad: As the base class takes it.
        worlds: In which parts are true or not.
        base_tokens: The words by their ids; larger ids are symbols.
    """

    def __init__(self, pad: int, worlds: Worlds, base_tokens: tuple[str, ...]):
        super().__init__(pad)
        self.worlds, self.base_tokens = worlds, base_tokens

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        batch = super().__call__(rows)
        width = (self.worlds.bits + 7) // 8
        packed = np.zeros((*batch["input_ids"].shape, width), np.uint8)
        high = np.full(packed.shape[:2], -1, np.int64)
        for place, row in enumerate(rows):
            words, places = self._words(row["input_ids"])
            if len({word for word in words if isinstance(word, int)}) > self.worlds.symbols:
                continue  # the model has no rows for so many either, and says so
            values = b"".join(value.to_bytes(width, "little") for value in self.worlds.truth(words))
            packed[place, places] = np.frombuffer(values, np.uint8).reshape(-1, width)
            high[place, places] = heights(words)
        bits = np.unpackbits(packed, axis=-1, count=self.worlds.bits, bitorder="little")
        return {**batch, TRUTH: torch.from_numpy(bits), HEIGHTS: torch.from_numpy(high)}

    def _words(self, ids: list[int]) -> tuple[list[str | int], list[int]]:
        """The words of a question, symbols as numbers, and where they stand."""
        numbers: dict[int, int] = {}
        words: list[str | int] = []
        places = []
        for place, number in enumerate(ids):
            if number >= len(self.base_tokens):
                words.append(numbers.setdefault(number, len(numbers)))
            elif (word := self.base_tokens[number]) not in ("<s>", "<pad>", "</s>"):
                words.append(word)
            else:
                continue
            places.append(place)
        return words, places


class TruthHead(nn.Linear):
    """Reads truth values from the encoder's outputs.

    A part of the model while it is trained, so that gradients of several processes are joined, and never of what is
    saved as the model.

    Args:
        model: What is trained.
        bits: As `Worlds.bits`.
    """

    NAME = "truth_head"

    def __init__(self, model: PreTrainedModel, bits: int):
        super().__init__(model.config.d_model, bits, device=model.device, dtype=model.dtype)
        self.base, self.late = model.config.base_vocab_size, NUMBERED[model.config.symbol_embedding]
        model.add_module(self.NAME, self)
        # What `save_pretrained` leaves out, and loading does not miss.
        kept = model._keys_to_ignore_on_save or ()
        model._keys_to_ignore_on_save = {*kept, f"{self.NAME}.weight", f"{self.NAME}.bias"}

    def loss(
        self, states: Sequence[torch.Tensor], ids: torch.Tensor, truth: torch.Tensor, heights: torch.Tensor
    ) -> torch.Tensor:
        """The cross-entropies of the layers, summed, in nats: each a sum over the parts for which the layer is asked,
        divided by the number of all parts.

        Args:
            states: Outputs `(B, S, L, D)` of the embedding and of each layer.
            ids: `(B, L)`, as tokenizers number symbols, the j-th of a question V_n + j.
            truth, heights: Of `TruthCollator`.
        """
        parts, layers = heights >= 0, len(states) - 1
        views = [states[layer].squeeze(1) for layer in range(1, layers + 1)]
        if views[0].dim() == 4:
            slots = (ids - self.base).clamp(min=-1)
            active = torch.arange(views[0].shape[1], device=ids.device) <= slots.amax(1, keepdim=True).clamp(min=0)
            views = [aggregate_streams(view, slots, active) for view in views]
        told = [
            self._cross_entropy(view, truth, parts & (heights <= layer - self.late) if layer < layers else parts)
            for layer, view in enumerate(views, start=1)
        ]
        return torch.stack(told).sum() / parts.sum()

    def _cross_entropy(self, state: torch.Tensor, truth: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """The sum over the parts that are asked for of the mean over their bits."""
        logits = self(state)[asked].float()
        each = nn.functional.binary_cross_entropy_with_logits(logits, truth[asked].float(), reduction="none")
        return each.mean(-1).sum()

    def save(self, folder: Path) -> None:
        save_model(self, str(folder / FILE))

    def load(self, folder: Path) -> None:
        """Takes the weights of a checkpoint's layer; UserError if it is damaged or for other truth values."""
        try:
            load_model(self, folder / FILE)
        except (RuntimeError, SafetensorError) as error:
            raise UserError(
                f"{folder / FILE}: is no layer of {self.out_features} truth values ({str(error).splitlines()[0]}); "
                "remove this file, and a new layer is trained"
            ) from error
