"""Weights in 8 bits, by torchao: the model answers, and a renaming of the input still renames the answer."""

import pytest
import torch

from .tiny import BASE, EOS, pad, rename, tiny_model

# No extra has it: wherever it is installed transformers imports it, and it prints and warns then.
quantization = pytest.importorskip("torchao.quantization", reason="no extra has torchao")
RENAMING = {0: 4, 1: 0, 2: 1}


@pytest.mark.parametrize("name", ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"])
def test_a_model_with_weights_in_8_bits_is_near_the_whole_one_and_follows_a_renaming(name):
    model = tiny_model(dtype=torch.float32, d_model=48, d_ff=64, num_attention_heads=3)
    sources = pad([[5, BASE, 12, BASE + 1, EOS], [12, BASE + 2, EOS]])
    with torch.no_grad():
        whole = model(**sources).logits
        quantization.quantize_(model, getattr(quantization, name)())
        logits = model(**sources).logits
    finite = whole.isfinite()
    assert torch.equal(finite, logits.isfinite()) and not torch.equal(logits, whole)
    torch.testing.assert_close(logits[finite], whole[finite], atol=0.3, rtol=0)
    renamed = {**sources, "input_ids": rename(sources["input_ids"], RENAMING)}
    for beams in (1, 3):
        before, after = (model.generate(**given, num_beams=beams, max_new_tokens=9) for given in (sources, renamed))
        assert torch.equal(rename(before, RENAMING), after)
