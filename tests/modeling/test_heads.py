"""Embedding and head are two modules with one parameter, which checkpoints hold once, under the embedding's name."""

import copy

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from hf_symbinv.modeling.embedding_symbinv import Head

from .test_causal import language_model
from .test_classification import encoder
from .test_embedders import one_stream
from .test_training_step import training_batch
from .tiny import tiny_model

TABLE, HEAD = "model.embedding.weight", "lm_head.weight"
MODELS = {
    "streams": tiny_model,
    **{kind: lambda kind=kind: one_stream(kind) for kind in ("learned", "renamed", "random")},
    **{
        f"causal {kind}": lambda kind=kind: language_model(symbol_embedding=kind)
        for kind in ("gaussian", "learned", "renamed")
    },
}


def batch_of(model):
    if model.config.is_encoder_decoder:
        return training_batch([[5, 13, 14, 2], [6, 13, 3, 13, 2]], [[9, 13, 10, 2], [9, 8, 13, 13, 2]])
    ids = torch.tensor([[3, 1, 4, 3], [5, 3, 2, 2]])
    return {"input_ids": ids, "labels": ids}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def test_they_are_two_modules_and_share_one_parameter(model):
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    assert embedding is model.model.embedding and head is model.lm_head and isinstance(head, Head)
    assert embedding.weight is head.weight
    names = [name for name, parameter in model.named_parameters() if parameter is head.weight]
    assert names == [TABLE]
    copied = copy.deepcopy(model)
    assert copied.lm_head.weight is copied.model.embedding.weight


def test_a_hook_on_the_embedding_sees_what_is_embedded_and_nothing_that_is_projected(model):
    seen, projected = [], []
    model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: seen.append(output))
    model.get_output_embeddings().register_forward_hook(lambda module, inputs, output: projected.append(output))
    batch = batch_of(model)
    output = model(**batch)
    lengths = [batch["input_ids"].shape[1]] + [batch["labels"].shape[1]] * model.config.is_encoder_decoder
    assert [(states.dim(), states.shape[2], states.shape[3]) for states in seen] == [
        (4, length, model.config.d_model) for length in lengths
    ]
    assert [logits.shape[:2] for logits in projected] == [output.logits.shape[:2]]


def test_noise_on_the_embedding_leaves_the_head_as_it_is(model):
    """NEFTune: the hidden states change, and the head still projects them on the rows without noise."""
    head, states = model.get_output_embeddings(), []
    head.register_forward_hook(lambda module, inputs, output: states.append((inputs, output)))
    with torch.no_grad():
        model(**batch_of(model))
        model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: output + 0.5)
        model(**batch_of(model))
        (plain, _), (noisy, logits) = states
        assert not torch.allclose(noisy[0], plain[0])
        assert torch.equal(type(head)(model.config, model.model.embedding.weight)(*noisy), logits)


def test_a_checkpoint_holds_the_weight_once_under_the_embeddings_name_and_comes_back_shared(model, tmp_path):
    """By `from_pretrained`, and by `load_state_dict` over another one."""
    model.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert TABLE in stored and not [name for name in stored if name.startswith("lm_head")]
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.lm_head.weight.zero_()
    assert other.load_state_dict(stored).missing_keys == []
    for loaded in (type(model).from_pretrained(tmp_path, dtype=torch.float64), other):
        assert loaded.lm_head.weight is loaded.model.embedding.weight
        assert torch.equal(loaded.lm_head.weight, model.lm_head.weight)


def test_load_state_dict_refuses_a_state_that_has_the_weight_under_neither_name(model):
    state = {name: tensor for name, tensor in model.state_dict().items() if name not in (TABLE, HEAD)}
    with pytest.raises(RuntimeError, match=rf'Missing key\(s\) in state_dict: "{TABLE}", "{HEAD}"'):
        model.load_state_dict(state)


def test_models_that_write_nothing_have_no_head(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    for model in (encoder(), AutoModel.from_pretrained(tmp_path)):
        assert model.get_output_embeddings() is None
        assert model.get_input_embeddings().weight.shape[1] == model.config.d_model
