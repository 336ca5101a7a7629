"""The cost of many symbols: time and memory of a forward pass, beside the transcription, and as a plot."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import torch
from harness import Row, Setting, in_own_process, in_turn, peak_memory, start_memory
from inputs import BASE, model_config, paper_model
from transcription import Transcription

LIMIT = 8000  # MB


@torch.no_grad()
def forward(setting: Setting, symbols: int, length: int, transcribed: bool, repeats: int = 1) -> dict[str, Any]:
    """Seconds of forward passes and peak memory, of a question and an answer of `length` tokens and so many streams.

    Symbols beyond the question's tokens are those of a prompt, which get streams too.
    """
    torch.manual_seed(0)
    config = model_config(setting, num_symbols=symbols)
    model: Any = Transcription(config).to(setting.device).eval() if transcribed else paper_model(setting)
    ids = (BASE + torch.arange(length, device=setting.device) % symbols).unsqueeze(0)
    every = (BASE + torch.arange(symbols, device=setting.device)).unsqueeze(0)
    mask = torch.ones_like(ids)

    def once() -> None:
        if transcribed:
            model(ids, mask, ids)
        else:
            model(encoder_outputs=model.model.encode(ids, mask, every), attention_mask=mask, decoder_input_ids=ids)

    once()
    held = start_memory(setting)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        once()
        if setting.device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return {"seconds": median(seconds), **peak_memory(setting, held)}


def many_symbols(setting: Setting) -> list[Row]:
    """64 symbols in 256 tokens and 256 symbols in 64: seconds and memory, ours and the transcription's."""
    rows = []
    for symbols, length in ((4, 8), (8, 4)) if setting.tiny else ((64, 256), (256, 64)):
        peaks: list[dict[str, Any]] = []

        def run(transcribed: bool, shape: tuple[int, int] = (symbols, length), peaks: Any = peaks) -> float:
            found = in_own_process("scaling", "forward", setting, symbols=shape[0], length=shape[1],
                                   transcribed=transcribed)  # fmt: skip
            peaks.append({"transcription": transcribed, **found})
            return float(found["seconds"])

        mine, theirs = in_turn(setting, lambda run=run: run(False), lambda run=run: run(True), warm_up=False)
        ours = [found["peak"] for found in peaks if not found["transcription"]]
        against = [found["peak"] for found in peaks if found["transcription"]]
        what, peer = f"forward pass, {symbols} symbols, {length} tokens", "transcription of Algorithms 1-5"
        name = f"forward-{symbols}x{length}"
        rows += [
            Row(name, what, peer, "s", "at least", 1, mine, theirs),
            Row(f"{name}-memory", f"{what}: peak of the process", "", "MB", "at most", LIMIT, ours,
                extra={"transcription_MB": against}),
        ]  # fmt: skip
    return rows


def linear_cost(setting: Setting) -> list[Row]:
    """Seconds per symbol of 64 symbols beside 8, at 256 tokens; the whole curve goes to a plot."""
    counts = [1, 2, 4] if setting.tiny else [1, 2, 4, 8, 16, 32, 64]
    length = 8 if setting.tiny else 256
    curves: dict[str, list[list[float]]] = {}
    for transcribed in (False, True):
        jobs = [
            lambda symbols=symbols, transcribed=transcribed: forward(setting, symbols, length, transcribed)["seconds"]
            for symbols in counts
        ]
        curves["transcription" if transcribed else "ours"] = in_turn(setting, *jobs)
    first = 0 if setting.tiny else counts.index(8)
    last = [value / counts[-1] for value in curves["ours"][-1]]
    base = [value / counts[first] for value in curves["ours"][first]]
    extra = {"symbols": counts, "seconds": {name: [median(v) for v in curve] for name, curve in curves.items()}}
    _plot(setting, counts, extra["seconds"], length)
    what = f"forward pass, {length} tokens: seconds per symbol, {counts[-1]} symbols"
    return [
        Row("forward-linear", what, f"itself, {counts[first]} symbols", "s", "at most", 1.25, last, base, "", extra)
    ]


def _plot(setting: Setting, counts: list[int], seconds: dict[str, list[float]], length: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    for name, values in seconds.items():
        axes.plot(counts, values, marker="o", label=name)
    axes.set(xlabel="symbols", ylabel="seconds", title=f"forward pass, {length} tokens, {setting.device}")
    axes.legend()
    setting.folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.folder / f"symbols-{setting.device}.svg", metadata={"Date": None})
    pyplot.close(figure)


BENCHMARKS = {"forward-many-symbols": many_symbols, "forward-linear": linear_cost}
