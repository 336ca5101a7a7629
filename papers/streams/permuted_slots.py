"""Invariance measured where it can fail: how many answers change when a model's slots are permuted.

python -m papers.streams.permuted_slots ltl-base ltl-small ltl-canonical --data data/slots --rows 500

A question reaches a model after its symbols were numbered by first appearance. Renamed questions are then the same
tensors, so counting their answers says nothing of the weights. Here the numbers are shuffled behind that step
(`canonical_slots=False`): streams trade places, and so do the rows of canonical names. SIT Theorem 4.1 says that
streams answer as before, to rounding; canonical names have no such theorem.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from hf_symbinv.errors import explain
from hf_symbinv.evaluation.checkpoints import Checkpoint, load_checkpoint
from hf_symbinv.evaluation.report import load_questions
from hf_symbinv.metrics.intervals import wilson_interval


def measure(checkpoint: Checkpoint, prompts: Sequence[str], orders: int = 4, **generation: Any) -> dict[str, Any]:
    """Decodes each question in order of first appearance, and again with shuffled slots.

    Args:
        checkpoint: Model and tokenizer; the model is left as it was.
        prompts: At least one, in prefix notation, with at least two symbols each.
        orders: Shuffles; order n is drawn with seed n.
        generation: Arguments of `generate`.

    Returns:
        `questions` and `orders`; `changed`, the share of questions whose answer an order changes, and its `interval`;
        `score_difference`, the largest difference of the log-probability per token of an answer that stays the same.
    """
    import torch

    from hf_symbinv.training.decoding import generate_scored_answers

    def decode() -> list[Any]:
        found = generate_scored_answers(checkpoint.model, checkpoint.tokenizer, prompts, **generation)
        return [answers[0] for answers in found]

    config = checkpoint.model.config
    before, canonical = decode(), config.canonical_slots
    changed, difference = set(), 0.0
    config.canonical_slots = False
    try:
        for seed in range(orders):
            torch.manual_seed(seed)
            for place, (first, second) in enumerate(zip(before, decode(), strict=True)):
                if first.text != second.text:
                    changed.add(place)
                else:
                    difference = max(difference, math.fabs(first.score - second.score))
    finally:
        config.canonical_slots = canonical
    return {
        "questions": len(prompts), "orders": orders, "changed": len(changed) / len(prompts),
        "interval": wilson_interval(len(changed), len(prompts)), "score_difference": difference,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, those of the process by default; its exit code."""
    command = argparse.ArgumentParser(
        "python -m papers.streams.permuted_slots", description="Count answers that change when slots are permuted."
    )
    command.add_argument(
        "models", nargs="+", metavar="MODEL", help="a bundled checkpoint, a folder or a name on the Hub"
    )
    command.add_argument("--data", required=True, help="a folder that `symbinv data` wrote, or a data set on the Hub")
    command.add_argument("--split", default="test", help="of the data (default: %(default)s)")
    command.add_argument("--rows", type=int, default=500, help="the first so many questions (default: %(default)s)")
    command.add_argument("--orders", type=int, default=4, help="shuffles of each question (default: %(default)s)")
    options = command.parse_args(arguments)
    for name in ("rows", "orders"):
        if getattr(options, name) < 1:
            command.error(f"--{name} {getattr(options, name)}: must be at least 1")
    try:
        for model in options.models:
            checkpoint = load_checkpoint(model)
            questions = load_questions(checkpoint.task, options.data, options.split, options.rows)
            prompts = [question.prompt for question in questions if question.symbols > 1]
            if not prompts:
                command.error(f"--data {options.data}: no question has two symbols, so there is nothing to permute")
            found = measure(checkpoint, prompts, options.orders, num_beams=3, max_new_tokens=100)
            print(json.dumps({"model": model} | found), flush=True)
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        command.error(message)
    return 0


if __name__ == "__main__":
    sys.exit(main())
