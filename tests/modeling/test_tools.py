"""What people put around models works: autocast, the configuration's switches, hooks and layers in place of ours."""

import pytest
import torch
from torch import nn

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForSequenceClassification

from .tiny import BASE, EOS, SIZES, START, pad, tiny_decoder, tiny_model

IDS = torch.tensor([[5, BASE, 12, BASE + 1, EOS]])


def classifier():
    return SymbolInvariantForSequenceClassification(SymbolInvariantConfig(**{**SIZES, "decoder_layers": 0})).eval()


MODELS = {"encoder-decoder": tiny_model, "decoder": tiny_decoder, "encoder": classifier}


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_answers_are_generated_under_autocast(beams, dtype):
    model = tiny_model(dtype=torch.float32)
    sources = pad([[5, BASE, 12, BASE + 1, EOS], [12, 4, EOS]])
    with torch.autocast("cpu", dtype=dtype):
        answers = model.generate(**sources, num_beams=beams, max_new_tokens=9)
    assert answers.shape[0] == 2 and (answers[:, 0] == START).all() and (answers == EOS).any(1).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_configuration_decides_on_tuples_unless_the_call_does(name):
    model = MODELS[name]()
    torch.manual_seed(0)
    output = model(IDS)
    model.config.return_dict = False
    torch.manual_seed(0)
    as_tuple = model(IDS)
    assert isinstance(as_tuple, tuple) and torch.equal(as_tuple[0], output.logits)
    torch.manual_seed(0)
    assert torch.equal(model(IDS, return_dict=True).logits, output.logits)
    assert isinstance(model.model(IDS), tuple)
    if name != "encoder":
        assert model.generate(IDS, max_new_tokens=9).shape[0] == 1


@pytest.mark.parametrize("name", ["encoder-decoder", "decoder"])
def test_the_configuration_decides_on_the_cache_unless_the_call_does(name):
    model = MODELS[name]()
    assert model(IDS).past_key_values is not None and model(IDS, use_cache=False).past_key_values is None
    assert model(IDS, labels=IDS).past_key_values is None
    model.train()
    assert model(IDS).past_key_values is None and model(IDS, use_cache=True).past_key_values is not None
    model.eval().config.use_cache = False
    assert model(IDS).past_key_values is None and model(IDS, use_cache=True).past_key_values is not None


@pytest.mark.parametrize("name", ["q_proj", "k_proj", "v_proj", "fc1", "fc2"])
def test_what_is_put_in_place_of_a_linear_layer_is_called_and_hooks_are_too(name):
    """Adapters replace layers, and tools that move weights hook into them."""
    model = tiny_model()
    ids = torch.tensor([[5, 13, 14, 2]]).repeat(80, 1)
    with torch.no_grad():
        before = model(ids).logits
        for path, module in list(model.named_modules()):
            if path.endswith(f".{name}"):
                module.register_forward_hook(lambda module, inputs, output: output * 1.5)
        hooked = model(ids).logits
        for path, module in list(model.named_modules()):
            if path.endswith(f".{name}"):
                module._forward_hooks.clear()
                model.set_submodule(path, nn.Sequential(module))
        replaced = model(ids).logits
    assert not torch.allclose(hooked, before)
    torch.testing.assert_close(replaced, before)
