"""The Triton kernels compute what the layers do, on a GPU or under Triton's interpreter on a CPU."""

import os
import subprocess
import sys

import pytest
import torch
from torch.nn import functional

from hf_symbinv.modeling import layers_symbinv as layers
from tests.modeling.test_training_step import pairs, training_batch
from tests.modeling.tiny import tiny_model

from .conftest import FOLDER

pytest.importorskip("triton", reason="Triton is not installed; CUDA builds of torch bring it")
sys.path.insert(0, str(FOLDER))
import triton_kernels as kernels

sys.path.remove(str(FOLDER))

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
RUNS = kernels.can_run()
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"

on_chip = pytest.mark.skipif(not RUNS, reason="kernels need a GPU, or TRITON_INTERPRET=1, which one test below sets")


@pytest.mark.slow
@pytest.mark.skipif(RUNS, reason="the tests run here as they are")
def test_everything_here_passes_under_the_interpreter():
    """In a process of its own, because the interpreter is chosen when kernels are defined."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(DEVICE, dtype)


def out_and_gradients(function, tensors, cotangent, dtype=None):
    """What `function` gives of `tensors`, computed in `dtype` if one is given, and all their gradients."""
    tensors = [tensor.detach().to(dtype or tensor.dtype).requires_grad_() for tensor in tensors]
    out = function(*tensors)
    out.backward(cotangent.to(out.dtype))
    return [out.detach(), *(tensor.grad for tensor in tensors)]


def assert_as_close(found, plain, exact):
    """Each tensor is about as near to the exact one as the plain computation in the same precision is.

    Four times as far at most: the interpreter cuts off the bits that bfloat16 has not, where a GPU rounds.
    """
    for name, (one, other, truth) in enumerate(zip(found, plain, exact, strict=True)):
        assert one.dtype == other.dtype and one.shape == other.shape
        size = truth.abs().max()
        error, usual = (float((tensor.double() - truth).abs().max() / size) for tensor in (one, other))
        ulp = torch.finfo(one.dtype).eps
        assert error <= max(4 * usual, 4 * ulp), f"tensor {name}: {error:.1e} beside {usual:.1e}"


def plain_feed_forward(x, weight1, bias1, weight2, bias2):
    return functional.linear(functional.linear(x, weight1, bias1).relu(), weight2, bias2)


def feed_forward_tensors(rows, width, inner, dtype=torch.float32):
    shapes = ((rows, width), (inner, width), (inner,), (width, inner), (width,))
    scales = (1, width**-0.5, 0.3, inner**-0.5, 0.3)
    scaled = enumerate(zip(shapes, scales, strict=True))
    return [(random(*shape, seed=seed) * scale).to(dtype) for seed, (shape, scale) in scaled]


@on_chip
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("rows", "width", "inner"), [(130, 48, 72), (65, 128, 33), (7, 32, 16)])
def test_the_feed_forward_kernels_are_the_block_and_its_gradients(rows, width, inner, dtype):
    tensors, cotangent = feed_forward_tensors(rows, width, inner, dtype), random(rows, width, dtype=dtype, seed=9)
    found = out_and_gradients(kernels.relu_feed_forward, tensors, cotangent)
    plain = out_and_gradients(plain_feed_forward, tensors, cotangent)
    exact = out_and_gradients(plain_feed_forward, tensors, cotangent, torch.float64)
    assert_as_close(found, plain, exact)


def key_masks(batch, queries, keys):
    padding = torch.arange(keys) < torch.arange(keys - batch + 1, keys + 1)[:, None]
    causal = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    padding, causal = padding[:, None, None].to(DEVICE), causal[None, None].to(DEVICE)
    return {"nowhere": None, "padding": padding, "causal": causal, "both": padding & causal}


# Per-stream: S·H groups, as many queries as tokens. Aggregated: H groups, the queries of all streams side by side.
@on_chip
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("batch", "groups", "queries", "keys", "width", "masked"),
    [
        (2, 3, 20, 20, 16, "both"),
        (2, 1, 70, 37, 6, "padding"),
        (1, 2, 17, 17, 24, "causal"),
        (1, 1, 3, 128, 16, "nowhere"),
    ],
)
def test_the_attention_kernels_are_attention_and_its_gradients(batch, groups, queries, keys, width, masked, dtype):
    mask = key_masks(batch, queries, keys)[masked]
    tensors = [random(batch, groups, count, width, dtype=dtype, seed=count) for count in (queries, keys, keys)]
    cotangent = random(batch, groups, queries, width, dtype=dtype, seed=9)

    def plain(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    found = out_and_gradients(lambda q, k, v: kernels.short_attention(q, k, v, mask), tensors, cotangent)
    exact = out_and_gradients(plain, tensors, cotangent, torch.float64)
    assert_as_close(found, out_and_gradients(plain, tensors, cotangent), exact)


@on_chip
def test_attention_takes_states_that_lie_in_memory_in_any_order():
    queries, keys, values = (random(2, 5, 3, 16, seed=seed).transpose(1, 2) for seed in range(3))
    expected = functional.scaled_dot_product_attention(queries, keys, values)
    torch.testing.assert_close(kernels.short_attention(queries, keys, values, None), expected)
    across = random(2, 3, 16, 5).transpose(2, 3)
    expected = functional.scaled_dot_product_attention(across, keys, values)
    torch.testing.assert_close(kernels.short_attention(across, keys, values, None), expected)


@on_chip
def test_gradients_are_the_same_bit_for_bit_each_time():
    tensors, cotangent = feed_forward_tensors(200, 32, 70), random(200, 32, seed=9)
    first, second = (out_and_gradients(kernels.relu_feed_forward, tensors, cotangent) for _ in range(2))
    assert all(map(torch.equal, first, second))


@on_chip
def test_under_autocast_products_are_in_bfloat16_and_gradients_of_weights_in_their_own_precision():
    tensors, cotangent = feed_forward_tensors(9, 32, 24), random(9, 32, seed=9)
    exact = out_and_gradients(plain_feed_forward, tensors, cotangent, torch.float64)
    with torch.autocast(DEVICE, torch.bfloat16):
        assert kernels.feed_forward_fits(tensors[0])
        found = out_and_gradients(kernels.relu_feed_forward, tensors, cotangent)
        plain = out_and_gradients(plain_feed_forward, tensors, cotangent)
    assert found[0].dtype == torch.bfloat16 and found[1].dtype == torch.float32
    assert_as_close(found, plain, exact)


@on_chip
@pytest.mark.parametrize("components", ["EP DP EA CP", "DP DA CA"])
def test_a_training_step_is_the_same_with_the_kernels_and_as_before_without_them(components, monkeypatch):
    model = tiny_model(
        components=components.split(), dtype=torch.float32, d_model=32, num_attention_heads=1, decoder_layers=1
    ).to(DEVICE)
    batch = {name: tensor.to(DEVICE) for name, tensor in training_batch(*pairs(model.config, (2, 0))).items()}

    def all_gradients():
        model.zero_grad()
        model(**batch).loss.backward()
        return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}

    plain, used = all_gradients(), []

    for name in ("short_attention", "relu_feed_forward"):
        kernel = getattr(kernels, name)
        monkeypatch.setattr(kernels, name, lambda *tensors, kernel=kernel: used.append(kernel) or kernel(*tensors))
    with kernels.in_layers():
        found = all_gradients()
        assert len(used) == len(components.split()) + 2
    again = all_gradients()
    assert all(torch.equal(again[name], gradient) for name, gradient in plain.items())
    for name, gradient in plain.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-5, msg=name)


def test_models_compute_without_the_kernels_when_a_block_with_them_ends_in_an_error():
    before = layers.attend, layers.FeedForward.forward
    with pytest.raises(ZeroDivisionError), kernels.in_layers():
        assert layers.attend is not before[0] and layers.FeedForward.forward is not before[1]
        _ = 1 / 0
    assert (layers.attend, layers.FeedForward.forward) == before


@on_chip
def test_the_compiler_takes_the_kernels_into_one_graph():
    tensors, cotangent = feed_forward_tensors(5, 16, 8), random(5, 16, seed=9)

    def both(x, *weights):
        states = kernels.relu_feed_forward(x, *weights).view(1, 1, 5, 16)
        return kernels.short_attention(states, states * 2, states, None).view(5, 16)

    compiled = torch.compile(both, backend="aot_eager", fullgraph=True, dynamic=True)
    expected = out_and_gradients(both, tensors, cotangent)
    for one, other in zip(out_and_gradients(compiled, tensors, cotangent), expected, strict=True):
        torch.testing.assert_close(one, other)


@on_chip
def test_what_the_kernels_are_not_made_for_is_left_to_the_layers():
    states, mask = random(2, 3, 5, 16), torch.ones(5, 5, dtype=torch.bool, device=DEVICE)
    assert kernels.attention_fits(states, states, None) and kernels.attention_fits(states, states, mask)
    assert not kernels.attention_fits(states, states, mask.float())  # a bias, which may want a gradient
    assert not kernels.attention_fits(states, random(2, 3, 129, 16), None)
    assert not kernels.attention_fits(states.double(), states.double(), None)
    assert not kernels.attention_fits(states[:, :, :0], states, None)
    assert kernels.feed_forward_fits(states) and not kernels.feed_forward_fits(random(2, 129))


@on_chip
@torch.no_grad()
def test_compiled_layers_take_the_kernels_into_one_graph_and_compute_the_same():
    model = tiny_model(dtype=torch.float32, d_model=32, num_attention_heads=1, decoder_layers=1).to(DEVICE)
    batch = {name: tensor.to(DEVICE) for name, tensor in training_batch(*pairs(model.config, (2, 0))).items()}
    expected, operators = model(**batch).logits, []

    def backend(graph, inputs):
        operators.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    model.model.encoder.compile(backend=backend, dynamic=True, fullgraph=True)
    with kernels.in_layers():
        found = model(**batch).logits
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    assert {"hf_symbinv.attention.default", "hf_symbinv.feed_forward.default"} <= set(operators)
