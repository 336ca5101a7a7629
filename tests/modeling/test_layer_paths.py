"""Attention that a CPU writes out in training is the fused one, and what stands in for a linear layer is called."""

import pytest
import torch
from torch import nn

from hf_symbinv.modeling import layers_symbinv as layers

from .test_training_step import pairs, training_batch
from .tiny import tiny_model


@pytest.mark.parametrize("components", ["EP DP EA CP", "EP EA DP DA CP CA"])
def test_training_gives_the_same_gradients_with_attention_written_out_and_fused(components, monkeypatch):
    model = tiny_model(components=components.split())
    batch = training_batch(*pairs(model.config, (2, 0, 3)))

    def all_gradients():
        model.zero_grad()
        model(**batch).loss.backward()
        return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}

    written = all_gradients()
    monkeypatch.setattr(layers, "SHORT", 0)
    for name, gradient in all_gradients().items():
        torch.testing.assert_close(written[name], gradient, rtol=1e-9, atol=1e-12)


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
