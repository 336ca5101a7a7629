"""Runs that start from the weights of a saved model."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.errors import UserError
from hf_symbinv.files import bundled_checkpoints
from hf_symbinv.tasks import LTL, PROP, LTLTask, load_task
from hf_symbinv.training import Recipe, recipe_names
from hf_symbinv.training.conversion import to_streams
from hf_symbinv.training.start import load_start, start_config

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


def test_a_start_has_the_weights_and_the_architecture_of_its_folder_and_the_dropout_of_the_recipe(converted):
    model = load_start(converted, start_config(converted, {"dropout": 0.3}, LTL))
    saved = load_file(converted / "model.safetensors")
    assert all(torch.equal(tensor, saved[name]) for name, tensor in model.named_parameters())
    assert model.config.dropout == model.model.dropout.p == 0.3
    assert (model.config.components, model.config.d_ff) == (["EP", "DP", "CP"], 12)


def test_what_a_recipe_says_of_the_model_may_say_what_the_start_is(converted):
    same = {"preset": "ltl-baseline", "symbol_embedding": "streams", **MODEL, "num_symbols": 7}
    assert start_config(converted, same, LTL).num_symbols == 7


def test_all_that_contradicts_a_start_is_named_at_once(converted):
    fields = {"preset": "ltl", "num_symbols": 3, "d_model": 8, "d_ff": 8, "loss": "adacos"}
    with pytest.raises(ValueError, match="its base tokens") as caught:
        start_config(converted, fields, PROP)
    message = str(caught.value)
    for part in (
        "its base tokens are not those of task prop, <s> <pad>",
        "its encoder_layers is 1, the recipe's 8",
        "its components is ['EP', 'DP', 'CP'], the recipe's ['EP', 'DP', 'EA', 'CP']",
        "its d_ff is 12, the recipe's 8",
        "its loss is 'cross_entropy', the recipe's 'adacos'",
        "name a model for this task, and leave model.preset, model.d_ff, model.loss out of the recipe, because the "
        "architecture is the start's",
    ):
        assert part in message
    assert "d_model" not in message and "num_symbols" not in message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_modle": 8}, "d_modle=8: unknown field; did you mean d_model"),
        ({"preset": "tls"}, "preset='tls': unknown preset; use one of ltl"),
        ({"num_symbols": 4}, r"its num_symbols is 3, the recipe's 4; leave model\.num_symbols out"),
        ({"preset": "ltl-baseline"}, r"its d_ff is 12, the recipe's 1024"),
    ],
)
def test_what_a_model_with_rows_is_not_is_refused(fields, message, tmp_path):
    config(symbol_embedding="learned").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        start_config(tmp_path, fields, LTL)


def test_a_start_with_another_tasks_tokenizer_is_refused(tmp_path):
    """Two tasks may have as many base tokens: their order is in the tokenizer."""
    config(symbol_embedding="learned").save_pretrained(tmp_path)
    tokenizer = LTL.tokenizer()
    tokenizer.save_pretrained(tmp_path)
    assert start_config(tmp_path, {}, LTL).d_model == 8
    path = tmp_path / "tokenizer_config.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "base_tokens": content["base_tokens"][::-1]}))
    with pytest.raises(ValueError, match=r"its base tokens are not those of task ltl, .*; name a model for this task"):
        start_config(tmp_path, {}, LTL)


def test_a_start_may_go_through_its_encoder_more_often(tmp_path):
    torch.manual_seed(0)
    model = SymbolInvariantForConditionalGeneration(config()).eval()
    model.save_pretrained(tmp_path)
    deeper = load_start(tmp_path, start_config(tmp_path, {"encoder_passes": 3}, LTL)).eval()
    assert (deeper.config.encoder_passes, deeper.num_parameters()) == (3, model.num_parameters())
    ids = LTL.tokenizer()(["&aXb"], return_tensors="pt")["input_ids"]
    states = [given.get_encoder()(ids, output_hidden_states=True).hidden_states for given in (model, deeper)]
    assert [len(given) for given in states] == [2, 4]
    torch.testing.assert_close(states[1][1], states[0][1])


class WiderTask(LTLTask):
    base_tokens = (*LTLTask.base_tokens, "F", "G")
    token_arity = {**LTLTask.token_arity, "F": 1, "G": 1}


@pytest.mark.parametrize("embedding", ["streams", "learned", "canonical", "random"])
def test_a_task_with_more_tokens_adds_their_rows_and_changes_no_others(embedding, tmp_path):
    model = SymbolInvariantForConditionalGeneration(config(symbol_embedding=embedding, random_dim=4)).eval()
    model.config.use_cache = False  # as a Trainer leaves it
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="its base tokens are not those of task ltl"):
        start_config(tmp_path, {}, WiderTask())  # without the tokenizer nobody knows which they are
    tokenizer = LTL.tokenizer()
    tokenizer.save_pretrained(tmp_path)
    wider = load_start(tmp_path, start_config(tmp_path, {}, WiderTask())).eval()
    assert (wider.config.base_vocab_size, wider.config.token_arity[14]) == (15, 1)
    assert wider.generation_config.use_cache
    batch = tokenizer(["&aXb"], text_target=["a;{b}"], return_tensors="pt")
    wide_tokenizer = WiderTask().tokenizer()
    wide = wide_tokenizer(["&aXb"], text_target=["a;{b}"], return_tensors="pt")
    torch.manual_seed(0)
    narrow_logits = model(**batch).logits
    torch.manual_seed(0)
    wide_logits = wider(**wide).logits
    torch.testing.assert_close(wide_logits[..., :13], narrow_logits[..., :13])
    torch.testing.assert_close(wide_logits[..., 15:], narrow_logits[..., 13:])
    assert wide_logits[..., 13:15].isfinite().all()
    assert load_start(tmp_path, start_config(tmp_path, {}, LTL)).config.base_vocab_size == 13


def test_a_start_that_is_no_model_is_refused(converted, tmp_path):
    for start in (tmp_path / "none", tmp_path, 5):
        with pytest.raises(
            ValueError, match=r"no folder with a config\.json.* or one of ltl-base, ltl-canonical, ltl-many"
        ):
            start_config(start, {}, LTL)
    want = start_config(converted, {}, LTL)
    want.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="its weights cannot be read"):
        load_start(tmp_path, want)
    state = load_file(converted / "model.safetensors")
    del state["model.encoder.layers.0.feed_forward.fc1.bias"]
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"do not fit its config\.json, first model\.encoder\.layers\.0\.feed_forward"):
        load_start(tmp_path, want)
    for text, said in (("null", "holds no JSON object"), ("[" * 100_000, "not JSON that can be read")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(UserError, match=rf"config\.json: {said}.*; save the model of start=.* again"):
            start_config(tmp_path, {}, LTL)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "symbol_invariant", "d_model": -1}))
    (tmp_path / "generation_config.json").write_text('{"grammar": NaN}')
    with pytest.raises(UserError, match=r"generation_config\.json: grammar=nan: must be an object; save"):
        start_config(tmp_path, {}, LTL)
    (tmp_path / "generation_config.json").unlink()
    with pytest.raises(ValueError, match=r"its config\.json is none of ours \(.*d_model=-1"):
        start_config(tmp_path, {}, LTL)


@pytest.mark.parametrize("name", [name for name in recipe_names() if not name.startswith(("copy", "pairs"))])
def test_a_start_on_the_command_line_takes_the_place_of_any_recipes_model(name, tmp_path):
    task = load_task(Recipe.load(name).task)
    task.config(**{**MODEL, "components": ["EP", "DP", "CP"]}).save_pretrained(tmp_path)
    recipe = Recipe.load(name, {"start": str(tmp_path), "model.dropout": 0.2})
    assert recipe.model == {"dropout": 0.2}
    assert (recipe.config().d_ff, recipe.config().dropout) == (12, 0.2)


def test_a_bundled_model_may_be_a_start_by_its_name():
    recipe = Recipe.load("ltl-smoke", {"start": "ltl-small"})
    saved = load_file(bundled_checkpoints()["ltl-small"] / "model.safetensors")
    model = load_start("ltl-small", recipe.config())
    assert all(torch.equal(parameter, saved[name]) for name, parameter in model.named_parameters())


@pytest.mark.slow
def test_frozen_parts_end_as_they_started_and_the_others_learn(converted, tmp_path):
    import datasets

    from hf_symbinv.training import train

    rows = datasets.Dataset.from_dict({"formula": ["Xa", "&ab"] * 4, "witness": ["1;{a}", "{&ab}"] * 4})
    data = datasets.DatasetDict(dict.fromkeys(("train", "validation", "test"), rows))
    recipe = Recipe(
        task="ltl", data={}, model={}, start=str(converted), test_rows=2, frozen=["model.encoder", "model.embedding"],
        trainer={"max_steps": 2, "learning_rate": 0.01, "use_cpu": True, "report_to": "none"},
    )  # fmt: skip
    recipe.check()
    assert train(recipe, data, tmp_path / "run")["recipe"]["start"] == str(converted)
    assert SymbolInvariantConfig.from_pretrained(tmp_path / "run").components == ["EP", "DP", "CP"]
    before, after = (load_file(folder / "model.safetensors") for folder in (converted, tmp_path / "run"))
    kept = {name for name in before if torch.equal(before[name], after[name])}
    assert kept and kept == {name for name in before if name.startswith(("model.encoder.", "model.embedding."))}


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (["model.encodr"], r"^frozen: the model has no part 'model\.encodr'; did you mean model\.encoder\?$"),
        (
            ["model.encoder", "x"],
            r"^frozen: the model has no part 'x'; its parts are model\.embedding, model\.encoder,",
        ),
        ([""], "^frozen: the model has no part ''; its parts are"),
        (["model"], r"^frozen=\['model'\]: leaves nothing to train; name fewer parts$"),
    ],
)
def test_parts_that_cannot_be_frozen_are_refused(frozen, message, converted):
    recipe = Recipe(task="ltl", data={}, model={}, trainer={}, start=str(converted), frozen=frozen)
    with pytest.raises(UserError, match=message):
        recipe.check()
