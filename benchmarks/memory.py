"""Peak memory of training and decoding, each measurement in a process of its own."""

from __future__ import annotations

from typing import Any

import torch
from harness import Row, Setting, in_own_process, in_turn, peak_memory, start_memory
from inputs import model_config, paper_model, synthetic_batch
from training import optimizer_of, step
from transcription import Transcription

# Questions of 35 nodes, and answers of 100 tokens as the longest ones are. SIT has batches of 64; ours are a quarter of
# that, which makes everything a quarter as large.
BATCH, LENGTH, ANSWER, BEAMS = 16, 35, 100, 3


def sizes(setting: Setting) -> tuple[int, int, int]:
    """Batch, tokens of a question and of an answer."""
    return (64, 21, 30) if setting.tiny else (BATCH, LENGTH, ANSWER)


def train(setting: Setting, symbols: int, transcribed: bool) -> dict[str, float]:
    """Peak memory of one training step on a batch with so many symbols in every question, after a small one."""
    batch, length, answer = sizes(setting)
    config = model_config(setting, num_symbols=symbols)
    torch.manual_seed(0)
    model: Any = (Transcription(config).to(setting.device) if transcribed else paper_model(setting)).train()
    optimizer = optimizer_of(model, setting)

    def loss(piece: dict[str, torch.Tensor], labels: int) -> torch.Tensor:
        return model.loss(**piece) / labels if transcribed else model(**piece, num_items_in_batch=labels).loss

    step(model, optimizer, loss, [synthetic_batch(setting, 2, symbols, length, answer)])
    large = synthetic_batch(setting, batch, symbols, length, answer)
    held = start_memory(setting)
    step(model, optimizer, loss, [large])
    return peak_memory(setting, held)


@torch.no_grad()
def decode(setting: Setting, symbols: int, transcribed: bool) -> dict[str, float]:
    """Peak memory of decoding with three beams to the last token, which is one pass without a cache."""
    batch, length, answer = sizes(setting)
    config = model_config(setting, num_symbols=symbols)
    torch.manual_seed(0)
    model: Any = Transcription(config).to(setting.device).eval() if transcribed else paper_model(setting)
    small, large = (synthetic_batch(setting, size, symbols, length, answer) for size in (2, batch))

    def run(inputs: dict[str, torch.Tensor], tokens: int) -> None:
        if transcribed:
            source = {name: inputs[name].repeat_interleave(BEAMS, 0) for name in ("input_ids", "attention_mask")}
            model(**source, targets=inputs["labels"][:, :tokens].repeat_interleave(BEAMS, 0))
        else:
            inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
            model.generate(**inputs, num_beams=BEAMS, grammar=None, min_new_tokens=tokens, max_new_tokens=tokens)

    run(small, 2)
    held = start_memory(setting)
    run(large, answer)
    return peak_memory(setting, held)


def memory(setting: Setting) -> list[Row]:
    """Ten symbols beside five, and five beside the transcription, in training and decoding."""
    rows = []
    for job in ("train", "decode"):
        whole: dict[tuple[int, bool], list[float]] = {}

        def peak(symbols: int, transcribed: bool, job: str = job, whole: Any = whole) -> float:
            found = in_own_process("memory", job, setting, symbols=symbols, transcribed=transcribed)
            whole.setdefault((symbols, transcribed), []).append(found["peak"])
            return float(found["above"])

        ten, five, peer = in_turn(
            setting, lambda: peak(10, False), lambda: peak(5, False), lambda: peak(5, True), warm_up=False
        )
        extra = {"peak_of_process_MB": {f"{k[0]}{' transcription' if k[1] else ''}": v for k, v in whole.items()}}
        batch, length, answer = sizes(setting)
        note = f"above the loaded model; batch {batch}, {length} + {answer} tokens"
        verb = "training step" if job == "train" else "beam-3 decoding"
        rows += [
            Row(f"memory-{job}-10-symbols", f"peak memory, {verb}, 10 symbols", "itself with 5", "MB", "at most", 1.8,
                ten, five, note, extra),
            Row(f"memory-{job}-peer", f"peak memory, {verb}, 5 symbols", "transcription of Algorithms 1-5", "MB",
                "at most", 0.5, five, peer, note, extra),
        ]  # fmt: skip
    return rows


BENCHMARKS = {"memory": memory}
