"""A training step of the paper's LTL model in every way, beside the literal transcription and beside BART."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from packed import NONE, Plan, Rows
from setting import ROOT, SEED, Job, Setting
from transformers import BartConfig, BartForConditionalGeneration
from ways import BETAS, CLIP, LEARNING_RATE, WEIGHT_DECAY, Training, Way, wait

sys.path.append(str(ROOT / "benchmarks"))
from transcription import Transcription

# In the order of their worth, so that little time measures the most likely to be fastest.
WAYS = [
    Way(), Way("bfloat16"), Way(graphs=True), Way("bfloat16", graphs=True),
    Way("bfloat16", graphs=True, kernels=True), Way(graphs=True, kernels=True), Way("bfloat16", kernels=True),
]  # fmt: skip
# What takes a minute or more to begin.
COMPILED = [
    Way("bfloat16", graphs=True, compiled=True),
    Way(graphs=True, compiled=True),
    Way("bfloat16", compiled=True),
]
# Rows of the transcription that are computed together: the first that fits the memory.
PIECES = (768, 256, 64, 4)


def jobs(setting: Setting) -> Iterator[Job]:
    """Peers, ways that begin soon, and symbols."""
    yield Job("step-transcription", transcription, 15)
    for way in (way for way in WAYS if way.runs_on(setting.device)):
        yield Job(f"step-{way.name}", partial(measured, way=way), 15)
    yield Job("step-symbols", symbols, 20)
    yield Job("step-bart", bart, 10)


def compiled_jobs(setting: Setting) -> Iterator[Job]:
    """Ways that compile layers first."""
    for way in COMPILED[: setting.sizes.compiled]:
        yield Job(f"step-{way.name}", partial(measured, way=way), 40)


def timed(setting: Setting, action: Callable[[], object]) -> float:
    """Seconds that an action takes once, mean of several times after one that does not count."""
    action()
    wait(setting.device)
    start = time.perf_counter()
    for _ in range(setting.sizes.repeats):
        action()
    wait(setting.device)
    return (time.perf_counter() - start) / setting.sizes.repeats


def peak(setting: Setting) -> float | None:
    """GB that torch held at most since the last reset; None on a CPU."""
    return torch.cuda.max_memory_allocated() / 1e9 if setting.device == "cuda" else None


def reset_peak(setting: Setting) -> None:
    if setting.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def one_of_each(plan: Plan) -> dict[int, torch.Tensor]:
    """The rows of a step of each shape."""
    found: dict[int, torch.Tensor] = {}
    for step in range(plan.steps_per_epoch):
        rows, shape = plan.at(step)
        found.setdefault(shape, rows)
        if len(found) == len(plan.shapes):
            break
    return found


def measured(setting: Setting, way: Way) -> dict[str, Any]:
    """Seconds of the mean step in one way, of each shape, of the first one, memory, and what was learned meanwhile."""
    rows, plan = setting.training_rows("ltl")
    batches = one_of_each(plan)
    reset_peak(setting)
    steps = len(batches) * (setting.sizes.repeats + 1)
    training = Training(setting.config("ltl"), rows.to(setting.device), plan.shapes, plan.batch, steps, way)
    taken, seconds, first = 0, torch.zeros(len(plan.shapes)), []
    for shape, chosen in batches.items():

        def one(shape: int = shape, chosen: torch.Tensor = chosen) -> None:
            nonlocal taken
            training.step(taken, chosen, shape)
            taken += 1

        start = time.perf_counter()
        seconds[shape] = timed(setting, one)
        first.append(time.perf_counter() - start - setting.sizes.repeats * float(seconds[shape]))
    mean = float((seconds * plan.shares).sum() / plan.shares[list(batches)].sum())
    return {
        "seconds": mean,
        "rows_per_second": plan.batch / mean,
        "of_each_shape": [[*shape, float(share), float(value)] for shape, share, value in
                          zip(plan.shapes.tolist(), plan.shares, seconds, strict=True)],
        "seconds_to_start": sum(first),
        "memory_GB": peak(setting),
        "loss": float(training.losses[taken - 1]),
    }  # fmt: skip


def adamw(model: torch.nn.Module) -> torch.optim.Optimizer:
    """The paper's, for the peers."""
    return torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=BETAS, weight_decay=WEIGHT_DECAY, fused=True)


def transcription(setting: Setting) -> dict[str, Any]:
    """Rows a second of Algorithms 1-5 as they are printed, float32 and eager, on batches as they are drawn."""
    (rows, _), batch = setting.training_rows("ltl"), setting.sizes.batches["ltl"]
    torch.manual_seed(0)
    config = setting.config("ltl")
    model = Transcription(config).to(setting.device).train()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_uniform_(parameter)
    optimizer = adamw(model)
    chosen = torch.randperm(len(rows), generator=torch.Generator().manual_seed(SEED))[:batch]
    whole = padded_batch(rows, chosen, config.pad_token_id, setting.device)
    labels = (whole["labels"] != -100).sum()
    for piece in (size for size in PIECES if size <= batch):

        def one(piece: int = piece) -> None:
            optimizer.zero_grad()
            for start in range(0, batch, piece):
                (model.loss(**{name: part[start : start + piece] for name, part in whole.items()}) / labels).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()

        reset_peak(setting)
        try:
            seconds = timed(setting, one)
        except torch.OutOfMemoryError:
            continue
        return {
            "seconds": seconds, "rows_per_second": batch / seconds, "rows_together": piece, "memory_GB": peak(setting),
            "shape": [config.num_symbols, whole["input_ids"].shape[1], whole["labels"].shape[1]],
        }  # fmt: skip
    raise MemoryError(f"a piece of {PIECES[-1]} rows does not fit")


