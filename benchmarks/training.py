"""Training steps on real LTL data beside a transcription of the paper's algorithms."""

from __future__ import annotations

from collections.abc import Callable

import torch
from harness import Row, Setting, in_turn
from inputs import BASE, ltl_rows, model_config, paper_model
from transcription import Transcription

from hf_symbinv.training.batching import Collator, GroupedSampler, group_keys

# The paper's batch, pieces that fit a CPU, how many times the batch's rows are drawn and put in order, and the pieces
# that the peer takes on a CPU, a quarter of the batch: all of them are alike, as each has rows of all kinds.
BATCH, PIECE, SHARE, DRAWN = 768, 64, 4, 3


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
    collate = Collator(pad_token_id=1)
    batches = [collate([rows[i] for i in order[start : start + size]]) for start in range(0, len(order), size)]
    return [{name: tensor.to(setting.device) for name, tensor in batch.items()} for batch in batches]


def grouped_order(rows: list[dict], size: int) -> list[int]:
    """The order in which this package trains: pieces of rows with equally many symbols and about equal lengths."""
    from datasets import Dataset

    return list(GroupedSampler(group_keys(Dataset.from_list(rows), BASE), size, seed=0))


def ours_and_peer(setting: Setting) -> tuple[torch.nn.Module, torch.nn.Module]:
    """Both models in training mode, with the same weights."""
    ours = paper_model(setting).train()
    peer = Transcription(model_config(setting)).to(setting.device).train()
    peer.load_state_dict(ours.state_dict())
    return ours, peer


def training_step(setting: Setting) -> list[Row]:
    """Rows per second as ours trains them, and as the peer does: both fair samples of the same data.

    Ours takes a batch of 768, every fourth piece of data that lie in the order of training, so that pieces of all kinds
    are in it. The peer takes the first rows as drawn, on a GPU a whole batch too.
    """
    size, piece, share, taken = (16, 8, 2, 1) if setting.tiny else (BATCH, PIECE, SHARE, DRAWN)
    rows = ltl_rows(share * size, largest=12 if setting.tiny else 35)
    pieces = pieces_of(rows, grouped_order(rows, piece), piece, setting)
    grouped = sorted(pieces, key=work)[share // 2 :: share]
    count = size if setting.device == "cuda" else taken * piece
    drawn = pieces_of(rows, list(range(count)), piece, setting)
    ours, peer = ours_and_peer(setting)
    our_optimizer, peer_optimizer = optimizer_of(ours, setting), optimizer_of(peer, setting)

    def our_step() -> None:
        step(ours, our_optimizer, lambda batch, labels: ours(**batch, num_items_in_batch=labels).loss, grouped)

    def peer_step() -> None:
        step(peer, peer_optimizer, lambda batch, labels: peer.loss(**batch) / labels, drawn)

    mine, theirs = in_turn(setting, our_step, peer_step)
    mine, theirs = [size / seconds for seconds in mine], [count / seconds for seconds in theirs]
    symbols = sum(map(symbols_of, rows)) / len(rows)
    note = f"{size} rows, of the peer {count}, in pieces of {piece}, {symbols:.1f} symbols each"
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
