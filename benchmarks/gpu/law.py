"""The renaming law on the device: questions with other names get the same answers under these names, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from setting import Job, Setting

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

# Batches of each size at most: single questions take as long as many together.
BATCHES = 2
BEAMS = {"greedy": 1, "beam": 3}


def jobs(setting: Setting) -> Iterator[Job]:
    """One for each precision."""
    for precision in ("float32", "bfloat16"):
        yield Job(f"law-{precision}", partial(law, precision=precision), 30)


def answered(model: Any, ids: torch.Tensor, beams: int, tokens: int) -> torch.Tensor:
    """Answers `(Q, tokens + 1)` to questions `ids (Q, L)`, start token first, filled up with padding."""
    pad = model.config.pad_token_id
    with torch.no_grad():
        found = model.generate(
            input_ids=ids, attention_mask=(ids != pad).long(), num_beams=beams, do_sample=False, length_penalty=1.0,
            early_stopping=False, max_new_tokens=tokens,
        )  # fmt: skip
    return torch.nn.functional.pad(found, (0, tokens + 1 - found.shape[1]), value=pad)


def renamings(questions: int, symbols: int) -> torch.Tensor:
    """A permutation of the symbols for each question, `(questions, symbols)`; none is the identity."""
    generator = torch.Generator().manual_seed(1)
    orders = torch.rand(questions, symbols, generator=generator).argsort(1)
    is_same = (orders == torch.arange(symbols)).all(1, keepdim=True)
    return torch.where(is_same, orders.roll(1, 1), orders)


def renamed(ids: torch.Tensor, orders: torch.Tensor, base: int) -> torch.Tensor:
    """`ids (Q, L)` with the j-th symbol of each question called as `orders (Q, symbols)` says."""
    return torch.where(ids >= base, base + orders.gather(1, (ids - base).clamp(min=0)), ids)


def law(setting: Setting, precision: str) -> dict[str, Any]:
    """How many answers and logits are renamings of each other, and how many answers are the CPU's."""
    pack = setting.pack("law")
    config = SymbolInvariantConfig(**pack.facts["config"])
    model = SymbolInvariantForConditionalGeneration(config)
    weights = {name.removeprefix("weights."): value for name, value in pack.tensors("weights.").items()}
    model.load_state_dict(weights)
    model.to(setting.device, getattr(torch, precision)).eval()
    ids = pack.tensors("")["input_ids"].long().to(setting.device)
    orders = renamings(len(ids), config.num_symbols).to(setting.device)
    others = renamed(ids, orders, config.base_vocab_size)
    found: dict[str, Any] = {}
    for search, beams in BEAMS.items():
        for size in setting.sizes.batch_sizes:
            equal, count = 0, min(len(ids), BATCHES * size)
            parts = []
            for start in range(0, count, size):
                end = min(start + size, count)
                answers, theirs = (
                    answered(model, rows[start:end], beams, pack.facts["tokens"]) for rows in (ids, others)
                )
                mine = renamed(answers, orders[start:end], config.base_vocab_size)
                equal += int((mine == theirs).all(1).sum())
                parts.append(answers)
            found[f"{search}-batch-{size}"] = {"answers": count, "renamings": equal}
        # Of the last size, which takes all questions if it is large.
        expected = pack.tensors("")[search].long().to(setting.device)[:count]
        found[f"{search}-as-cpu"] = float((torch.cat(parts) == expected).all(1).float().mean())
    start = torch.full((len(ids), 1), config.decoder_start_token_id, device=setting.device)
    targets = torch.cat((start, answered(model, ids, 1, pack.facts["tokens"])[:, 1:]), dim=1)
    with torch.no_grad():
        mine = model(ids, decoder_input_ids=targets, return_id_logits=True).logits
        others_targets = renamed(targets, orders, config.base_vocab_size)
        theirs = model(others, decoder_input_ids=others_targets, return_id_logits=True).logits
    base = config.base_vocab_size
    columns = torch.cat((torch.arange(base, device=ids.device).expand(len(ids), -1), base + orders), dim=1)
    same = mine == theirs.gather(2, columns.unsqueeze(1).expand(-1, targets.shape[1], -1))
    return {**found, "logits": same.numel(), "logits_equal": int(same.sum())}