def padded_batch(rows: Rows, chosen: torch.Tensor, pad: int, device: str) -> dict[str, torch.Tensor]:
    """`input_ids (B, L)`, `attention_mask (B, L)` and `labels (B, T)` of some rows, no longer than they need."""
    _, length, answer = rows.keys[chosen].amax(0).tolist()
    ids, labels = rows.questions[chosen, :length].long(), rows.answers[chosen, :answer].long()
    batch = {
        "input_ids": ids,
        "attention_mask": (ids != pad).long(),
        "labels": labels.masked_fill(labels == NONE, -100),
    }
    return {name: value.to(device) for name, value in batch.items()}


def bart(setting: Setting) -> dict[str, Any]:
    """Hugging Face's BART of the same width and depth, with a row for each symbol, on batches of alike rows."""
    (rows, plan), config = setting.training_rows("ltl"), setting.config("ltl")
    torch.manual_seed(0)
    peer = BartForConditionalGeneration(BartConfig(
        vocab_size=config.vocab_size, d_model=config.d_model, activation_function="relu",
        encoder_layers=config.encoder_layers, decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.num_attention_heads, decoder_attention_heads=config.num_attention_heads,
        encoder_ffn_dim=config.d_ff, decoder_ffn_dim=config.d_ff, max_position_embeddings=512,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=0, forced_eos_token_id=None,
    )).to(setting.device).train()  # fmt: skip
    optimizer, found = adamw(peer), {}
    batches = {shape: padded_batch(rows, chosen, 1, setting.device) for shape, chosen in one_of_each(plan).items()}
    for precision in ("float32", "bfloat16"):
        seconds = torch.zeros(len(plan.shapes))
        reset_peak(setting)
        for shape, batch in batches.items():

            def one(batch: dict = batch, precision: str = precision) -> None:
                optimizer.zero_grad()
                wide = precision == "float32"
                with nullcontext() if wide else torch.autocast(setting.device, torch.bfloat16):
                    loss = peer(**batch).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(peer.parameters(), CLIP)
                optimizer.step()

            seconds[shape] = timed(setting, one)
        mean = float((seconds * plan.shares).sum() / plan.shares[list(batches)].sum())
        found[precision] = {
            "seconds": mean, "rows_per_second": plan.batch / mean, "memory_GB": peak(setting),
        }  # fmt: skip
    return {**found, "parameters": sum(parameter.numel() for parameter in peer.parameters())}


def alike_rows(setting: Setting, count: int, symbols: int, base: int = 13) -> Rows:
    """Formulas that have every one of so many symbols, and answers of symbols, all equally long.

    Binary operators first and leaves after them: what a step costs depends on its shape only.
    """
    length, generator = max(setting.sizes.length, 2 * symbols - 1), torch.Generator().manual_seed(SEED)
    length += 1 - length % 2
    leaves = torch.arange(length // 2 + 1) % symbols + base
    question = torch.cat((torch.full((length // 2,), 5), leaves, torch.tensor([2])))
    answers = torch.randint(base, base + symbols, (count, setting.sizes.length), generator=generator)
    keys = torch.tensor([[symbols, length + 1, setting.sizes.length]]).repeat(count, 1)
    return Rows(question.repeat(count, 1).to(torch.uint8), answers.to(torch.uint8), keys)


def symbols(setting: Setting) -> dict[str, Any]:
    """A step with 10 symbols in every question beside one with 1, of the same length, in the fastest way."""
    way, batch, found = fastest(setting), setting.sizes.batches["ltl"], {}
    for count in (1, 5, 10):
        rows = alike_rows(setting, batch, count)
        reset_peak(setting)
        training = Training(
            setting.config("ltl", num_symbols=10), rows.to(setting.device), rows.keys[:1], batch, 10, way
        )
        seconds = timed(setting, partial(training.step, 1, torch.arange(batch), 0))
        found[str(count)] = {"seconds": seconds, "memory_GB": peak(setting), "shape": rows.keys[0].tolist()}
    return {"way": way.name, **found}


def fastest(setting: Setting) -> Way:
    """The fastest way that was measured and learned what eager float32 did, to 5 %; eager float32 if none was.

    In a rehearsal, which has to end with the same results each time, graphs in float32.
    """
    if setting.device == "cpu":
        return Way(graphs=True)
    known = {f"step-{way.name}": way.name for way in (*WAYS, *COMPILED)}
    results = {known[name]: result for name, result in setting.store.results.items() if name in known}
    values = {name: result["values"] for name, result in results.items() if "error" not in result}
    eager = values.get(Way().name)
    if eager is None:
        return Way()
    right = {name: one for name, one in values.items() if abs(one["loss"] / eager["loss"] - 1) < 0.05}
    return Way.named(min(right, key=lambda name: right[name]["seconds"]))
