"""No command says that its work is done when it is not."""

import shutil
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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data set, and a run on it in two steps, with a checkpoint after each."""
    home = tmp_path_factory.mktemp("made")
    assert main(["data", *SIZES, "--output", str(home / "rows")]) == 0
    (home / "recipe.yaml").write_text(RECIPE)
    command = ["train", str(home / "recipe.yaml"), "--data", str(home / "rows"), "--output", str(home / "run")]
    assert main(command) == 0
    return home


@pytest.fixture
def rows(made, tmp_path):
    return shutil.copytree(made / "rows", tmp_path / "parent" / "rows")


@pytest.fixture
def trained(made, tmp_path):
    """The folder of the run, and the command that made it."""
    run = shutil.copytree(made / "run", tmp_path / "run")
    return run, ["train", made / "recipe.yaml", "--data", made / "rows", "--output", run]


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

    @pytest.mark.parametrize("method", ["solve", "prepare"])
    def test_in_a_method_that_another_process_calls(self, symbinv, tmp_path, method):
        file = tmp_path / f"leaving_in_{method}.py"
        file.write_text(LEAVING.format(method=method))
        result = symbinv("data", *SIZES[2:], "--task", file, "--output", tmp_path / "made")
        assert (result.code, result.out) == (2, "") and "SystemExit" in result.err
        assert not (tmp_path / "made" / "README.md").exists()


class TestTasksThatEndTheirProcess:
    """As `os._exit` does, after which no line of Python runs: only another process can tell."""

    def test_when_the_file_is_imported(self, symbinv, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "gone_at_once.py").write_text("import os\n\nos._exit(0)\n")
        result = symbinv("data", *SIZES[2:], "--task", "gone_at_once.py", "--output", "made")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            "error: task='gone_at_once.py': the file cannot be imported (3 workers in a row ended with exit code 0 "
            "before they computed anything); mend the file\n"
        )

    @pytest.mark.parametrize(("method", "call"), [("solver_version", "solver_version()"), ("words", "words('a')")])
    def test_in_a_method_that_the_command_calls(self, symbinv, tmp_path, method, call):
        text = LEAVING.format(method=method).replace("sys.exit(0)", "yield __import__('os')._exit(0)")
        file = tmp_path / f"gone_in_{method}.py"
        file.write_text(text if method == "words" else text.replace("yield ", ""))
        result = symbinv("data", *SIZES[2:], "--task", file, "--output", tmp_path / "made")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"error: task='{file}': a process that called {call} ended with exit code 0; mend the method, and raise "
            "an exception where something is wrong\n"
        )

    def test_for_some_of_the_questions_that_it_draws(self, symbinv, tmp_path):
        leaves = "if len(args[0]) > 3: __import__('os')._exit(0)\n        return super().size(*args)"
        file = tmp_path / "gone_in_size.py"
        file.write_text(LEAVING.format(method="size").replace("sys.exit(0)", leaves))
        result = symbinv("data", *SIZES[2:], "--task", file, "--output", tmp_path / "made")
        assert (result.code, result.out) == (2, "")
        assert result.err.splitlines()[-1].startswith(
            "error: task leaving cannot draw sizes 2 to 5 with 2 symbols: ended with exit code 0; "
        )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("trainer.max_steps=-5", "trainer.max_steps=-5: must be -1 or greater than or equal to 1; correct it"),
        ("trainer.learning_rate=.nan", "trainer.learning_rate=nan: must be finite; correct it"),
        ("trainer.adam_beta2=1", "trainer.adam_beta2=1: must be less than 1; correct it"),
        ("evaluation_rows=-1", "evaluation_rows=-1: must be greater than or equal to 1; correct it"),
        ("test_rows=1.5", "test_rows=1.5: must be a whole number; correct it"),
    ],
)
def test_impossible_numbers_are_refused_before_data_are_made(symbinv, tmp_path, change, sentence):
    result = symbinv("train", "ltl-smoke", "--output", tmp_path / "run", change)
    assert (result.code, result.out, result.err) == (2, "", f"symbinv train: {sentence}\n")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_whose_weights_are_gone_gets_them_again(symbinv, trained):
    run, command = trained
    weights = run / "model.safetensors"
    before = weights.read_bytes()
    weights.unlink()
    assert symbinv(*command).code == 0
    assert weights.read_bytes() == before


def test_a_checkpoint_that_says_nothing_of_its_steps_is_no_finished_run(symbinv, trained):
    run, command = trained
    weights = run / "model.safetensors"
    before = weights.read_bytes()
    weights.unlink()
    (run / "run.json").unlink()
    shutil.rmtree(run / "checkpoint-2")
    (run / "checkpoint-1" / "trainer_state.json").write_text("{}")
    result = symbinv(*command)
    assert result.code == 0 and "goes on from" not in result.err
    assert weights.read_bytes() == before


@pytest.mark.parametrize("name", ["optimizer.pt", "trainer_state.json"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(symbinv, trained, name):
    run, command = trained
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


def test_folders_in_the_place_of_a_checkpoints_files_are_not_in_the_way_of_the_next_one(symbinv, trained):
    run, command = trained
    before = (run / "model.safetensors").read_bytes()
    (run / "run.json").unlink()
    for path in (run / "checkpoint-2").iterdir():
        if path.name != "trainer_state.json":
            path.unlink()
            path.mkdir()
    (run / "checkpoint-3").write_text("a note")
    result = symbinv(*command)
    assert result.code == 0 and (run / "model.safetensors").read_bytes() == before
    assert "checkpoint-1 is whole" in result.err and damage_of(run / "checkpoint-2") is None


def test_a_run_without_a_whole_checkpoint_is_refused_unless_it_is_finished(symbinv, trained):
    run, command = trained
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
