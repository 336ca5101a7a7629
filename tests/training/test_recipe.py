"""Recipes: what they hold, and what is refused."""

from pathlib import Path

import pytest
import yaml

from hf_symbinv import Recipe
from hf_symbinv.errors import UserError
from hf_symbinv.tasks import PairsTask
from hf_symbinv.tasks.pairs import SPECIAL
from hf_symbinv.training import recipe_names
from hf_symbinv.training.recipe import load_sections, overrides

REFUSED = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
GOOD = "task: ltl\ndata: {rows: 10}\nmodel: {preset: ltl}\ntrainer: {max_steps: 1}\n"


def write(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return path


def test_the_recipe_of_pairs_gives_a_model_of_the_datas_base_words():
    recipe, task = Recipe.load("pairs-small"), PairsTask((*SPECIAL, "+", "let"), "[a-z]+", ["let"], max_symbols=3)
    recipe.check()  # without data there are no base words
    assert recipe.config(task).vocab_size == 5 + 3
    with pytest.raises(UserError, match="task='pairs': its base words come from data"):
        recipe.config()


@pytest.mark.parametrize("name", sorted(set(recipe_names()) - {"pairs-small"}))
def test_every_recipe_of_the_package_gives_a_model_data_and_trainer_arguments(name, tmp_path):
    from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions
    from hf_symbinv.tasks import load_task

    recipe = Recipe.load(name)
    assert recipe.config().vocab_size == len(load_task(recipe.task).base_tokens) + recipe.data["num_symbols"]
    assert recipe.arguments(tmp_path).max_steps > 0
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
        (GOOD.replace("task: ltl", "task: [ltl]"), r"task=\['ltl'\]: must be text; correct it"),
        (GOOD.replace("data: {", "data: [").replace("}\nmodel", "]\nmodel"), r"data=.*: must be an object; correct it"),
        (GOOD + "start: 3\n", "start=3: must be text; correct it"),
        (GOOD + "frozen: model.encoder\n", "frozen=.*: must be a list"),
        (GOOD + "? [1]\n: 2\n", "found unhashable key"),
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


@pytest.mark.parametrize("row", REFUSED, ids=" ".join)
def test_a_change_that_cannot_be_is_refused_before_data_are_made(row):
    *changes, message = row
    with pytest.raises(UserError, match=message):
        Recipe.load("ltl-smoke", overrides(changes)).check()


def test_a_misspelt_key_of_an_example_is_refused_with_the_one_that_was_meant(tmp_path):
    path = write(tmp_path, "{data: {length: 3}, model: {}, trainer: {}}")
    for key, meant in (("data.lenght", "data.length"), ("trainr.seed", "trainer.seed")):
        with pytest.raises(UserError, match=f"did you mean {meant}\\?"):
            load_sections(path, [f"{key}=1"])


@pytest.mark.parametrize(("text", "value"), [("5e-4", 5e-4), ("1e3", 1000.0), ("'5e-4'", "5e-4"), ("no", "no")])
def test_values_are_those_of_yaml_1_2_in_overrides_and_in_both_kinds_of_file(tmp_path, text, value):
    (found,) = overrides([f"trainer.learning_rate={text}"]).values()
    assert found == value and type(found) is type(value)
    recipe = Recipe.load(write(tmp_path, GOOD.replace("{max_steps: 1}", f"{{learning_rate: {text}}}")))
    assert recipe.trainer["learning_rate"] == value
    path = write(tmp_path, f"{{data: {{}}, model: {{}}, trainer: {{learning_rate: {text}}}}}")
    assert load_sections(path, [])["trainer"]["learning_rate"] == value


def test_without_a_preset_the_task_gives_what_the_model_does_not_say(tmp_path):
    text = "task: copy\ndata: {}\nmodel: {num_symbols: 20, d_model: 32}\ntrainer: {}\n"
    config = Recipe.load(write(tmp_path, text)).config()
    assert (config.base_vocab_size, config.vocab_size, config.d_model) == (3, 23, 32)
    assert (config.encoder_positions, config.eos_token_id, config.grammar) == ("rope", 2, None)


def test_symbols_of_several_views_are_refused_as_no_task_has_them(tmp_path):
    text = "task: copy\ndata: {}\nmodel: {num_views: 2}\ntrainer: {}\n"
    with pytest.raises(ValueError, match="num_views=2: tasks have symbols of one view; leave it out"):
        Recipe.load(write(tmp_path, text)).config()


@pytest.mark.parametrize("metric", ["loss", "accuracy", "edit_distance", "eval_invalid"])
def test_the_best_model_has_the_largest_share_of_right_answers_or_the_smallest_distance(metric, tmp_path):
    recipe = Recipe.load("copy-smoke", {"trainer.metric_for_best_model": metric})
    assert recipe.arguments(tmp_path).greater_is_better is (metric == "accuracy")


def test_a_preset_of_another_task_and_an_unknown_task_are_refused(tmp_path):
    with pytest.raises(ValueError, match="preset=prop: 10 base tokens, and task ltl has 13; use a preset of this task"):
        Recipe.load(write(tmp_path, GOOD), {"model.preset": "prop"}).config()
    with pytest.raises(ValueError, match="task='chess': unknown; use one of ltl, "):
        Recipe.load(write(tmp_path, GOOD), {"task": "chess"}).config()
