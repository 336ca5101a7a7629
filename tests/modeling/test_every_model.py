"""What holds for every model: its checkpoint, activations that are computed again, and micro-batches of a step."""

import copy
import json
from functools import partial
from itertools import pairwise

import pytest
import torch
import transformers

from hf_symbinv import (
    SymbolInvariantForCausalLM,
    SymbolInvariantForConditionalGeneration,
    SymbolInvariantForSequenceClassification,
)
from hf_symbinv.auto_classes import AUTO_CLASSES

from .test_causal import IDENTITY, language_model
from .test_classification import STREAMS, encoder, texts
from .test_new_symbols import model_of
from .test_tokens import filler, labeller
from .test_training_step import pairs, training_batch
from .tiny import ALL, enable_checkpointing, gradients, pad, tiny_model

COSINES = {"loss": "adacos", "normalize_embeddings": True, "normalize_features": True}
ONE_STREAM = {"components": None, "num_symbols": 40, "random_dim": 7}
MODELS = {
    "streams": partial(tiny_model, components=ALL),
    "extra streams": partial(tiny_model, components=ALL, extra_streams=5),
    "streams without the factor": partial(tiny_model, scale_embedding=False),
    **{
        kind: partial(tiny_model, symbol_embedding=kind, **ONE_STREAM)
        for kind in ("learned", "renamed", "random", "canonical")
    },
    "new symbols": model_of,
    "new canonical symbols": partial(model_of, "canonical"),
    "decoder with streams": partial(model_of, "texts"),
    "gaussian decoder": language_model,
    "gaussian decoder with a share": partial(language_model, random_share=0.3, **IDENTITY),
    "renamed decoder": partial(language_model, symbol_embedding="renamed"),
    "encoder with views": encoder,
    "encoder with streams": partial(encoder, **STREAMS),
    "encoder with renamed rows": partial(encoder, symbol_embedding="renamed", num_labels=3),
    "encoder as BERT": partial(encoder, embedding_norm=True, pooling="pooler"),
    "classes of tokens": partial(labeller, **STREAMS),
    "masks": partial(filler, **STREAMS),
    "masks by cosines": partial(filler, **STREAMS, **COSINES),
}


def batch_of(model):
    """Padded rows with labels."""
    if isinstance(model, SymbolInvariantForConditionalGeneration):
        return training_batch(*pairs(model.config, (2, 0, 3, 1)))
    if isinstance(model, SymbolInvariantForCausalLM):
        ids = torch.randint(2, model.config.base_vocab_size + 5, (4, 6), generator=torch.Generator().manual_seed(0))
        return {"input_ids": ids, "labels": ids}
    batch = pad(texts())
    if not isinstance(model, SymbolInvariantForSequenceClassification):
        return {**batch, "labels": torch.where(batch["attention_mask"] == 1, 3, -100)}
    return {**batch, "labels": torch.arange(1.0, 6.0) if model.num_labels == 1 else torch.arange(5) % 3}


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_comes_back_by_its_auto_class(name, tmp_path):
    model = MODELS[name](dtype=torch.float32)
    if getattr(model, "adacos", None) is not None:
        model.adacos.scale.fill_(3.25)
    model.save_pretrained(tmp_path)
    name = AUTO_CLASSES[type(model).__name__]
    names = {"AutoConfig", name, *(["AutoModel"] if name == "AutoModelForSeq2SeqLM" else [])}
    assert set(json.loads((tmp_path / "config.json").read_text())["auto_map"]) == names
    assert transformers.AutoConfig.from_pretrained(tmp_path).to_diff_dict() == model.config.to_diff_dict()
    # Copied, because weights that are mapped from a file lie elsewhere in memory, which changes how sums are rounded.
    loaded = copy.deepcopy(getattr(transformers, name).from_pretrained(tmp_path))
    assert type(loaded) is type(model)
    batch = batch_of(model)
    inputs = {key: value for key, value in batch.items() if key != "labels"}
    found = []
    for one in (model, loaded):
        torch.manual_seed(0)
        output = one(**batch)
        found.append([output.logits, output.loss])
        if hasattr(one, "generate"):
            found[-1].append(one.generate(**inputs, num_beams=3, max_new_tokens=7))
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, {}) for name in MODELS), *(("streams", {"use_reentrant": how}) for how in (True, False))],
)
def test_activation_checkpointing_gives_the_same_gradients_and_every_parameter_one(name, options):
    model = MODELS[name](dropout=0.1).train()
    batch, other = batch_of(model), copy.deepcopy(model)
    enable_checkpointing(other, **options)
    found = []
    for one in (model, other):
        torch.manual_seed(0)
        found.append(gradients(one, **batch))
    assert found[0].keys() == {"loss", *(name for name, _ in model.named_parameters())}
    for key, gradient in found[0].items():
        # A constant added to every key moves no softmax.
        assert gradient.isfinite().all() and (gradient.abs().max() > 0 or key.endswith("k_proj.bias")), key
        torch.testing.assert_close(found[1][key], gradient, rtol=0, atol=1e-12, msg=key)


@pytest.mark.parametrize("name", ["streams", "learned", "new symbols", "classes of tokens", "masks"])
def test_micro_batches_of_a_step_add_up_to_the_gradient_and_scale_of_the_whole_batch(name):
    model = MODELS[name]().train()
    batch, found = batch_of(model), []
    rows, items = len(batch["labels"]), (batch["labels"] != -100).sum()
    for cuts in ((0, rows), (0, 1, rows), range(rows + 1)):
        one = copy.deepcopy(model)
        for start, stop in pairwise(cuts):
            one(**{key: value[start:stop] for key, value in batch.items()}, num_items_in_batch=items).loss.backward()
        scale = {} if getattr(one, "adacos", None) is None else {"scale": one.adacos.scale}
        given = {key: parameter.grad for key, parameter in one.named_parameters() if parameter.grad is not None}
        found.append({**given, **scale})
    for key, whole in found[0].items():
        for cut in found[1:]:
            torch.testing.assert_close(cut[key], whole, rtol=0, atol=1e-12, msg=key)
