"""A copy model trained with few symbols copies strings of many, by the package's own recipe and commands."""

import json

import pytest

from hf_symbinv import Recipe

# Half of the recipe's steps are enough to copy exactly, and less than half of its rows are enough for them.
HALF = ["trainer.max_steps=150", "trainer.warmup_steps=50", "test_rows=20"]


@pytest.mark.slow
def test_trained_with_at_most_20_symbols_a_model_copies_strings_of_60_exactly(symbinv, tmp_path):
    few, many, run = (tmp_path / name for name in ("few", "many", "run"))
    recipe = Recipe.load("copy-small")
    asked = [
        text for name, value in {**recipe.data, "rows": 6400}.items() for text in (f"--{name.replace('_', '-')}", value)
    ]
    assert symbinv("data", "--task", "copy", "--output", few, *asked).code == 0
    assert recipe.data["num_symbols"] <= 20 and recipe.config().num_symbols <= 20
    trained = symbinv("train", "copy-small", "--data", few, "--output", run, "trainer.use_cpu=true", *HALF)
    assert trained.code == 0, trained.err
    sizes = ["--min-symbols", "60", "--num-symbols", "60", "--min-size", "60", "--max-size", "79", "--per-cell", "1"]
    assert symbinv("data", "--grid", "--task", "copy", "--output", many, *sizes).code == 0
    found = json.loads(symbinv("evaluate", run, "--data", many, "--beams", "1", "--device", "cpu", "--json").out)
    summary = found["groups"][0]["summary"]
    assert (summary["count"], summary["exact"], summary["edit_distance"]) == (20, 1.0, 0.0)
    assert {cell["symbols"] for cell in found["grid"]["cells"]} == {60}
    assert found["grid"]["training_box"]["symbols"] <= 20
