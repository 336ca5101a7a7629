"""Recipes: what they hold, and what is refused."""

import pytest

from hf_symbinv import Recipe
from hf_symbinv.training import recipe_names

GOOD = "data: {rows: 10}\nmodel: {preset: ltl}\ntrainer: {max_steps: 1}\n"


def write(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_package_gives_a_model_data_and_trainer_arguments(name, tmp_path):
    from transformers import Seq2SeqTrainingArguments

    from hf_symbinv.datasets_scripts.ltl_random import LtlRandom

    recipe = Recipe.load(name)
    assert recipe.config().vocab_size == 13 + recipe.data["num_aps"]
    assert Seq2SeqTrainingArguments(output_dir=str(tmp_path), **recipe.trainer).max_steps > 0
    assert LtlRandom(cache_dir=str(tmp_path), **recipe.data).config.max_size == recipe.data["max_size"]


def test_the_papers_recipe_is_the_papers_model():
    from hf_symbinv import SymbolInvariantForConditionalGeneration

    model = SymbolInvariantForConditionalGeneration(Recipe.load("ltl-paper").config())
    assert sum(parameter.numel() for parameter in model.parameters()) == 2_654_144


def test_overrides_replace_single_values(tmp_path):
    recipe = Recipe.load(write(tmp_path, GOOD), {"trainer.max_steps": 7, "test_rows": 3, "model.d_ff": 8})
    assert (recipe.trainer["max_steps"], recipe.test_rows, recipe.config().d_ff) == (7, 3, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: {", "not YAML"),
        ("- 1", "a recipe has data, model and trainer"),
        ("data: {}\nmodel: {}\n", "a recipe has data, model and trainer"),
        (GOOD + "trainr: {}\n", "a recipe has data, model and trainer"),
        ("data: {}\nmodel: {}\ntrainer: {output_dir: x}\n", "output_dir belongs on the command line"),
    ],
)
def test_what_is_no_recipe_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        Recipe.load(write(tmp_path, text))


@pytest.mark.parametrize("key", ["trainr.max_steps", "max_steps", "test_rows.x", "model"])
def test_an_unknown_override_is_refused(tmp_path, key):
    with pytest.raises(ValueError, match=r"unknown key; use data.OPTION"):
        Recipe.load(write(tmp_path, GOOD), {key: 1})


def test_an_unknown_name_lists_the_recipes():
    with pytest.raises(FileNotFoundError, match="recipes: ltl-paper, ltl-small, ltl-smoke"):
        Recipe.load("ltl-tiny")


def test_a_misspelt_model_field_is_refused(tmp_path):
    with pytest.raises(ValueError, match="did you mean d_model"):
        Recipe.load(write(tmp_path, GOOD), {"model.d_modle": 8}).config()
