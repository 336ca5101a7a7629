"""A folder with a tiny model, as training leaves it."""

import json
import re

import pytest
import torch

from hf_symbinv import LTL, SymbolInvariantForConditionalGeneration

SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 24}
RECORD = {
    "command": "symbinv train ltl-small --output /home/somebody/runs/tiny trainer.hub_token=hf_" + "x" * 34,
    "recipe": {"task": "ltl", "data": {"num_symbols": 3, "rows": 500}, "trainer": {"max_steps": 40}},
    "hyperparameters": {"max_steps": 40, "learning_rate": 0.002, "lr_scheduler_type": "cosine"},
    "rows": {"train": 400, "validation": 50, "test": 50},
    "results": {
        "train_loss": 1.25, "test_count": 50, "test_accuracy": 0.8, "test_accuracy_interval": [0.6696, 0.8876],
    },
    "verified_by": "spot 2.13",
    "log": [
        {"step": 10, "loss": 2.5}, {"step": 20, "loss": 1.5}, {"step": 20, "eval_loss": 1.6}, {"step": 30, "loss": 1.0},
        {"step": 40, "loss": 0.75}, {"step": 40, "eval_loss": 0.875}, {"step": 40, "eval_accuracy": 0.7},
        {"step": 40, "train_loss": 1.25},
    ],
    "seconds": 5400.0,
    "processes": 2,
    "environment": {
        "python": "3.11.7", "platform": "Linux x86_64", "cpu": "Some CPU", "cpu_count": 8, "threads": 3,
        "accelerator": None, "packages": {"torch": "2.13.0", "spottl": None},
    },
}  # fmt: skip


def evaluation(data="data/ltl", split="test", beams=3, correct=9, count=10, **more):
    """What `symbinv evaluate` writes, as far as cards use it."""
    summary = {"count": count, "accuracy": correct / count, "accuracy_interval": [0.5958, 0.9821]}
    return {
        "model": "tiny", "task": "ltl", "data": data, "split": split,
        "generation": {"num_beams": beams, "num_candidates": 1},
        "groups": [{"label": "all", "summary": summary}, {"label": "symbols 3", "summary": {**summary, "count": 4}}],
        "alpha_covariance": None, **more,
    }  # fmt: skip


def programs(card):
    """The blocks of Python in a card."""
    return re.findall(r"^```python\n(.*?)^```$", card, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """A folder with an untrained model."""
    folder = tmp_path_factory.mktemp("weights") / "tiny"
    torch.manual_seed(0)
    SymbolInvariantForConditionalGeneration(LTL.config(**SIZES, num_symbols=3)).save_pretrained(folder)
    LTL.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def tiny(weights, tmp_path):
    """The same with a record of its training."""
    import shutil

    folder = tmp_path / "tiny"
    shutil.copytree(weights, folder)
    (folder / "run.json").write_text(json.dumps(RECORD))
    return folder
