"""A tiny checkpoint, whole, for tests to damage."""

import pytest


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A folder with a model that never learned anything."""
    import torch

    from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

    folder = tmp_path_factory.mktemp("checkpoint") / "whole"
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 12}
    torch.manual_seed(0)
    SymbolInvariantForConditionalGeneration(SymbolInvariantConfig.from_preset("ltl", **sizes)).save_pretrained(folder)
    LTL.tokenizer().save_pretrained(folder)
    return folder
