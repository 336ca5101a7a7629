"""docs/trainer.md at toy size: its program runs as it stands there, and with BART's lines in place of its own."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from .. import forks
from .evaluate_rows import PAIRS, evaluate

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
    environment = {**os.environ, "HF_DATASETS_CACHE": str(folder / "cache"), "CUDA_VISIBLE_DEVICES": ""}
    where = {"folder": folder, "environment": environment}
    made = forks.run(["make_pairs.py", "60", "1", "4", "0"], **where)
    assert made.returncode == 0, made.stderr[-2000:]
    (folder / "pairs.jsonl").write_text(made.stdout)
    done = forks.run(["train.py"], **where)
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
    found = evaluate(str(tmp_path), eval_accumulation_steps=steps)
    assert np.isfinite(found["eval_loss"]) and 0 <= found["eval_right"] <= 1
    assert found["labels"] == len(PAIRS) and found["shape"][-1] == found["vocab_size"]


@pytest.mark.slow
def test_two_processes_evaluate_as_one(tmp_path):
    program, found = Path(__file__).with_name("evaluate_rows.py"), []
    for processes in (1, 2):
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "RANK": "0"}
        done = forks.run([str(program), str(tmp_path)], processes=processes, environment=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        found.append(json.loads(done.stdout.splitlines()[-1]))
    for alone, together in zip(*found, strict=True):
        assert (alone.pop("processes"), together.pop("processes")) == (1, 2)
        # A mean over the batches of one process, of which each has its own number of tokens.
        assert np.isfinite([together.pop("eval_loss"), alone.pop("eval_loss")]).all()
        assert together == alone
