"""With `num_streams` a training step is the same and reads nothing from the device: it can be captured as a graph."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .test_training_step import pairs, training_batch
from .tiny import gradients, tiny_model

# Operators that a GPU has to be waited for, since a number or a shape depends on values.
READS = {"_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique_consecutive", "_unique2"}


class Reads(TorchDispatchMode):
    """Names of the operators called within that read values."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        by_mask = name in ("index", "index_put", "index_put_", "_index_put_impl_") and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        if name in READS or by_mask:
            self.found.append(name)
        return function(*args, **(kwargs or {}))


def batch_of(model, counts=(2, 0, 3, 1)):
    return training_batch(*pairs(model.config, counts))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("streams", [3, 5])
def test_more_streams_than_symbols_change_no_loss_and_no_gradient(streams, smoothing):
    model = tiny_model(label_smoothing=smoothing)
    batch = batch_of(model)
    found = gradients(model, **batch, num_streams=streams)
    for name, expected in gradients(model, **batch).items():
        torch.testing.assert_close(found[name], expected, rtol=1e-10, atol=1e-12, msg=name)


def test_a_step_with_fixed_streams_reads_no_value():
    model = tiny_model(dtype=torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(1e-3), fused=True)
    batch = batch_of(model)

    def step(**more):
        with Reads() as reads:
            optimizer.zero_grad()
            model(**batch, **more).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return reads.found

    scale = model.adacos.scale.clone()
    assert step(num_streams=3) == []
    assert not torch.equal(model.adacos.scale, scale)
    assert "_local_scalar_dense" in step()


@pytest.mark.parametrize(
    ("fields", "inputs"),
    [
        ({"symbol_embedding": "learned", "components": None}, {}),
        ({"num_fresh_symbols": 2, "grammar": None}, {}),
        ({}, {"decoder_input_ids": torch.tensor([[0, 9]] * 4)}),
        ({}, {"num_streams": 0}),
    ],
)
def test_a_fixed_number_is_refused_where_streams_cannot_be_fixed(fields, inputs):
    model = tiny_model(**fields)
    batch = {**batch_of(model), "num_streams": 3, **inputs}
    if "decoder_input_ids" in inputs:
        batch.pop("labels")
    with pytest.raises(ValueError, match=r"num_streams=[03]: must be at least 1, and needs a model with"):
        model(**batch)


def test_fewer_streams_than_symbols_are_an_error():
    model = tiny_model()
    with pytest.raises(RuntimeError, match="out of bounds"):
        model(**batch_of(model), num_streams=2)
