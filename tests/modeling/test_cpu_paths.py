"""What a CPU computes another way than a GPU is the same: feed-forward in pieces, written-out attention, dropout."""

import pytest
import torch
from torch import nn

from hf_symbinv.modeling import layers_symbinv as layers
from hf_symbinv.modeling.layers_symbinv import FeedForward

from .test_training_step import pairs, training_batch
from .tiny import tiny_config, tiny_model


def feed_forward(**fields):
    torch.manual_seed(0)
    return FeedForward(tiny_config(**fields)).double()


def gradients(block, states, cotangent):
    block.zero_grad()
    states = states.clone().requires_grad_()
    out = block(states)
    out.backward(cotangent)
    return [out.detach(), states.grad, *(parameter.grad.clone() for parameter in block.parameters())]


@pytest.fixture
def in_pieces(monkeypatch):
    """Whether a block computed these states in pieces."""
    calls = []

    def watched(*tensors, compute=layers.cached_feed_forward):
        calls.append(tensors)
        return compute(*tensors)

    monkeypatch.setattr(layers, "cached_feed_forward", watched)

    def was(block, states):
        calls.clear()
        block(states)
        return bool(calls)

    return was


@pytest.mark.parametrize("rows", [layers.ROWS + 1, 2 * layers.ROWS, 3 * layers.ROWS - 100])
def test_the_feed_forward_block_in_pieces_is_the_block_and_so_are_its_gradients(rows, in_pieces, monkeypatch):
    block = feed_forward()
    states, cotangent = (torch.randn(1, 7, rows // 7 + 1, 18, dtype=torch.float64) for _ in range(2))
    assert in_pieces(block, states)
    found = gradients(block, states, cotangent)
    monkeypatch.setattr(layers, "ROWS", 10**6)
    assert not in_pieces(block, states)
    for one, other in zip(found, gradients(block, states, cotangent), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_other_activations_and_precisions_and_few_rows_take_the_plain_path(in_pieces):
    states = torch.randn(1, 3, layers.ROWS // 2, 18)
    assert in_pieces(feed_forward().float(), states)
    assert not in_pieces(feed_forward(activation_function="gelu").float(), states)
    assert not in_pieces(feed_forward().bfloat16(), states.bfloat16())
    assert not in_pieces(feed_forward().float(), states[:, :1])
    with torch.autocast("cpu", torch.bfloat16):
        assert not in_pieces(feed_forward().float(), states)


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


class TestDropout:
    def test_it_drops_as_often_as_asked_and_keeps_the_mean(self):
        torch.manual_seed(0)
        ones = torch.ones(1_000_003, dtype=torch.float64)
        dropped = layers.Dropout(0.1)(ones)
        values = dropped.unique()
        assert len(values) == 2 and values[0] == 0
        torch.testing.assert_close(values[1].item(), 1 / 0.9, rtol=1e-4, atol=0)
        assert abs((dropped == 0).double().mean().item() - 0.1) < 0.002
        assert abs(dropped.mean().item() - 1) < 0.002

    def test_neighbours_are_dropped_independently(self):
        torch.manual_seed(0)
        dropped = (layers.Dropout(0.5)(torch.ones(400_000)) == 0).float() - 0.5
        for distance in (1, 2, 3, 4, 8):
            assert abs((dropped[:-distance] * dropped[distance:]).mean().item()) < 0.003

    def test_gradients_pass_where_values_do_and_the_seed_decides(self):
        states = torch.randn(5, 7, requires_grad=True)
        dropout = layers.Dropout(0.4)
        torch.manual_seed(3)
        out = dropout(states)
        out.sum().backward()
        assert torch.equal(states.grad * states, out) and (out == 0).any()
        torch.manual_seed(3)
        assert torch.equal(dropout(states), out)

    def test_a_byte_per_element_is_kept_for_the_backward_pass(self):
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(kept.append, lambda tensor: tensor):
            layers.Dropout(0.4)(torch.randn(5, 7, requires_grad=True))
        assert [(tensor.dtype, tensor.shape) for tensor in kept] == [(torch.bool, (5, 7))]

    def test_in_evaluation_and_with_probability_0_nothing_is_dropped(self):
        states = torch.randn(50)
        assert torch.equal(layers.Dropout(0.5).eval()(states), states)
        assert torch.equal(layers.Dropout(0.0)(states), states)
        assert isinstance(layers.Dropout(0.1), nn.Dropout)


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
