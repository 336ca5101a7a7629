"""Batches for models that read a sequence and give a number or a class, a label for each token, or an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch


class SequenceCollator:
    """Pads token ids to the longest of a batch.

    Rows have `input_ids` and perhaps `labels`: floating-point numbers for regression, integers for classes, or lists of
    integers, which are padded by -100.

    Args:
        pad: The id of padding.
    """

    def __init__(self, pad: int):
        self.pad = pad

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """`input_ids` (B, L) and `attention_mask` (B, L), int64; `labels` (B,), float32 or int64, or (B, T) int64."""
        sequences = [row["input_ids"] for row in rows]
        longest = max(map(len, sequences))
        batch = {
            "input_ids": torch.tensor([[*ids, *[self.pad] * (longest - len(ids))] for ids in sequences]),
            "attention_mask": torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in sequences]),
        }
        if "labels" in rows[0]:
            labels = [row["labels"] for row in rows]
            if isinstance(labels[0], Sequence):
                longest = max(map(len, labels))
                labels = [[*own, *[-100] * (longest - len(own))] for own in labels]
            batch["labels"] = torch.tensor(labels)
        return batch
