"""Tiny checkpoints, whole, that never learned anything."""

import pytest

SIZES = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 12}


@pytest.fixture(scope="session")
def make_checkpoint(tmp_path_factory):
    """`make_checkpoint(task, **fields)`: the folder of a model with these fields of its configuration."""
    import torch

    from hf_symbinv import SymbolInvariantForConditionalGeneration

    def make(task, **fields):
        folder = tmp_path_factory.mktemp("checkpoint") / "whole"
        torch.manual_seed(0)
        SymbolInvariantForConditionalGeneration(task.config(**{**SIZES, **fields})).save_pretrained(folder)
        task.tokenizer().save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def whole(make_checkpoint):
    """A folder with a model for LTL, for tests to copy and damage."""
    from hf_symbinv import LTL

    return make_checkpoint(LTL, components=["EP", "DP", "EA", "CP"])
