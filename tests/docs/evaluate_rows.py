"""Evaluates a new model with transformers' own Trainer and prints what it measured: `evaluate_rows.py FOLDER`."""

import json
import os
import sys
from typing import Any

import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration, SymbolInvariantTextTokenizer

# As many as two processes share without a rest: transformers counts rows of the rest twice, for BART too.
PAIRS = [
    ("a + b", "+ a b"), ("a - a", "- a a"), ("c + d", "+ c d"), ("a + b - c + d", "- + a b + c d"), ("x", "x"),
    ("a - b", "- a b"), ("c - d", "- c d"), ("b - a + b", "+ - b a b"),
]  # fmt: skip


def evaluate(output: str, **options: Any) -> dict[str, Any]:
    """What is measured of `PAIRS`, of which batches have different numbers of symbols."""
    tokenizer = SymbolInvariantTextTokenizer("+-", symbol_pattern="[a-z]")
    rows = Dataset.from_dict({"question": [one for one, _ in PAIRS], "answer": [other for _, other in PAIRS]}).map(
        lambda batch: tokenizer(batch["question"], text_target=batch["answer"], return_symbols=True), batched=True
    )
    torch.manual_seed(0)
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 8}
    config = SymbolInvariantConfig(base_vocab_size=len(tokenizer), num_symbols=6, **sizes)
    model, measured = SymbolInvariantForConditionalGeneration(config), {"vocab_size": config.vocab_size}

    def measure(found):
        predictions = found.predictions[0] if isinstance(found.predictions, tuple) else found.predictions
        measured["shape"], measured["labels"] = predictions.shape, found.label_ids.shape[0]
        if options.get("predict_with_generate"):
            return {"written": str(predictions.tolist())}
        known = found.label_ids != -100
        return {"right": float((predictions.argmax(-1) == found.label_ids)[known].mean())}

    arguments = Seq2SeqTrainingArguments(
        output, per_device_eval_batch_size=2, generation_max_length=6, report_to="none", use_cpu=True, **options
    )
    collator = DataCollatorForSeq2Seq(tokenizer, model)
    trainer = Seq2SeqTrainer(model, arguments, collator, eval_dataset=rows, compute_metrics=measure)
    measured["processes"] = arguments.world_size
    found = trainer.evaluate()
    return measured | {name: found[name] for name in found if name in ("eval_loss", "eval_right", "eval_written")}


if __name__ == "__main__":
    measured = [evaluate(sys.argv[1], predict_with_generate=asked) for asked in (False, True)]
    if os.environ["RANK"] == "0":
        print(json.dumps(measured))
