"""Answers of a model to many formulas, in batches of alike ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from tqdm.auto import tqdm

from hf_symbinv.modeling.tokenization_symbinv import SymbolTable

if TYPE_CHECKING:
    from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration
    from hf_symbinv.modeling.tokenization_symbinv import SymbolInvariantTokenizer


@torch.no_grad()
def generate_answers(
    model: SymbolInvariantForConditionalGeneration,
    tokenizer: SymbolInvariantTokenizer,
    formulas: Sequence[str],
    batch_size: int = 100,
    progress: bool = False,
    **generation: Any,
) -> list[list[str]]:
    """Decodes an answer, or several, for each formula.

    Args:
        model: in any mode; it is evaluated without dropout and left as it was.
        tokenizer: of the model.
        formulas: in prefix notation.
        batch_size: formulas decoded together.
        progress: show a bar on stderr.
        generation: arguments of `generate`, such as `num_beams`, `max_new_tokens`, `num_return_sequences`.

    Returns:
        For each formula, in order, `num_return_sequences` answers, the best first.
    """
    answers: list[list[str]] = [[] for _ in formulas]
    order = sorted(range(len(formulas)), key=lambda i: len(formulas[i]))
    was_training = model.training
    model.eval()
    try:
        for start in tqdm(range(0, len(order), batch_size), desc="decoding", disable=not progress):
            rows = order[start : start + batch_size]
            table = SymbolTable()
            batch = tokenizer([formulas[i] for i in rows], symbol_table=table, padding=True, return_tensors="pt")
            ids = model.generate(**batch.to(model.device), **generation)
            texts = tokenizer.batch_decode(ids, symbol_table=table, skip_special_tokens=True)
            each = len(texts) // len(rows)
            for k, i in enumerate(rows):
                answers[i] = texts[k * each : (k + 1) * each]
    finally:
        model.train(was_training)
    return answers
