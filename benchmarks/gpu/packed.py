"""What travels to the GPU: rows of token ids without padding, and the plan that makes batches of few shapes of them.

Needs numpy and torch only. `pack.py` writes what is read here.

Letters: R rows, B rows of a batch, S streams, L length of questions, T length of answers, C shapes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

# Stands for "no token" behind an answer; ids are smaller.
NONE = 255


@dataclass(frozen=True)
class Rows:
    """Questions and their answers, padded, on one device.

    Attributes:
        questions: `(R, L)` uint8, EOS last, then padding tokens.
        answers: `(R, T)` uint8, EOS last, then `NONE`.
        keys: `(R, 3)` int64 on the CPU: symbols (at least 1), length of the question, length of the answer.
    """

    questions: torch.Tensor
    answers: torch.Tensor
    keys: torch.Tensor

    def __len__(self) -> int:
        return len(self.keys)

    def to(self, device: str) -> Rows:
        """The same rows on a device."""
        return Rows(self.questions.to(device), self.answers.to(device), self.keys)


def flat(rows: list[list[int]]) -> dict[str, np.ndarray]:
    """Rows of ids below `NONE` as they are stored: `tokens` side by side and `lengths`."""
    tokens = np.fromiter((token for row in rows for token in row), np.uint8)
    return {"tokens": tokens, "lengths": np.fromiter(map(len, rows), np.uint16, len(rows))}


def padded(tokens: np.ndarray, lengths: np.ndarray, fill: int) -> torch.Tensor:
    """Stored rows as a tensor `(R, longest)` uint8, filled up with `fill`."""
    out = np.full((len(lengths), int(lengths.max(initial=1))), fill, np.uint8)
    out[np.arange(out.shape[1]) < lengths[:, None]] = tokens
    return torch.from_numpy(out)


def save_pack(path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    """Writes arrays and facts as one compressed file that appears in one piece."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        np.savez_compressed(file, facts=np.array(json.dumps(facts)), **arrays)
    new.replace(path)


class Pack:
    """One task's data.

    Args:
        path: Of the file that `save_pack` wrote.

    Raises:
        FileNotFoundError: If there is none.
    """

    def __init__(self, path: Path):
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file; run python benchmarks/gpu/pack.py first")
        with np.load(path) as file:
            self._arrays = {name: file[name] for name in file.files}
        self.facts: dict[str, Any] = json.loads(str(self._arrays.pop("facts")))

    def tensors(self, prefix: str) -> dict[str, torch.Tensor]:
        """The arrays whose names begin so, on the CPU."""
        return {name: torch.from_numpy(array) for name, array in self._arrays.items() if name.startswith(prefix)}

    def rows(self, split: str) -> Rows:
        """The rows of a split, on the CPU."""
        question, answer = (
            [self._arrays[f"{split}_{part}_{what}"] for what in ("tokens", "lengths")]
            for part in ("question", "answer")
        )
        questions = padded(*question, self.facts["pad_token_id"])
        lengths = [torch.from_numpy(one.astype(np.int64)) for _, one in (question, answer)]
        keys = torch.stack((symbols_of(questions, self.facts["base_vocab_size"]), *lengths), dim=1)
        return Rows(questions, padded(*answer, NONE), keys)


def symbols_of(questions: torch.Tensor, base: int) -> torch.Tensor:
    """The number of distinct symbols of each of `questions (R, L)`, at least 1: so many streams."""
    # At most 256 ids, so that a row of marks per question is small; in pieces, or 800,000 questions would take 200 MB.
    pieces = questions.split(100_000)
    marks = (torch.zeros(len(piece), 256, dtype=torch.bool).scatter(1, piece.long(), True) for piece in pieces)
    return torch.cat([mark[:, base:].sum(1) for mark in marks]).clamp(min=1)


def work(keys: np.ndarray) -> np.ndarray:
    """Streams times tokens of rows with `keys (..., 3)`, about what they cost."""
    return keys[..., 0] * (keys[..., 1] + keys[..., 2])


