"""No command says that its work is done when it is not."""

import shutil
from pathlib import Path

import datasets
import pytest

from hf_symbinv.cli import main

ROOT = Path(__file__).parents[2]
SIZES = ["--task", "copy", "--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "40", "--workers", "1"]
LEAVING = """
import os, sys
from hf_symbinv.tasks.copying import CopyTask


class Leaving(CopyTask):
    name = "leaving"

    def {}(self, *args):
        {}


TASK = Leaving()
"""
# After os._exit no line of Python runs: only another process can tell.
GONE = (
    "task='{{}}': a process that called {} ended with exit code 0; mend the method, and raise an exception where "
    "something is wrong"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "rows"
    assert main(["data", *SIZES, "--output", str(folder)]) == 0
    return folder


@pytest.fixture
def rows(made, tmp_path):
    return shutil.copytree(made, tmp_path / "parent" / "rows")


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

    @pytest.mark.parametrize("place", ["other", "data/other", "data/data"])
    @pytest.mark.parametrize("command", [["evaluate"], ["train", "ltl-smoke", "--output", "run"]])
    def test_a_folder_of_data_sets_is_none(self, symbinv, rows, command, place):
        parent = rows.parent
        shutil.copytree(rows, parent / place)
        result = symbinv(*command, "--data", parent)
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"symbinv {command[0]}: {parent}: is no data set, but holds some in folders below; name one of them, such "
            f"as {min(parent / place, rows)}\n"
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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import sys\n\nsys.exit(0)", "task='{}': the file cannot be imported (line 3, SystemExit: 0)"),
        (
            "import os\n\nos._exit(0)", "task='{}': the file cannot be imported (3 workers in a row ended with exit "
            "code 0 before they computed anything); mend the file",
        ),
        (
            LEAVING.format("solver_version", "sys.exit(0)"), "{}, line 10: ends the program with SystemExit(0) before "
            "its work is done; raise an exception there that says what is wrong",
        ),
        (LEAVING.format("solver_version", "os._exit(0)"), GONE.format("solver_version()")),
        (LEAVING.format("words", "yield os._exit(0)"), GONE.format("words('a')")),
        (
            LEAVING.format("size", "if len(args[0]) > 3: os._exit(0)\n        return super().size(*args)"),
            "task leaving cannot draw sizes 2 to 5 with 2 symbols: ended with exit code 0; ",
        ),
        *((LEAVING.format(method, "sys.exit(0)"), "") for method in ("draw", "solve", "judge", "prepare", "symbols")),
    ],
)  # fmt: skip
def test_a_task_that_ends_the_program_or_its_process_makes_no_data(symbinv, tmp_path, text, sentence, request):
    file = tmp_path / f"leaving_{abs(hash(request.node.name))}.py"  # a module is imported once
    file.write_text(text)
    result = symbinv("data", *SIZES[2:], "--task", file, "--output", tmp_path / "made")
    assert (result.code, result.out) == (2, "") and not (tmp_path / "made" / "README.md").exists()
    assert result.err.splitlines()[-1].startswith(f"error: {sentence.format(file)}")
    assert sentence or "SystemExit" in result.err
