"""Recipes: what they hold, and what is refused."""

from pathlib import Path

import pytest

from hf_symbinv import Recipe
from hf_symbinv.training import recipe_names

GOOD = "task: ltl\ndata: {rows: 10}\nmodel: {preset: ltl}\ntrainer: {max_steps: 1}\n"


def write(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_package_gives_a_model_data_and_trainer_arguments(name, tmp_path):
    from transformers import Seq2SeqTrainingArguments

    from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions
    from hf_symbinv.tasks import load_task

    recipe = Recipe.load(name)
    assert recipe.config().vocab_size == len(load_task(recipe.task).base_tokens) + recipe.data["num_symbols"]
    assert Seq2SeqTrainingArguments(output_dir=str(tmp_path), **recipe.trainer).max_steps > 0
    builder = RandomQuestions(cache_dir=str(tmp_path), task=recipe.task, **recipe.data)
    assert builder.config.max_size == recipe.data["max_size"]


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
        ("- 1", "a recipe has task, data, model and trainer"),
        (GOOD.removeprefix("task: ltl\n"), "a recipe has task, data, model and trainer"),
        ("data: {}\nmodel: {}\n", "a recipe has task, data, model and trainer"),
        (GOOD + "trainr: {}\n", "a recipe has task, data, model and trainer"),
        ("task: ltl\ndata: {}\nmodel: {}\ntrainer: {output_dir: x}\n", "output_dir belongs on the command line"),
    ],
)
def test_what_is_no_recipe_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        Recipe.load(write(tmp_path, text))


@pytest.mark.parametrize("name", ["train_lexinvariant", "train_renamer", "train_templates"])
def test_the_recipe_of_an_example_is_refused_with_the_command_that_takes_it(name):
    program = Path(__file__).parents[2] / "examples" / f"{name}.py"
    with pytest.raises(ValueError, match="a recipe has task, data, model and trainer") as error:
        Recipe.load(program.with_suffix(".yaml"))
    assert str(error.value).endswith(
        f"; {name}.py beside it takes this one: accelerate launch {program} --output runs/{name}"
    )


def test_a_recipe_with_a_task_is_not_for_the_program_beside_it(tmp_path):
    (tmp_path / "recipe.py").write_text("")
    with pytest.raises(ValueError, match=r"evaluation_rows', 'test_rows', 'start'\]$"):
        Recipe.load(write(tmp_path, GOOD + "trainr: {}\n"))


@pytest.mark.parametrize("key", ["trainr.max_steps", "max_steps", "test_rows.x", "model"])
def test_an_unknown_override_is_refused(tmp_path, key):
    with pytest.raises(ValueError, match=r"unknown key; use task, data.OPTION"):
        Recipe.load(write(tmp_path, GOOD), {key: 1})


def test_an_unknown_name_lists_the_recipes():
    with pytest.raises(FileNotFoundError, match=r"recipes: .*ltl-paper, ltl-small, ltl-smoke"):
        Recipe.load("ltl-tiny")


def test_a_misspelt_model_field_is_refused(tmp_path):
    with pytest.raises(ValueError, match="did you mean d_model"):
        Recipe.load(write(tmp_path, GOOD), {"model.d_modle": 8}).config()


def test_without_a_preset_the_task_gives_what_the_model_does_not_say(tmp_path):
    text = "task: copy\ndata: {}\nmodel: {num_symbols: 20, d_model: 32}\ntrainer: {}\n"
    config = Recipe.load(write(tmp_path, text)).config()
    assert (config.base_vocab_size, config.vocab_size, config.d_model) == (3, 23, 32)
    assert (config.encoder_positions, config.eos_token_id, config.grammar) == ("rope", 2, None)


def test_a_preset_of_another_task_and_an_unknown_task_are_refused(tmp_path):
    with pytest.raises(ValueError, match="preset=prop: 10 base tokens, and task ltl has 13; use a preset of this task"):
        Recipe.load(write(tmp_path, GOOD), {"model.preset": "prop"}).config()
    with pytest.raises(ValueError, match="task='chess': unknown; use one of ltl, "):
        Recipe.load(write(tmp_path, GOOD), {"task": "chess"}).config()
