"""Beam search: milliseconds a question and memory, by symbols, beams and batch, beside the paper's.

The models have random weights, so answers get a fixed length: all that a propositional answer can name, a symbol and a
value each, and of LTL the mean of LTLRandom35.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from setting import Job, Setting
from steps import alike_rows, peak, reset_peak, timed

from hf_symbinv import SymbolInvariantForConditionalGeneration

SYMBOLS = (5, 10)


def jobs(setting: Setting) -> Iterator[Job]:
    """Of the paper's size for propositional logic first, since its milliseconds are in the paper."""
    for task in ("prop", "ltl"):
        for beams in (3, setting.sizes.beams):
            yield Job(f"beams-{task}-{beams}", partial(beam_search, task=task, beams=beams), 25)


def beam_search(setting: Setting, task: str, beams: int) -> dict[str, Any]:
    """Seconds a question and memory for each number of symbols and each batch that fits; the best of them."""
    torch.manual_seed(0)
    config = setting.config(task, num_symbols=max(SYMBOLS))
    model = SymbolInvariantForConditionalGeneration(config).to(setting.device).eval()
    found: dict[str, Any] = {}
    for symbols in SYMBOLS:
        tokens = 2 * symbols + 1 if task == "prop" else setting.sizes.length
        for size in setting.sizes.batch_sizes:
            ids = alike_rows(setting, size, symbols, config.base_vocab_size).questions.long().to(setting.device)

            def search(ids: torch.Tensor = ids, tokens: int = tokens) -> None:
                with torch.no_grad():
                    model.generate(
                        input_ids=ids, attention_mask=torch.ones_like(ids), num_beams=beams,
                        num_return_sequences=beams, do_sample=False, length_penalty=1.0, early_stopping=False,
                        min_new_tokens=tokens, max_new_tokens=tokens, grammar=None,
                    )  # fmt: skip

            reset_peak(setting)
            try:
                seconds = timed(setting, search)
            except torch.OutOfMemoryError:
                continue
            found.setdefault(str(symbols), {})[str(size)] = {
                "ms_per_question": 1000 * seconds / size, "memory_GB": peak(setting), "tokens": tokens,
            }  # fmt: skip
    best = {symbols: min(one["ms_per_question"] for one in sizes.values()) for symbols, sizes in found.items()}
    return {"ms_per_question": best, "by_symbols_and_batch": found}
