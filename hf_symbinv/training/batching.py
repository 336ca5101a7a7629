"""Rows to batches: tokens, padding, and batches whose examples need about the same work.

A stream model computes streams x length for the largest example of a batch, so examples with equally many symbols and
about equal lengths go together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import TrainerCallback

from hf_symbinv.errors import UserError
from hf_symbinv.solvers import available_cores
from hf_symbinv.training.run_data import require_columns

if TYPE_CHECKING:
    import datasets

    from hf_symbinv.modeling.listed_tokens_symbinv import ListedTokens
    from hf_symbinv.tasks.base import SymbolTask

# Our choice: some seconds of tokenizing, against which starting a process is cheap.
ROWS_PER_PROCESS = 50_000


def tokenize(
    dataset: datasets.Dataset, task: SymbolTask, tokenizer: ListedTokens, name: str = "data"
) -> datasets.Dataset:
    """Columns `input_ids`, of the prompts that the questions make, and `labels`, of the answers.

    Raises:
        UserError: if a column is missing, or a row cannot be tokenized.
    """
    import datasets

    require_columns(dataset.column_names, task, name)
    question, answer = task.columns

    def encoded(rows: dict[str, list[str]], indices: list[int]) -> dict[str, Any]:
        try:
            prompts = [task.prompt(text) for text in rows[question]]
            return dict(tokenizer(prompts, text_target=rows[answer], return_attention_mask=False))
        except (ValueError, TypeError):
            for place, asked, answered in zip(indices, rows[question], rows[answer], strict=True):
                _require_tokens(f"{name}, row {place}, column {question}", asked, tokenizer, task.prompt)
                _require_tokens(f"{name}, row {place}, column {answer}", answered, tokenizer)
            raise

    ids = datasets.List(datasets.Value("int32"))
    return dataset.map(
        encoded,
        batched=True,
        with_indices=True,
        remove_columns=dataset.column_names,
        features=datasets.Features({"input_ids": ids, "labels": ids}),
        num_proc=min(available_cores(), len(dataset) // ROWS_PER_PROCESS) or None,
        desc=f"tokenizing {name}",
    )


def _require_tokens(place: str, text: Any, tokenizer: ListedTokens, prompt: Callable[[str], str] = str) -> None:
    """Raises a UserError that begins with the place of a text that cannot be tokenized."""
    if not isinstance(text, str):
        raise UserError(f"{place}: {text!r} is no text")
    try:
        tokenizer(prompt(text))
    except ValueError as error:
        raise UserError(f"{place}: {error}") from error


# What a trainer's `train_sampling_strategy` says of a step's rows: alike in symbols and lengths, or drawn at random.
ALIKE, RANDOM = "group_by_length", "random"


class GroupedSampler(torch.utils.data.Sampler[int]):
    """A random order in which every `group` consecutive examples are alike in symbols and lengths.

    Examples are shuffled, windows of 50 groups are cut in two again and again until groups are left, and those until
    pieces are left; then the groups are shuffled. Every cut lies along the key and at the place that leave the least
    work, padding included. The order is a function of (seed, epoch), so a resumed run and every process see the same
    groups; the last examples that fill no group sit out the epoch.

    Args:
        keys: `(rows, 3)` int64: symbols, answer length, question length. Where all are equal, the order is random.
        group: examples of one optimizer step, over all processes and micro-batches.
        piece: examples of one micro-batch over all processes, which divide a group evenly.
        seed: of the shuffles.

    Raises:
        UserError: if the rows do not fill a group.
    """

    # As transformers' LengthGroupedSampler: with larger windows less is padded, but each epoch would see nearly the
    # same groups of a small data set. Of the padded work on LTLRandom35 in groups of 64, 81 % are no padding; after
    # sorting by the keys it was 70 %.
    window = 50

    def __init__(self, keys: torch.Tensor, group: int, piece: int, seed: int):
        if len(keys) < group:
            raise UserError(
                f"{len(keys)} training rows are fewer than the {group} of one optimizer step; give more rows, or a "
                "smaller trainer.per_device_train_batch_size"
            )
        self.keys = keys.clamp(min=1)  # without a symbol there is one stream
        self.group, self.piece, self.seed, self.epoch = group, piece, seed, 0

    def __len__(self) -> int:
        return len(self.keys) // self.group * self.group

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(hash((self.seed, self.epoch)) % 2**63)
        order = torch.randperm(len(self.keys), generator=generator)[: len(self)]
        windows = order.split(self.window * self.group)
        groups = torch.cat([piece for window in windows for piece in self._cut(window)]).view(-1, self.group)
        return iter(groups[torch.randperm(len(groups), generator=generator)].flatten().tolist())

    def _cut(self, rows: torch.Tensor) -> Iterable[torch.Tensor]:
        """`rows` in pieces of alike ones, in an order in which the pieces of a group lie together."""
        unit = self.group if len(rows) > self.group else self.piece
        count = len(rows) // unit
        if count == 1 or bool((self.keys[rows] == self.keys[rows[0]]).all()):
            return rows.split(self.piece)
        cuts = torch.arange(1, count)
        orders, work = [], []
        for key in self.keys[rows].unbind(1):
            orders.append(rows[key.argsort(stable=True)])
            largest = self.keys[orders[-1]].view(count, unit, 3).amax(1)
            before, after = largest.cummax(0).values[:-1], largest.flip(0).cummax(0).values.flip(0)[1:]
            work.append(cuts * padded_work(before) + (count - cuts) * padded_work(after))
        key, cut = divmod(int(torch.stack(work).argmin()), count - 1)
        first, second = orders[key].tensor_split([(cut + 1) * unit])
        return chain(self._cut(first), self._cut(second))


class EpochOfSampler(TrainerCallback):
    """Tells a sampler which epoch begins. accelerate does too, but not where each of several processes goes on in the
    midst of an epoch, whose order would then be that of the first one.
    """

    def __init__(self, sampler: Any, group: int):
        self.sampler, self.group = sampler, group

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.sampler.set_epoch(state.global_step // (len(self.sampler) // self.group))


def padded_work(keys: torch.Tensor) -> torch.Tensor:
    """Streams times tokens, about what one example of a batch costs that has `keys (…, 3)` at most."""
    symbols, answer, question = keys.unbind(-1)
    return symbols * (answer + question)


def group_keys(dataset: datasets.Dataset, base_vocab_size: int) -> torch.Tensor:
    """The keys `(rows, 3)` of `GroupedSampler` for a tokenized data set."""
    parts = []
    for batch in dataset.with_format("arrow").iter(batch_size=100_000):
        questions, answers = (batch[column].combine_chunks() for column in ("input_ids", "labels"))
        lengths = questions.value_lengths().to_numpy()
        ids = questions.flatten().to_numpy().astype(np.int64)
        rows = np.arange(len(lengths)).repeat(lengths)
        is_symbol = ids >= base_vocab_size
        # Every (row, symbol) once, as one integer.
        width = ids.max(initial=0) + 1
        distinct = np.unique(rows[is_symbol] * width + ids[is_symbol]) // width
        symbols = np.bincount(distinct, minlength=len(lengths))
        parts.append(np.stack((symbols, answers.value_lengths().to_numpy(), lengths), axis=1))
    return torch.from_numpy(np.concatenate(parts).astype(np.int64))
