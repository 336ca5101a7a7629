"""A callback writes the card of any trainer's model, and what a record says is about the run and nobody's machine."""

import sys

import pytest
from huggingface_hub import ModelCard
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer

from hf_symbinv import (
    LTL,
    IdentityGPT2Config,
    IdentityGPT2ForSequenceClassification,
    SymbolInvariantForConditionalGeneration,
)
from hf_symbinv.training.batching import tokenize
from hf_symbinv.training.cards import ModelCardCallback, command
from hf_symbinv.training.sequences import SequenceCollator

SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 24}


def arguments(folder, **options):
    return Seq2SeqTrainingArguments(output_dir=str(folder), use_cpu=True, report_to="none", **options)


@pytest.fixture
def trainer(tmp_path):
    from datasets import Dataset

    tokenizer = LTL.tokenizer()
    rows = Dataset.from_dict({"formula": ["&ab", "Xa"] * 4, "witness": ["&ab;{1}", "1;a;{1}"] * 4})
    return Seq2SeqTrainer(
        model=SymbolInvariantForConditionalGeneration(LTL.config(**SIZES, num_symbols=2)),
        args=arguments(tmp_path / "run", max_steps=2, logging_steps=1, learning_rate=0.01, disable_tqdm=True),
        train_dataset=tokenize(rows, LTL, tokenizer, "rows"),
        data_collator=SequenceCollator(tokenizer.pad_token_id),
        callbacks=[ModelCardCallback(LTL)],
    )


def test_a_plain_trainer_leaves_a_card(trainer, tmp_path):
    trainer.train()
    card = ModelCard.load(tmp_path / "run" / "README.md")
    assert "# run\n" in card.text and "| learning_rate | 0.01 |" in card.text and "| steps | 2 |" in card.text
    assert card.data.library_name == "transformers" and card.data.eval_results is None
    assert f"{trainer.model.num_parameters():,} parameters" in card.text


def test_a_model_that_answers_no_questions_needs_no_task(tmp_path):
    sizes = {"vocab_size": 5, "n_positions": 4, "n_embd": 8, "n_layer": 1, "n_head": 2, "num_labels": 1}
    Trainer(
        model=IdentityGPT2ForSequenceClassification(IdentityGPT2Config(**sizes, pad_token_id=0)),
        args=arguments(tmp_path / "run", max_steps=1, disable_tqdm=True),
        train_dataset=[{"input_ids": [1, 2, 1], "labels": 1.0}] * 8,
        callbacks=[ModelCardCallback()],
    ).train()
    card = ModelCard.load(tmp_path / "run" / "README.md")
    assert card.data.pipeline_tag == "text-classification" and "AutoModelForSequenceClassification" in card.text
    assert "| steps | 1 |" in card.text and "verified" not in card.text


def test_the_command_has_neither_the_programs_folder_nor_tokens(monkeypatch):
    token = "hf_" + "Ab1" * 11
    monkeypatch.setattr(
        sys, "argv", ["/x/bin/symbinv", "train", "a b", "trainer.hub_token=secret", f"run_name={token}"]
    )
    assert command() == "symbinv train 'a b' trainer.hub_token=<token> run_name=<token>"
