"""docs/trainer.md at toy size: its program runs as it stands there, and with BART's lines in place of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    DataCollatorForSeq2Seq,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration, SymbolInvariantTextTokenizer

DOCS = Path(__file__).parents[2] / "docs"
WORDS = [
    *"()+-*23456789", "apple", "bread", "cream", "dates", "eggs", "flour", "grapes", "honey", "ice", "juice", "kale",
    "lemon", "mango", "nuts", "oil",
]  # fmt: skip


def block(page, caption):
    """The content of a page's block with this caption."""
    text = (DOCS / page).read_text(encoding="utf-8")
    (found,) = re.findall(
        rf"^```{{code-block}} python\n:caption: {re.escape(caption)}\n\n(.*?)^```$", text, re.M | re.S
    )
    return found


def run(program, folder):
    (folder / "make_pairs.py").write_text(block("own-data.md", "make_pairs.py"))
    (folder / "train.py").write_text(program)
    environment = {
        **os.environ,
        "HF_DATASETS_CACHE": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    for command in ("make_pairs.py 60 1 4 0 > pairs.jsonl", "train.py"):
        done = subprocess.run(
            f"{sys.executable} {command}", shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def small(program):
    """A program at a size for a test."""
    for text, new in (("max_steps=600", "max_steps=2"), ("train_test_split(500", "train_test_split(20")):
        assert text in program
        program = program.replace(text, new)
    return program


@pytest.mark.slow
def test_the_program_trains_evaluates_saves_and_answers(tmp_path):
    *_, exact, answer = run(small(block("trainer.md", "train_names.py")), tmp_path)
    assert 0 <= float(exact) <= 1
    assert all(name in (*WORDS, "price", "amount", "tax") for name in answer.split())


@pytest.mark.slow
def test_bart_takes_the_same_program_but_for_the_lines_that_the_page_shows(tmp_path):
    base = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["<s>", "<pad>", "</s>", *WORDS])}, "<s>"))
    base.pre_tokenizer = pre_tokenizers.Whitespace()
    roles = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=base, **roles).save_pretrained(tmp_path / "facebook/bart-base")
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64}
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}
    config = BartConfig(vocab_size=len(base.get_vocab()), forced_eos_token_id=2, **sizes, **heads, **ids)
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "facebook/bart-base")
    lines = block("trainer.md", "train_names.py").splitlines()
    for line in filter(None, block("trainer.md", "in train_bart.py").splitlines()):
        start = "from hf_symbinv" if line.startswith("from") else re.match(r"\s*\w+ ?\w*", line)[0]
        (place,) = (i for i, own in enumerate(lines) if own.startswith(start) and own != line)
        lines[place] = line
    program = "\n".join(line for line in lines if not line.startswith(("print(pipeline", "sizes =")))
    *_, exact = run(small(program.replace(", pipeline", "")), tmp_path)
    assert 0 <= float(exact) <= 1


@pytest.mark.parametrize("steps", [None, 1])
def test_a_plain_trainer_evaluates_logits_of_one_width(steps, tmp_path):
    """Without `predict_with_generate`, over batches of different numbers of symbols, as for BART."""
    tokenizer = SymbolInvariantTextTokenizer("+-", symbol_pattern="[a-z]")
    pairs = [("a + b", "+ a b"), ("a - a", "- a a"), ("c + d", "+ c d"), ("a + b - c + d", "- + a b + c d"), ("x", "x")]
    rows = Dataset.from_dict({"question": [one for one, _ in pairs], "answer": [other for _, other in pairs]}).map(
        lambda batch: tokenizer(batch["question"], text_target=batch["answer"], return_symbols=True), batched=True
    )
    torch.manual_seed(0)
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 8}
    config = SymbolInvariantConfig(base_vocab_size=len(tokenizer), num_symbols=6, **sizes)
    model, seen = SymbolInvariantForConditionalGeneration(config), {}

    def measure(found):
        logits = found.predictions[0] if isinstance(found.predictions, tuple) else found.predictions
        seen["width"], known = logits.shape[-1], found.label_ids != -100
        return {"right": float((logits.argmax(-1) == found.label_ids)[known].mean())}

    arguments = Seq2SeqTrainingArguments(
        str(tmp_path), per_device_eval_batch_size=2, eval_accumulation_steps=steps, report_to="none", use_cpu=True
    )
    collator = DataCollatorForSeq2Seq(tokenizer, model)
    trainer = Seq2SeqTrainer(model, arguments, collator, eval_dataset=rows, compute_metrics=measure)
    assert np.isfinite(trainer.evaluate()["eval_loss"]) and 0 <= trainer.evaluate()["eval_right"] <= 1
    assert seen["width"] == config.vocab_size == len(tokenizer) + 6
    assert trainer.predict(rows).label_ids.shape[0] == len(pairs)
