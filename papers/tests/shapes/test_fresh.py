"""Answers with new names: the parts of the test, and the table from its models to its numbers."""

import json

import datasets
import pytest

from hf_symbinv.tasks import load_task
from papers.__main__ import DONE, main
from papers.harness.experiments import Job
from papers.shapes.columns import MODELS, MORE, NEW, USUAL
from papers.shapes.fresh import EXPERIMENTS, OTHERS, TASKS, fresh_recipe, parts

[FRESH] = EXPERIMENTS


@pytest.fixture
def make_job(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))

    def make(task, scale, model="streams"):
        values = {"task": task, "model": model}
        return Job(tmp_path, tmp_path, values, FRESH.sizes(scale), 0, lambda: None, lambda line: None)

    return make


@pytest.mark.parametrize("scale", ["smoke", "cpu"])
def test_every_row_has_a_recipe_whose_model_may_write_new_symbols(make_job, scale):
    assert FRESH.sizes(scale)["about"].endswith(".")
    for row in FRESH.rows_of(scale):
        kind = row.values["model"]
        config = fresh_recipe(make_job(row.values["task"], scale, kind)).config()
        assert config.symbol_embedding == kind and bool(config.num_fresh_symbols) == (kind in ("streams", "canonical"))


@pytest.mark.parametrize("name", TASKS)
def test_new_names_are_no_names_of_training_and_more_symbols_are_more(make_job, name):
    job = make_job(name, "smoke")
    recipe = fresh_recipe(job)
    task = load_task(recipe.task)
    found = parts(job, recipe, task)
    fewest = 1 + job.sizes["tasks"][name]["usual"]["num_symbols"]
    assert all(fewest <= question.symbols for question in found[MORE]) and found[MORE]
    for usual, new in zip(found[USUAL], found[NEW], strict=True):
        assert {*task.symbols(new.text)} <= {*OTHERS} and usual.symbols == new.symbols < fewest
        back = dict(zip(task.symbols(new.text), task.symbols(usual.text), strict=True))
        assert task.rename(new.text, back) == usual.text


@pytest.mark.slow
def test_the_table_has_models_of_both_tasks(only, tmp_path, capsys):
    labels = list(zip([title for _, _, title in TASKS.values()], MODELS.values(), strict=False))
    only("shape-fresh", *labels)
    assert main(["shape-fresh", "--output", str(tmp_path)]) == DONE
    assert "python -m papers shape-fresh --scale smoke" in capsys.readouterr().out
    content = json.loads((tmp_path / "smoke/tables/shape-fresh.json").read_text())
    assert [tuple(row["labels"]) for row in content["rows"]] == labels
    assert content["missing"] == []
