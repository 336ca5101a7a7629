"""GPT-2 with identity-reparametrised attention: what it adds, and that it adds nothing while its scalars are 0."""

import re

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    BertConfig,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
)

from hf_symbinv import (
    IdentityGPT2Config,
    IdentityGPT2ForSequenceClassification,
    IdentityGPT2LMHeadModel,
    IdentityGPT2Model,
    SymbolInvariantConfig,
)

SIZES = {
    "vocab_size": 50, "n_positions": 32, "n_embd": 24, "n_layer": 2, "n_head": 3, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """A GPT-2 checkpoint: the model, and the folder it was saved in."""
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(**SIZES)).eval()
    model.set_attn_implementation("eager")
    folder = tmp_path_factory.mktemp("gpt2")
    model.save_pretrained(folder)
    return model, folder


@pytest.fixture
def ids():
    return torch.randint(2, 50, (3, 9), generator=torch.Generator().manual_seed(1))


def with_scalars(**changes) -> IdentityGPT2LMHeadModel:
    torch.manual_seed(0)
    model = IdentityGPT2LMHeadModel(IdentityGPT2Config(**SIZES, **changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "identity" in name:
                parameter.uniform_(-0.3, 0.3)
    return model


def test_a_gpt2_checkpoint_gives_the_same_logits_bit_for_bit(gpt2, ids):
    model, folder = gpt2
    loaded = IdentityGPT2LMHeadModel.from_pretrained(folder)
    assert torch.equal(loaded(ids).logits, model(ids).logits)


def test_new_scalars_of_a_loaded_checkpoint_have_the_initial_value(gpt2):
    _, folder = gpt2
    loaded = IdentityGPT2LMHeadModel.from_pretrained(folder, identity_initial=0.5, identity_multiplier=10.0)
    assert all((block.attn.identity_qk == 0.05).all() for block in loaded.transformer.h)
    assert all((block.attn.identity_vo == 0.05).all() for block in loaded.transformer.h)


@pytest.mark.parametrize("options", [{}, {"identity_vo": False}, {"identity_qk": False}])
def test_a_block_is_the_papers_formula(options):
    """Written out head by head, with the products W_K W_Qᵀ + a I and W_V W_O + b I made."""
    model = with_scalars(**options)
    attention = model.transformer.h[0].attn
    width, heads = model.config.n_embd, model.config.n_head
    head_dim = width // heads
    x = torch.randn(2, 7, width, generator=torch.Generator().manual_seed(2))
    weight, bias = attention.c_attn.weight, attention.c_attn.bias
    causal = torch.full((7, 7), float("-inf")).triu(1)
    expected = attention.c_proj.bias.expand(2, 7, width)
    for head in range(heads):
        part = slice(head * head_dim, (head + 1) * head_dim)
        query, key, value = (
            x @ weight[:, start : start + width][:, part] + bias[start : start + width][part]
            for start in (0, width, 2 * width)
        )
        scores = query @ key.transpose(1, 2) / head_dim**0.5
        if attention.identity_qk is not None:
            scores = scores + x @ (attention.identity_qk[head] * torch.eye(width)) @ x.transpose(1, 2)
        weights = (scores + causal).softmax(-1)
        expected = expected + weights @ (value @ attention.c_proj.weight[part])
        if attention.identity_vo is not None:
            expected = expected + weights @ x @ (attention.identity_vo[head] * torch.eye(width))
    result, _ = attention(x, attention_mask=causal.expand(2, 1, 7, 7))
    assert torch.allclose(result, expected, atol=1e-5)


def test_decoding_with_a_cache_agrees_with_decoding_without(ids):
    model = with_scalars()
    whole = model(ids).logits
    first = model(ids[:, :4], use_cache=True)
    name = "cache" if "cache" in first else "past_key_values"  # since transformers 5.24, and before
    second = model(ids[:, 4:], **{name: first[name]})
    assert torch.allclose(torch.cat((first.logits, second.logits), dim=1), whole, atol=1e-5)
    settings = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 6, "num_beams": 3, "pad_token_id": 1}
    written = model.generate(ids, **settings)
    assert torch.equal(written, model.generate(ids, **settings, use_cache=False))
    assert torch.equal(written, model.generate(ids, **settings, cache_implementation="static"))


def test_the_multiplier_changes_the_gradient_and_not_the_model(ids):
    plain, scaled = with_scalars(), with_scalars(identity_multiplier=10.0)
    with torch.no_grad():
        for block, other in zip(scaled.transformer.h, plain.transformer.h, strict=True):
            block.attn.identity_qk.copy_(other.attn.identity_qk / 10)
            block.attn.identity_vo.copy_(other.attn.identity_vo / 10)
    losses = [model(ids, labels=ids).loss for model in (plain, scaled)]
    assert torch.allclose(*losses)
    for loss in losses:
        loss.backward()
    for block, other in zip(scaled.transformer.h, plain.transformer.h, strict=True):
        assert torch.allclose(block.attn.identity_qk.grad, 10 * other.attn.identity_qk.grad, rtol=1e-3)
        assert torch.allclose(block.attn.identity_vo.grad, 10 * other.attn.identity_vo.grad, rtol=1e-3)


def test_the_auto_classes_know_it_and_a_saved_model_comes_back(tmp_path, ids):
    model = with_scalars()
    model.save_pretrained(tmp_path)
    assert type(AutoConfig.from_pretrained(tmp_path)) is IdentityGPT2Config
    assert type(AutoModel.from_pretrained(tmp_path)) is IdentityGPT2Model
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(loaded) is IdentityGPT2LMHeadModel
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    output = loaded(ids, output_attentions=True, output_hidden_states=True)
    assert [tuple(weights.shape) for weights in output.attentions] == [(3, 3, 9, 9)] * 2
    assert len(output.hidden_states) == 3


def test_regression_on_the_last_token_is_gpt2s_while_the_scalars_are_0(tmp_path, ids):
    sizes = {**SIZES, "num_labels": 1, "pad_token_id": 49}
    torch.manual_seed(0)
    model = GPT2ForSequenceClassification(GPT2Config(**sizes)).eval()
    model.set_attn_implementation("eager")
    model.save_pretrained(tmp_path / "gpt2")
    loaded = IdentityGPT2ForSequenceClassification.from_pretrained(tmp_path / "gpt2")
    padded = torch.nn.functional.pad(ids, (0, 2), value=49)
    labels = torch.tensor([1.0, -1.0, 0.5])
    expected, result = (each(padded, labels=labels) for each in (model, loaded))
    assert torch.equal(result.logits, expected.logits) and torch.equal(result.loss, expected.loss)
    with torch.no_grad():
        loaded.transformer.h[0].attn.identity_qk.fill_(0.3)
    assert not torch.equal(loaded(ids).logits, expected.logits)
    loaded.save_pretrained(tmp_path / "identity")
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "identity")
    assert type(again) is IdentityGPT2ForSequenceClassification
    assert torch.equal(again(ids).logits, loaded(ids).logits)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"identity_multiplier": 0.0}, "identity_multiplier=0.0: must be positive"),
        ({"add_cross_attention": True}, "add_cross_attention=True: the identity terms are those of self-attention"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(Exception, match=message):
        IdentityGPT2Config(**changes)


KINDS = [IdentityGPT2Model, IdentityGPT2LMHeadModel, IdentityGPT2ForSequenceClassification]


def test_masks_that_old_checkpoints_hold_are_passed_over(gpt2, ids, tmp_path):
    model, _ = gpt2
    masks = {
        "transformer.h.0.attn.bias": torch.ones(1, 1, 32, 32).tril(),
        "transformer.h.1.attn.masked_bias": torch.tensor(-1e4),
    }
    model.save_pretrained(tmp_path, state_dict={**model.state_dict(), **masks})
    assert torch.equal(IdentityGPT2LMHeadModel.from_pretrained(tmp_path)(ids).logits, model(ids).logits)


@pytest.mark.parametrize("kind", KINDS)
def test_gpt2s_own_configuration_makes_the_model_with_scalars(kind):
    model = kind(GPT2Config(**SIZES, n_inner=36, num_labels=3))
    assert type(model.config) is IdentityGPT2Config
    expected = IdentityGPT2Config(**SIZES, n_inner=36, num_labels=3, dtype=model.config.dtype)
    assert model.config.to_dict() == expected.to_dict()
    assert sum("identity" in name for name, _ in model.named_parameters()) == 4
    assert model.base_model.config is model.config and model.base_model.h[0].attn.config is model.config
    for other in (BertConfig(), SymbolInvariantConfig()):
        with pytest.raises(ValueError, match=rf"model_type='{other.model_type}': {kind.__name__} is made of an Iden"):
            kind(other)


def test_a_checkpoint_loads_with_gpt2s_own_configuration(gpt2, ids, tmp_path):
    model, folder = gpt2
    loaded = IdentityGPT2LMHeadModel.from_pretrained(folder, config=GPT2Config.from_pretrained(folder))
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    loaded.save_pretrained(tmp_path)
    assert type(AutoModelForCausalLM.from_pretrained(tmp_path)) is IdentityGPT2LMHeadModel


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("identity_kq", "identity_qk"),
        ("identity_multipler", "identity_multiplier"),
        ("identiy_vo", "identity_vo"),
        ("identity_init", "identity_initial"),
    ],
)
def test_a_misspelt_field_is_refused(name, meant, gpt2):
    _, folder = gpt2
    message = f"{name}=1: unknown field; did you mean {meant}?"
    with pytest.raises(ValueError, match=re.escape(message)):
        IdentityGPT2Config(**{name: 1})
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        IdentityGPT2LMHeadModel.from_pretrained(folder, **{name: 1})


def test_every_field_that_checkpoints_of_gpt2_have_is_taken():
    # Those of OpenAI's checkpoints and of transformers' earlier releases, which GPT2Config does not declare.
    others = {
        "n_ctx": 1024, "gradient_checkpointing": False, "initial": 1, "predict_special_tokens": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "output_past": True,
    }  # fmt: skip
    config = IdentityGPT2Config.from_dict({**GPT2Config(**SIZES).to_dict(), **others})
    assert config.n_ctx == 1024 and config.initial == 1 and config.n_embd == 24
    assert GPT2Config().to_dict().keys() < config.to_dict().keys()
