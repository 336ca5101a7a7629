"""`symbinv data`, `train` and `evaluate`: from nothing to a table."""

import json
import os
import re
import sys

import pytest

from hf_symbinv.cli import main
from hf_symbinv.training import Recipe, recipe_names

TINY = ["--num-symbols", "2", "--max-size", "5", "--rows", "100", "--workers", "1"]
SHORT = ["--beams", "1", "--max-new-tokens", "6"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "tiny"
    assert main(["data", "--output", str(folder), *TINY]) == 0
    return folder


class TestData:
    def test_a_finished_data_set_is_left_as_it_is(self, symbinv, data):
        result = symbinv("data", "--output", data, *TINY)
        assert (result.code, result.out) == (0, f"{data}: 80 train\n{data}: 10 validation\n{data}: 10 test\n")

    def test_other_ways_to_make_data_are_reached_from_here(self, symbinv, tmp_path):
        result = symbinv("data", "--renamed", "--output", tmp_path / "none")
        assert (result.code, result.out, result.err) == (2, "", "error: --renamed: only with --from\n")


class TestEvaluate:
    def test_the_table_has_the_numbers_of_the_json_object(self, symbinv, checkpoint, data, tmp_path):
        arguments = ["evaluate", checkpoint, "--data", data, "--alpha-covariance", "3", *SHORT]
        table = symbinv(*arguments, "--output", tmp_path / "report.json")
        assert (table.code, table.err) == (0, "")
        content = json.loads((tmp_path / "report.json").read_text())
        again = json.loads(symbinv(*arguments, "--json").out)
        assert all(again[name] == content[name] for name in content if not name.endswith("seconds"))
        head, columns, *rest = table.out.splitlines()
        rows, (grammar, covariance, *by_symbols) = rest[: len(content["groups"])], rest[len(content["groups"]) :]
        assert grammar == "grammar lasso constrained the answers" and content["grammar"] == "lasso"
        assert head == f"{checkpoint} on {data}, split test, task ltl; num_beams 1, max_new_tokens 6, num_candidates 1"
        assert columns.split()[:2] == ["questions", "verified"]
        assert [row[: len(group["label"])] for row, group in zip(rows, content["groups"], strict=True)] == [
            group["label"] for group in content["groups"]
        ]
        assert content["groups"][0]["summary"]["count"] == 10
        parts = content["alpha_covariance"]["by_symbols"]
        assert covariance.startswith("alpha-covariance with 95 % intervals: 1.0000 (1.0000 - 1.0000) over ")
        assert [line.split(":")[0] for line in by_symbols if ": 1.0" in line] == [
            f"  symbols {p['symbols']}" for p in parts
        ]
        assert by_symbols[-1] == "  --every-renaming decodes all renamings"
        assert all(len(part["values"]) == part["examples"] <= 3 for part in parts)
        assert max(map(len, columns)) <= 100

    def test_without_its_grammar_an_untrained_model_writes_answers_that_are_none(self, symbinv, checkpoint, data):
        arguments = ["evaluate", checkpoint, "--data", data, *SHORT]
        bound, free = (json.loads(symbinv(*arguments, *more, "--json").out) for more in ([], ["--no-grammar"]))
        assert (bound["grammar"], free["grammar"]) == ("lasso", None)
        assert bound["groups"][0]["summary"]["invalid"] == 0 and free["groups"][0]["summary"]["invalid"] > 0
        head, *rest = symbinv(*arguments, "--no-grammar").out.splitlines()
        assert head == f"{checkpoint} on {data}, split test, task ltl; num_beams 1, max_new_tokens 6, num_candidates 1"
        assert rest[-1] == "no grammar constrained the answers"

    def test_a_reader_of_the_table_that_goes_away_does_not_take_the_file_along(
        self, checkpoint, data, tmp_path, monkeypatch
    ):
        arguments = [checkpoint, "--data", data, "--rows", "2", *SHORT, "--output", tmp_path / "report.json"]
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as output:
            monkeypatch.setattr(sys, "stdout", output)
            assert main(["evaluate", *map(str, arguments)]) == 141
        assert json.loads((tmp_path / "report.json").read_text())["groups"][0]["summary"]["count"] == 2


class TestTrain:
    def test_it_lists_the_recipes(self, symbinv):
        assert symbinv("train", "--list").out.split() == recipe_names()

    @pytest.mark.slow
    def test_a_recipe_becomes_a_model_that_solves(self, symbinv, data, tmp_path):
        steps = [
            "trainer.max_steps=2",
            "trainer.eval_strategy=no",
            "test_rows=5",
            "trainer.per_device_train_batch_size=4",
        ]
        result = symbinv("train", "ltl-smoke", *steps, "--data", data, "--output", tmp_path / "run")
        assert result.code == 0, result.err
        assert json.loads(result.out)["test_count"] == 5
        told = (tmp_path / "run" / "README.md").read_text().partition("## Training")[2].partition("### Model")[0]
        asked = Recipe.load("ltl-smoke").data
        assert not re.search(rf"{asked['rows']}|{asked['rows']:,}|num_symbols {asked['num_symbols']}|0 – 3", told), (
            "the data have fewer rows and symbols than the recipe's"
        )
        assert symbinv("solve", "--model", tmp_path / "run", *SHORT, "a").code in (0, 1)
        where = ["--data", data, "--output", tmp_path / "run"]
        refused = symbinv("train", "ltl-smoke", *steps, "trainer.learning_rate=1", *where)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.splitlines()[-1] == (
            f"symbinv train: {tmp_path / 'run'}: holds another run: trainer.learning_rate is 0.002 there and 1 now. "
            "Give the values that are there, choose another folder, or remove this one."
        )
