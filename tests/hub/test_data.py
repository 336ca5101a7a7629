"""Data sets go to the Hub, by `symbinv push` or by `datasets` itself, and come back as they were."""

import lzma

import pytest

from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.questions.transforms import read_folder
from hf_symbinv.datasets_scripts.questions.two_line_texts import TextsError, local_path

from .fixtures import run, tokens_in

PUSH = """
import datasets
from hf_symbinv.cli import main
from hf_symbinv.datasets_scripts.command import main as make

sizes = ["--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "40"]
assert make(["--task", "copy", "--output", "copy", "--workers", "1", *sizes]) == 0
assert main(["push", "copy", "alice/copy", "--private"]) == 0
rows = datasets.load_dataset("parquet", data_dir="copy")
for name in ("few", "more"):
    rows.push_to_hub("alice/rows", name)
result = {split: rows[split].to_list() for split in rows}
"""
PULL = """
import datasets
from hf_symbinv import COPY, load_data
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation import load_questions

result = [
    {split: part.to_list() for split, part in rows.items()}
    for rows in (
        datasets.load_dataset("alice/copy"),
        load_data("copy", {}, "alice/copy"),
        datasets.load_dataset("alice/rows", "few"),
        load_data("copy", {}, "alice/rows/few"),
    )
]
result.append([question.reference for question in load_questions(COPY, "alice/rows/few", "test")])
try:
    load_data("copy", {}, "alice/rows")
except UserError as error:
    result.append(str(error))
"""


@pytest.mark.slow
def test_what_was_pushed_comes_back_row_by_row(server, tmp_path):
    rows = run(server, PUSH, None, tmp_path / "alice")
    assert {split: len(part) for split, part in rows.items()} == {"train": 32, "validation": 4, "test": 4}
    *loaded, references, several = run(server, PULL, None, tmp_path / "user")
    assert loaded == [rows] * 4 and references == [row["copy"] for row in rows["test"]]
    assert several == "alice/rows: holds several data sets; name one of them, alice/rows/few or alice/rows/more"
    assert server["dataset", "alice/copy"].private
    assert tokens_in(tmp_path) == []


def texts(*numbers):
    """Pairs in the format of earlier releases."""
    return "".join(f"{'X' * number}a\n{'1;' * number}{{a}}\n" for number in numbers).encode()


@pytest.fixture
def published(hub):
    """A repository with texts in a folder, as earlier releases publish them, and with other things."""
    files = {"ltl-35/train.txt.xz": lzma.compress(texts(*range(8))), "ltl-35/val.txt": texts(8)}
    hub.put("dataset", "authors/data", {**files, "ltl-35/test.txt": texts(9), "ltl-35/notes/train.txt": b"?"})
    return hub


def test_published_texts_become_a_data_set(published, tmp_path, capsys):
    assert main([f"--output={tmp_path / 'made'}", "--from-text=authors/data/ltl-35"]) == 0, capsys.readouterr().err
    made = read_folder(tmp_path / "made")
    assert {split: rows["length"] for split, rows in made.items()} == {
        "train": list(range(1, 9)), "validation": [9], "test": [10],
    }  # fmt: skip
    assert sorted(path.name for path in local_path("authors/data/ltl-35/").iterdir()) == [
        "test.txt", "train.txt.xz", "val.txt",
    ]  # fmt: skip


def test_a_folder_that_a_repository_does_not_have_is_refused(published):
    with pytest.raises(TextsError, match=r"authors/data/ltl: the repository has no ltl/train\.txt; name a folder with"):
        local_path("authors/data/ltl")
    with pytest.raises(TextsError, match="authors/none/ltl: no such file or folder, and from the Hub it cannot be"):
        local_path("authors/none/ltl")
