"""Training steps on real LTL data beside a transcription of the paper's algorithms."""

from __future__ import annotations

from collections.abc import Callable

import torch
from harness import Row, Setting, in_turn
from inputs import BASE, ltl_rows, model_config, paper_model
from transcription import Transcription

from hf_symbinv.training import GroupedSampler, SequenceCollator, group_keys

# The paper's batch, pieces that fit a CPU, the pieces that the peer takes there, a quarter of a batch, and the batches
# that are drawn. The trainer's sampler sees 50 at once, of which it would make better pieces: 94 % of the work in them
# would be needed, of 16 batches it is 90 %.
BATCH, PIECE, DRAWN, WINDOW = 768, 64, 3, 16


def optimizer_of(model: torch.nn.Module, setting: Setting) -> torch.optim.Optimizer:
    """The paper's AdamW."""
    return torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=setting.device == "cuda"
    )


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, losses: Callable, pieces: list[dict]) -> None:
    """One optimizer step on a batch in pieces."""
    labels = sum(int((piece["labels"] != -100).sum()) for piece in pieces)
    optimizer.zero_grad()
    for piece in pieces:
        losses(piece, labels).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def pieces_of(rows: list[dict], order: list[int], size: int, setting: Setting) -> list[dict[str, torch.Tensor]]:
    """Padded batches of `size` rows in this order."""
    collate = SequenceCollator(pad=1)
    batches = [collate([rows[i] for i in order[start : start + size]]) for start in range(0, len(order), size)]
    return [{name: tensor.to(setting.device) for name, tensor in batch.items()} for batch in batches]


def grouped_order(rows: list[dict], batch: int, piece: int) -> list[int]:
    """The order in which this package trains: batches of rows with about as many symbols and tokens, and so pieces."""
    from datasets import Dataset

    return list(GroupedSampler(group_keys(Dataset.from_list(rows), BASE), batch, piece, seed=0))


def sample(pieces: list[dict], count: int) -> list[dict]:
    """So many pieces, evenly spaced by work, which in the mean are as much work as all are, as nearly as can be."""
    ordered = sorted(pieces, key=work)
    spacing = len(ordered) // count
    mean = sum(map(work, pieces)) / len(pieces)
    choices = [ordered[start::spacing][:count] for start in range(spacing)]
    return min(choices, key=lambda choice: abs(sum(map(work, choice)) / count - mean))


def ours_and_peer(setting: Setting) -> tuple[torch.nn.Module, torch.nn.Module]:
    """Both models in training mode, with the same weights."""
    ours = paper_model(setting).train()
    peer = Transcription(model_config(setting)).to(setting.device).train()
    peer.take_weights(ours)
    return ours, peer


def training_step(setting: Setting) -> list[Row]:
    """Rows per second as ours trains them, and as the peer does: both fair samples of the same data.

    Ours takes as many pieces of grouped rows as a batch has; the peer takes pieces of rows as drawn, on a GPU as many.
    """
    batch, piece, drawn = (16, 8, 2) if setting.tiny else (BATCH, PIECE, DRAWN)
    rows = ltl_rows(WINDOW * batch, largest=12 if setting.tiny else 35)
    grouped = sample(pieces_of(rows, grouped_order(rows, batch, piece), piece, setting), batch // piece)
    count = batch // piece if setting.device == "cuda" else drawn
    random = sample(pieces_of(rows, list(range(len(rows))), piece, setting), count)
    ours, peer = ours_and_peer(setting)
    our_optimizer, peer_optimizer = optimizer_of(ours, setting), optimizer_of(peer, setting)

    def our_step() -> None:
        step(ours, our_optimizer, lambda batch, labels: ours(**batch, num_items_in_batch=labels).loss, grouped)

    def peer_step() -> None:
        step(peer, peer_optimizer, lambda batch, labels: peer.loss(**batch) / labels, random)

    mine, theirs = in_turn(setting, our_step, peer_step)
    mine, theirs = [batch / seconds for seconds in mine], [count * piece / seconds for seconds in theirs]
    symbols = sum(map(symbols_of, rows)) / len(rows)
    note = f"{batch} rows, of the peer {count * piece}, in pieces of {piece}, {symbols:.1f} symbols each"
    goal = 10 if setting.device == "cuda" else 3.5
    what, against = "training steps on LTLRandom35, rows", "transcription of Algorithms 1-5, random batches"
    return [Row("training-step", what, against, "/s", "at least", goal, mine, theirs, note)]


def symbols_of(row: dict[str, list[int]]) -> int:
    """Distinct symbols of a question."""
    return len({token for token in row["input_ids"] if token >= BASE})


def work(piece: dict[str, torch.Tensor]) -> int:
    """Streams times tokens of a piece, about what it costs."""
    streams = max(symbols_of({"input_ids": row}) for row in piece["input_ids"].tolist())
    return max(streams, 1) * (piece["input_ids"].shape[1] + piece["labels"].shape[1])


BENCHMARKS = {"training-step": training_step}