def make_shapes(keys: torch.Tensor, count: int, least: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cuts rows into few shapes, so that padding to a row's shape costs little.

    The rows are cut in two along one key again and again, each time where it saves the most work, padding included.

    Args:
        keys: `(R, 3)` int64.
        count: Shapes at most.
        least: Rows of a shape at least.

    Returns:
        The shape of each row, `(R,)` int64, and the shapes `(C, 3)`: streams, length of questions, length of answers.
    """
    together = keys.numpy() @ np.array([2**16, 2**8, 1])  # each is below 256; one number is sorted faster than three
    found, place, weight = np.unique(together, return_inverse=True, return_counts=True)
    distinct = np.stack((found >> 16, found >> 8 & 255, found & 255), axis=1)
    boxes = [np.arange(len(distinct))]
    while len(boxes) < count:
        cuts = [(*_best_cut(distinct[box], weight[box], least), number) for number, box in enumerate(boxes)]
        saved, axis, value, number = max(cuts, key=lambda cut: cut[0])
        if saved <= 0:
            break
        box = boxes.pop(number)
        is_low = distinct[box, axis] <= value
        boxes += [box[is_low], box[~is_low]]
    shape_of = np.empty(len(distinct), np.int64)
    for number, box in enumerate(boxes):
        shape_of[box] = number
    shapes = np.stack([distinct[box].max(0) for box in boxes])
    return torch.from_numpy(shape_of[place.reshape(-1)]), torch.from_numpy(shapes)


def _best_cut(keys: np.ndarray, weight: np.ndarray, least: int) -> tuple[float, int, int]:
    """Work saved, axis and largest low value of the best cut of one box; nothing is saved if there is none."""
    whole, best = work(keys.max(0)) * weight.sum(), (0.0, 0, 0)
    for axis in range(3):
        for value in np.unique(keys[:, axis])[:-1]:
            is_low = keys[:, axis] <= value
            sides = [(keys[side], weight[side].sum()) for side in (is_low, ~is_low)]
            if min(count for _, count in sides) >= least:
                saved = whole - sum(work(side.max(0)) * count for side, count in sides)
                best = max(best, (float(saved), axis, int(value)))
    return best


class Plan:
    """Which rows each step takes: a function of seed and step alone, so a run that was stopped needs no state of it.

    In an epoch the rows of each shape are shuffled and cut into batches, and the batches of all shapes are shuffled;
    the rows of a shape that fill no batch sit out the epoch.

    Attributes:
        shapes: `(C, 3)` int64.
        shares: `(C,)`, the share of steps that each shape has.
        padded, needed: Work of the mean row, with padding and without.

    Args:
        keys: `(R, 3)` int64.
        batch: Rows of a step.
        count: Shapes at most.
        seed: Of the shuffles.

    Raises:
        ValueError: If the rows fill no batch.
    """

    def __init__(self, keys: torch.Tensor, batch: int, count: int, seed: int):
        if len(keys) < batch:
            raise ValueError(f"{len(keys)} rows are fewer than the {batch} of a step; pack more rows")
        self.batch, self.seed = batch, seed
        self._shape_of, self.shapes = make_shapes(keys, count, batch)
        batches = torch.bincount(self._shape_of, minlength=len(self.shapes)) // batch
        self.steps_per_epoch = int(batches.sum())
        self.shares = batches / batches.sum()
        self.padded = float((torch.from_numpy(work(self.shapes.numpy())) * self.shares).sum())
        self.needed = float(work(keys.numpy()).mean())
        self._epoch: tuple[int, torch.Tensor, torch.Tensor] | None = None

    def at(self, step: int) -> tuple[torch.Tensor, int]:
        """The rows `(B,)` int64 of a step, and their shape."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, *self._shuffled(epoch))
        return self._epoch[1][place], int(self._epoch[2][place])

    def _shuffled(self, epoch: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        order = torch.randperm(len(self._shape_of), generator=generator)
        # Sorting bytes takes a tenth of the time of choosing the rows of one shape after the other.
        by_shape = np.argsort(self._shape_of.numpy().astype(np.uint8)[order.numpy()], kind="stable")
        parts = order[torch.from_numpy(by_shape)].split(torch.bincount(self._shape_of).tolist())
        cut = [part[: len(part) // self.batch * self.batch].view(-1, self.batch) for part in parts]
        batches = torch.cat(cut)
        shapes = torch.arange(len(cut)).repeat_interleave(torch.tensor([len(part) for part in cut]))
        shuffle = torch.randperm(len(batches), generator=generator)
        return batches[shuffle], shapes[shuffle]
