"""No command says that its work is done when it is not."""

import shutil
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from hf_symbinv.cli import main
from hf_symbinv.files import damage_of

ROOT = Path(__file__).parents[2]
SIZES = ["--task", "copy", "--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "40", "--workers", "1"]
RECIPE = """
task: copy
data: {num_symbols: 2, min_size: 2, max_size: 5, rows: 40, seed: 0}
model: {num_symbols: 2, d_model: 8, num_attention_heads: 2, encoder_layers: 1, decoder_layers: 1, d_ff: 8}
evaluation_rows: 4
test_rows: 4
trainer: {max_steps: 2, save_steps: 1, per_device_train_batch_size: 8, use_cpu: true, report_to: none, seed: 1}
"""
LEAVING = """
import sys
from hf_symbinv.tasks.copying import CopyTask


class Leaving(CopyTask):
    name = "leaving"

    def {method}(self, *args):
        sys.exit(0)


TASK = Leaving()
"""


@pytest.fixture
def rows(symbinv, tmp_path):
    folder = tmp_path / "parent" / "rows"
    assert symbinv("data", *SIZES, "--output", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run in two steps, with a checkpoint after each."""
    home = tmp_path_factory.mktemp("trained")
    assert main(["data", *SIZES, "--output", str(home / "rows")]) == 0
    (home / "recipe.yaml").write_text(RECIPE)
    command = ["train", str(home / "recipe.yaml"), "--data", str(home / "rows"), "--output", str(home / "run")]
    assert main(command) == 0
    return home / "run"


class TestData:
    def test_files_that_are_gone_are_missed(self, symbinv, rows):
        lost = rows / "data" / "test-00000-of-00001.parquet"
        kept = lost.read_bytes()
        lost.unlink()
        result = symbinv("data", *SIZES, "--output", rows)
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"error: {rows}: its README.md lists data/test-00000-of-00001.parquet, which is not there; put it "
            "back, or delete README.md and repeat the command, which makes the data again\n"
        )
        (rows / "README.md").unlink()
        assert symbinv("data", *SIZES, "--output", rows).code == 0
        assert lost.read_bytes() == kept

    @pytest.mark.parametrize(
        "command", [["evaluate", "--data"], ["train", "ltl-smoke", "--output", "new", "--data"],
                    ["train", "--symbols", "[a-z]", "--output", "new", "--pairs"],
                    ["data", "--reduce", "5", "--output", "new", "--from"]],
    )  # fmt: skip
    def test_data_that_are_not_whole_are_no_data(self, symbinv, rows, command, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        lost = rows / "data" / "test-00000-of-00001.parquet"
        content = lost.read_bytes()
        places = [rows] if command[0] == "data" else [rows, rows / "data"]
        for inner in places:
            lost.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
            result = symbinv(*command, inner)
            assert (result.code, result.out) == (2, "") and f"{lost}: damaged (its checksum is not the" in result.err
        lost.write_bytes(content)
        (rows / "README.md").unlink()
        for inner in places:
            result = symbinv(*command, inner)
            assert (result.code, result.out) == (2, "") and f"{rows}: its data are not finished" in result.err
        (rows / "generation.json").unlink()
        lost.rename(lost.with_name("test-00000-of-00002.parquet"))
        result = symbinv(*command, rows)
        assert (result.code, result.out) == (2, "") and "test-00001-of-00002.parquet: is missing" in result.err
        assert not Path("new").exists()

    @pytest.mark.parametrize("command", [["evaluate"], ["train", "ltl-smoke", "--output", "run"]])
    def test_a_folder_of_data_sets_is_none(self, symbinv, rows, command):
        parent = rows.parent
        shutil.copytree(rows, parent / "other")
        result = symbinv(*command, "--data", parent)
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"symbinv {command[0]}: {parent}: is no data set, but holds some in folders below; name one of them, such "
            f"as {parent / 'other'}\n"
        )

    def test_pairs_of_several_folders_are_not_mixed(self, symbinv, tmp_path):
        for name in ("a", "b"):
            (tmp_path / "texts" / name).mkdir(parents=True)
            (tmp_path / "texts" / name / "train.csv").write_text("question,answer\na b,b\n")
        texts = tmp_path / "texts"
        result = symbinv("train", "--pairs", texts, "--symbols", "[a-z]", "--output", tmp_path / "run")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"symbinv train: reading {texts}\n"
            f"symbinv train: {texts}: has files of split train in {texts / 'a'} and in {texts / 'b'}; name the folder "
            "of one data set\n"
        )

    def test_the_folder_of_the_builders_is_no_data_set(self):
        with pytest.raises(datasets.exceptions.DataFilesNotFoundError):
            datasets.load_dataset(str(ROOT / "datasets_scripts"))


class TestTasksThatEndTheProgram:
    def test_when_the_file_is_imported(self, symbinv, tmp_path):
        file = tmp_path / "leaving_at_once.py"
        file.write_text("import sys\n\nsys.exit(0)\n")
        result = symbinv("data", "--task", file, "--output", tmp_path / "made")
        assert (result.code, result.out) == (2, "")
        assert result.err == (f"error: task='{file}': the file cannot be imported (line 3, SystemExit: 0)\n")

    def test_in_a_method_that_the_command_calls(self, symbinv, tmp_path):
        file = tmp_path / "leaving_in_version.py"
        file.write_text(LEAVING.format(method="solver_version"))
        result = symbinv("data", "--task", file, "--output", tmp_path / "made")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"error: {file}, line 10: ends the program with SystemExit(0) before its work is done; raise an "
            "exception there that says what is wrong\n"
        )

    @pytest.mark.parametrize("method", ["solve", "judge", "draw", "prepare"])
    def test_in_a_method_that_another_process_calls(self, symbinv, tmp_path, method):
        file = tmp_path / f"leaving_in_{method}.py"
        file.write_text(LEAVING.format(method=method))
        result = symbinv("data", *SIZES[2:], "--task", file, "--output", tmp_path / "made")
        assert (result.code, result.out) == (2, "") and "SystemExit" in result.err
        assert not (tmp_path / "made" / "README.md").exists()


class TestTasksThatEndTheirProcess:
    """As `os._exit` does, after which no line of Python runs: only another process can tell."""

    def run(self, file, tmp_path):
        command = [sys.executable, "-m", "hf_symbinv.cli", "data", *SIZES[2:], "--task", file, "--output", "made"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    def test_when_the_file_is_imported(self, tmp_path):
        (tmp_path / "gone_at_once.py").write_text("import os\n\nos._exit(0)\n")
        result = self.run("gone_at_once.py", tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == (
            "error: task='gone_at_once.py': the file cannot be imported (3 workers in a row ended with exit code 0 "
            "before they computed anything); mend the file\n"
        )

    @pytest.mark.parametrize(
        ("method", "call"), [("size", "size('a')"), ("solver_version", "solver_version()"), ("words", "words('a')")]
    )
    def test_in_a_method_that_the_command_calls(self, tmp_path, method, call):
        text = LEAVING.format(method=method).replace("sys.exit(0)", "yield __import__('os')._exit(0)")
        (tmp_path / "gone.py").write_text(text if method == "words" else text.replace("yield ", ""))
        result = self.run("gone.py", tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == (
            f"error: task='gone.py': a process that called {call} ended with exit code 0; mend the method, and raise "
            "an exception where something is wrong\n"
        )

    @pytest.mark.parametrize("method", ["size", "symbols"])
    def test_for_some_of_the_questions_that_it_draws(self, tmp_path, method):
        leaves = "if len(args[0]) > 3: __import__('os')._exit(0)\n        return super().{method}(*args)"
        (tmp_path / "gone.py").write_text(
            LEAVING.format(method=method).replace("sys.exit(0)", leaves.format(method=method))
        )
        result = self.run("gone.py", tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.splitlines()[-1].startswith(
            "error: task leaving cannot draw sizes 2 to 5 with 2 symbols: ended with exit code 0; "
        )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("trainer.max_steps=-5", "trainer.max_steps=-5: must be -1 or greater than or equal to 1; correct it"),
        ("trainer.max_steps=0", "trainer.max_steps=0: must be -1 or greater than or equal to 1; correct it"),
        ("trainer.learning_rate=.inf", "trainer.learning_rate=inf: must be finite; correct it"),
        ("trainer.learning_rate=.nan", "trainer.learning_rate=nan: must be finite; correct it"),
        ("trainer.learning_rate=-1", "trainer.learning_rate=-1: must be greater than or equal to 0; correct it"),
        ("trainer.num_train_epochs=0", "trainer.num_train_epochs=0: must be greater than 0; correct it"),
        ("trainer.adam_beta2=1", "trainer.adam_beta2=1: must be less than 1; correct it"),
        ("evaluation_rows=-1", "evaluation_rows=-1: must be greater than or equal to 1; correct it"),
        ("test_rows=1.5", "test_rows=1.5: must be a whole number; correct it"),
    ],
)
def test_impossible_numbers_are_refused_before_data_are_made(symbinv, tmp_path, change, sentence):
    result = symbinv("train", "ltl-smoke", "--output", tmp_path / "run", change)
    assert (result.code, result.out, result.err) == (2, "", f"symbinv train: {sentence}\n")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_whose_weights_are_gone_gets_them_again(symbinv, rows, tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    command = ["train", tmp_path / "recipe.yaml", "--data", rows, "--output", tmp_path / "run"]
    assert symbinv(*command).code == 0
    weights = tmp_path / "run" / "model.safetensors"
    before = weights.read_bytes()
    weights.unlink()
    assert symbinv(*command).code == 0
    assert weights.read_bytes() == before


def test_a_checkpoint_that_says_nothing_of_its_steps_is_no_finished_run(symbinv, rows, tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    command = ["train", tmp_path / "recipe.yaml", "--data", rows, "--output", tmp_path / "run"]
    assert symbinv(*command).code == 0
    weights = tmp_path / "run" / "model.safetensors"
    before = weights.read_bytes()
    weights.unlink()
    (tmp_path / "run" / "run.json").unlink()
    shutil.rmtree(tmp_path / "run" / "checkpoint-2")
    (tmp_path / "run" / "checkpoint-1" / "trainer_state.json").write_text("{}")
    result = symbinv(*command)
    assert result.code == 0 and "goes on from" not in result.err
    assert weights.read_bytes() == before


@pytest.mark.parametrize(
    "name", ["optimizer.pt", "scheduler.pt", "rng_state.pth", "model.safetensors", "trainer_state.json"]
)
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(symbinv, trained, rows, tmp_path, name):
    run = shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    command = ["train", tmp_path / "recipe.yaml", "--data", rows, "--output", run]
    before = (run / "model.safetensors").read_bytes()
    (run / "run.json").unlink()
    damaged = run / "checkpoint-2" / name
    content = damaged.read_bytes()
    damaged.write_bytes(content.replace(b'"epoch"', b'"epoca"') if name.endswith("json") else content[:-1])
    result = symbinv(*command)
    assert result.code == 0 and (run / "model.safetensors").read_bytes() == before
    assert (
        f"{damaged}: damaged (its checksum is not the one in sha256.json); checkpoint-1 is whole and takes its place\n"
    ) in result.err


def test_folders_in_the_place_of_a_checkpoints_files_are_not_in_the_way_of_the_next_one(
    symbinv, trained, rows, tmp_path
):
    run = shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    before = (run / "model.safetensors").read_bytes()
    (run / "run.json").unlink()
    for path in (run / "checkpoint-2").iterdir():
        if path.name != "trainer_state.json":
            path.unlink()
            path.mkdir()
    (run / "checkpoint-3").write_text("a note")
    result = symbinv("train", tmp_path / "recipe.yaml", "--data", rows, "--output", run)
    assert result.code == 0 and (run / "model.safetensors").read_bytes() == before
    assert "checkpoint-1 is whole" in result.err and damage_of(run / "checkpoint-2") is None


def test_a_run_without_a_whole_checkpoint_is_refused_unless_it_is_finished(symbinv, trained, rows, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    command = ["train", tmp_path / "recipe.yaml", "--data", rows, "--output", run]
    for checkpoint in run.glob("checkpoint-*"):
        (checkpoint / "optimizer.pt").unlink()
    assert symbinv(*command).code == 0
    (run / "run.json").unlink()
    result = symbinv(*command)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"symbinv train: {run / 'checkpoint-2' / 'optimizer.pt'}: is missing, and no checkpoint before it is whole; "
        f"remove {run} to start again, or choose another folder\n"
    )
