"""`symbinv data`, `train` and `evaluate`: from nothing to a table."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

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

    def test_a_folder_with_another_data_set_is_refused(self, symbinv, data):
        result = symbinv("data", "--output", data, "--rows", "50")
        assert result.code == 2 and f"{data}: holds a data set made in another way" in result.err

    def test_usage_errors_come_under_the_command_s_name(self, symbinv):
        result = symbinv("data", "--rows", "many")
        assert result.code == 2 and result.err.startswith("usage: symbinv data ")

    def test_other_ways_to_make_data_are_reached_from_here(self, symbinv, data, tmp_path):
        result = symbinv("data", "--from", data, "--output", tmp_path / "fewer", "--renamed", "--reduce", "50")
        assert (result.code, result.out.splitlines()[0]) == (0, f"{tmp_path / 'fewer'}: 50 train")
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

    def test_with_candidates_the_accuracy_is_the_first_ones_and_best_of_n_is_named_so(self, symbinv, data):
        arguments = ["ltl-small", "--data", data, "--rows", "5", "--beams", "3", "--json"]
        alone, best = (json.loads(symbinv("evaluate", *arguments, "--n-best", n).out) for n in ("1", "3"))
        assert [g["summary"] for g in alone["groups"]] == [g["summary"] for g in best["groups"]]
        assert alone["grid"] == best["grid"] and alone["groups"][0]["best_of_n"] is None
        for group in best["groups"]:
            found = group["best_of_n"]
            assert found["n"] == 3 and found["verified"] >= group["summary"]["accuracy"]
            assert found["verified_interval"][0] <= found["verified"] <= found["verified_interval"][1]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--data", "nowhere"], "nowhere: no such folder; make a data set with `symbinv data`"),
            (["--data", "EMPTY"], "empty, split test: cannot be loaded ("),
            (["--data", "DATA", "--split", "exam"], "split exam: cannot be loaded (Bad split: exam"),
            (["--data", "DATA", "--output", "/no/file"], "/no/file: No such file or directory; check the path"),
            (["--data", "DATA", "--model", "x"], "unrecognized arguments: --model x"),
            ([], "the following arguments are required: --data"),
            (["--data", "DATA", "--every-renaming"], "--every-renaming: only with --alpha-covariance N"),
            (["--data", "DATA", "--rows", "0"], "'0': must be an integer of at least 1"),
        ],
    )
    def test_bad_usage_is_refused_with_a_sentence(self, arguments, message, symbinv, checkpoint, data, tmp_path):
        (tmp_path / "empty").mkdir()
        named = {"DATA": str(data), "EMPTY": str(tmp_path / "empty")}
        arguments = [named.get(argument, argument) for argument in arguments]
        result = symbinv("evaluate", checkpoint, *arguments)
        assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err


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
        assert symbinv("info", tmp_path / "run").code == 0
        told = (tmp_path / "run" / "README.md").read_text().partition("## Training")[2].partition("### Model")[0]
        asked = Recipe.load("ltl-smoke").data
        assert not re.search(rf"{asked['rows']}|{asked['rows']:,}|num_symbols {asked['num_symbols']}|0 – 3", told), (
            "the data have fewer rows and symbols than the recipe's"
        )
        assert symbinv("solve", "--model", tmp_path / "run", *SHORT, "a").code in (0, 1)
        where = ["--data", data, "--output", tmp_path / "run"]
        longer = symbinv("train", "ltl-smoke", *steps, "trainer.max_steps=3", *where)
        assert longer.code == 0 and "goes on from step 2 of 3; from here the" in longer.err
        assert max(entry["step"] for entry in json.loads((tmp_path / "run" / "run.json").read_text())["log"]) == 3
        refused = symbinv("train", "ltl-smoke", *steps, "trainer.max_steps=3", "trainer.learning_rate=1", *where)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.splitlines()[-1] == (
            f"symbinv train: {tmp_path / 'run'}: holds another run: trainer.learning_rate is 0.002 there and 1 now. "
            "Give the values that are there, choose another folder, or remove this one."
        )

    @pytest.mark.slow
    def test_a_failed_start_leaves_nothing_that_refuses_the_corrected_one(self, symbinv, data, tmp_path):
        arguments = ["ltl-smoke", "trainer.max_steps=1", "trainer.eval_strategy=no", "test_rows=5", "--data", data]
        failed = symbinv("train", *arguments, "--output", tmp_path / "run", "trainer.per_device_train_batch_size=81")
        assert failed.code == 2 and "80 training rows are fewer than the 81 of one optimizer step" in failed.err
        smaller = "trainer.per_device_train_batch_size=8"
        result = symbinv("train", *arguments, "--output", tmp_path / "run", smaller, "trainer.learning_rate=5e-4")
        assert result.code == 0, result.err
        record = json.loads((tmp_path / "run" / "run.json").read_text())
        assert record["recipe"]["trainer"]["learning_rate"] == 5e-4

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "no RECIPE: give a YAML file or one of "),
            (["ltl-smoke"], "no --output: name a folder for the model"),
            (["ltl-huge", "--output", "run"], "ltl-huge: no such file, and no recipe of this name; recipes: "),
            (["ltl-smoke", "trainer", "--output", "run"], "trainer: must be SECTION.KEY=VALUE with a YAML value"),
            (["ltl-smoke", "trainer.seed=[", "--output", "run"], "trainer.seed=[: must be SECTION.KEY=VALUE"),
            (["ltl-smoke", "colour=red", "--output", "run"], "colour=red: unknown key; use task, data.OPTION"),
            (["ltl-smoke", "trainer.colour=1", "--output", "run"], "trainer.colour: unknown argument; transformers."),
            (["ltl-smoke", "trainer.max_step=1", "--output", "run"], "did you mean trainer.max_steps?"),
            (["ltl-smoke", "trainer.eval_strategy=never", "--output", "run"], "trainer: never is not a valid"),
            (["ltl-smoke", "start=ltl-tiny", "--output", "run"], "or one of ltl-base, ltl-canonical, ltl-patterns"),
            (["ltl-smoke", "model.d_model=7", "--output", "run"], "model: d_model=7: must be a multiple of"),
            (["ltl-smoke", "task=chess", "--output", "run"], "symbinv train: task='chess': unknown; use one of ltl"),
            (["ltl-smoke", "data.rows=5", "--output", "run"], "rows=5: ask for at least 10"),
            (["ltl-smoke", "--data", "/nowhere", "--output", "run"], "/nowhere"),
        ],
    )
    def test_bad_usage_is_refused_with_a_sentence(self, arguments, message, symbinv, data, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        arguments = [str(data) if argument == "DATA" else argument for argument in arguments]
        result = symbinv("train", *arguments)
        assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err
        assert not Path("run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "--data", "half", "--output", "new"),
        ("train", "ltl-smoke", "--data", "half", "--output", "new"),
        ("data", "--from", "half", "--output", "new", "--reduce", "5"),
    ],
)
def test_a_table_cut_in_half_is_one_sentence_and_leaves_nothing_behind(arguments, symbinv, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    shutil.copytree(data, "half")
    table = Path("half/data/test-00000-of-00001.parquet")
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])
    Path("half/README.md").unlink()  # as data that somebody else made: those with a card have checksums
    Path("half/generation.json").unlink()
    result = symbinv(*arguments)
    (told,) = result.err.splitlines()
    assert result.code == 2 and result.out == ""
    assert (
        f"{table}: damaged (Parquet magic bytes not found" in told
        and "make the data set again" in told
        and not Path("new").exists()
    )


def test_a_flipped_bit_in_data_is_found(symbinv, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(data, "flipped")
    table = Path("flipped/data/validation-00000-of-00001.parquet")
    content = bytearray(table.read_bytes())
    content[len(content) // 3] ^= 1
    table.write_bytes(content)
    result = symbinv("evaluate", "--data", "flipped", "--rows", "2")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"symbinv evaluate: {table}: damaged (its checksum is not the one in README.md); put it back as it was or "
        "make the data set again\n"
    )
