"""Training of models that point at bugs, by transformers' Trainer.

trainer options: train_dataset=rows, data_collator=Batches((reader,)), trainer_class=BugTrainer
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import Trainer

from hf_symbinv.training.batching import EpochOfSampler, GroupedSampler
from papers.code.reading import Reader, collate, pointing_loss
from papers.code.row_names import at_random


class Batches:
    """Makes batches of rows.

    Args:
        readers: One of them, drawn at random, reads each batch.
        pool: Names, of which the variables of each row get others whenever it is seen; empty for its own.
    """

    def __init__(self, readers: Sequence[Reader], pool: Sequence[str] = ()) -> None:
        self.readers, self.pool = readers, pool

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """`input_ids` and `attention_mask` (B, L), and `labels` (B, L, 2)."""
        # Draws of `random` itself: Trainer keeps its state in checkpoints.
        reader = random.choice(self.readers)
        if self.pool:
            rows = [at_random(row, self.pool, random) for row in rows]  # type: ignore[arg-type]
        return collate(reader.rows(rows), reader.tokenizer.pad_token_id)


class BugTrainer(Trainer):
    """Identical to Trainer except: the loss is `pointing_loss`, and rows of a batch are alike in symbols and length.

    `train_dataset` holds rows of `papers.code.bug_finding`, which the collator reads: leave
    `remove_unused_columns` off.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, compute_loss_func=pointing_loss, **kwargs)

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler:
        rows = self.train_dataset if train_dataset is None else train_dataset
        piece = self.args.train_batch_size * self.args.world_size
        keys = [[len({one["name"] for one in row["symbols"]}), 0, len(row["text"])] for row in rows]
        group = piece * self.args.gradient_accumulation_steps
        sampler = GroupedSampler(torch.tensor(keys), group, piece, self.args.seed)
        self.add_callback(EpochOfSampler(sampler, group))
        return sampler
