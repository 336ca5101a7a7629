"""Runs that start from the weights of a saved model."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import LTL
from hf_symbinv.training import Recipe
from hf_symbinv.training.conversion import load_start, to_streams

MODEL = {
    "num_symbols": 3, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 12,
    "loss": "cross_entropy",
}  # fmt: skip


def config(**fields):
    return LTL.config(**{**MODEL, **fields})


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """A folder with a model with streams that was a vanilla one."""
    folder = tmp_path_factory.mktemp("start") / "converted"
    torch.manual_seed(0)
    vanilla = SymbolInvariantForConditionalGeneration(config(symbol_embedding="learned"))
    to_streams(vanilla).save_pretrained(folder)
    return folder


def test_a_start_has_the_weights_of_its_folder_and_the_dropout_of_the_recipe(converted):
    model = load_start(converted, config(components=["EP", "DP", "CP"], dropout=0.3))
    saved = load_file(converted / "model.safetensors")
    assert all(torch.equal(tensor, saved[name]) for name, tensor in model.state_dict().items())
    assert model.config.dropout == model.model.dropout.p == 0.3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, r"its components is \['EP', 'DP', 'CP'\], the recipe's \['EP', 'DP', 'EA', 'CP'\]; set model\.components"),
        ({"symbol_embedding": "learned"}, "its symbol_embedding is 'streams', the recipe's 'learned'"),
        ({"components": ["EP", "DP", "CP"], "d_ff": 16}, "its d_ff is 12, the recipe's 16; set model.d_ff"),
    ],
)
def test_a_start_that_is_not_the_recipes_model_is_refused(converted, fields, message):
    with pytest.raises(ValueError, match=message):
        load_start(converted, config(**fields))


def test_a_start_that_is_no_model_is_refused(converted, tmp_path):
    want = config(components=["EP", "DP", "CP"])
    for start in (tmp_path / "none", tmp_path, 5):
        with pytest.raises(ValueError, match=r"no folder with a config\.json"):
            load_start(start, want)
    want.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="its weights cannot be read"):
        load_start(tmp_path, want)
    state = load_file(converted / "model.safetensors")
    del state["model.encoder.layers.0.feed_forward.fc1.bias"]
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"do not fit its config\.json, first model\.encoder\.layers\.0\.feed_forward"):
        load_start(tmp_path, want)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "symbol_invariant", "d_model": -1}))
    with pytest.raises(ValueError, match=r"its config\.json is none of ours \(.*d_model=-1"):
        load_start(tmp_path, want)


def test_a_recipe_names_its_start(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("{task: ltl, data: {}, model: {}, trainer: {}}")
    assert Recipe.load(path).start is None
    assert Recipe.load(path, {"start": "runs/converted"}).start == "runs/converted"


@pytest.mark.slow
def test_without_a_learning_rate_a_run_ends_where_it_started(converted, tmp_path):
    import datasets

    from hf_symbinv.training import train

    rows = datasets.Dataset.from_dict({"formula": ["Xa", "&ab"] * 4, "witness": ["1;{a}", "{&ab}"] * 4})
    data = datasets.DatasetDict(dict.fromkeys(("train", "validation", "test"), rows))
    recipe = Recipe(
        task="ltl", data={}, model={**MODEL, "components": ["EP", "DP", "CP"]}, start=str(converted), test_rows=2,
        trainer={"max_steps": 2, "learning_rate": 0.0, "use_cpu": True, "report_to": "none"},
    )  # fmt: skip
    record = train(recipe, data, tmp_path / "run")
    assert record["recipe"]["start"] == str(converted) and record["results"]["test_count"] == 2
    before, after = (load_file(folder / "model.safetensors") for folder in (converted, tmp_path / "run"))
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    assert SymbolInvariantConfig.from_pretrained(tmp_path / "run").components == ["EP", "DP", "CP"]
