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
rows["train"].push_to_hub("alice/rows", "few", split="test")
result = {split: rows[split].to_list() for split in rows}
"""
PULL = """
import datasets
from hf_symbinv import load_data

result = [
    {split: part.to_list() for split, part in rows.items()}
    for rows in (
        datasets.load_dataset("alice/copy"),
        load_data("copy", {}, "alice/copy"),
        datasets.load_dataset("alice/rows", "few"),
    )
]
"""


@pytest.mark.slow
def test_what_was_pushed_comes_back_row_by_row(server, tmp_path):
    rows = run(server, PUSH, None, tmp_path / "alice")
    assert {split: len(part) for split, part in rows.items()} == {"train": 32, "validation": 4, "test": 4}
    copy, loaded, few = run(server, PULL, None, tmp_path / "user")
    assert copy == loaded == rows and few == {"test": rows["train"]}
    assert server["dataset", "alice/copy"].private
    assert tokens_in(tmp_path) == []


SEVERAL = """
from hf_symbinv.cli import main

for symbols in ("2", "3"):
    sizes = ["--num-symbols", symbols, "--min-size", "2", "--max-size", "5", "--rows", "40", "--workers", "1"]
    assert main(["data", "--task", "copy", "--output", f"all/copy-{symbols}", *sizes]) == 0
open("all/notes.txt", "w").write("not for the Hub")
assert main(["push", "all", "alice/all"]) == 0
import pyarrow.parquet
result = [
    {split: pyarrow.parquet.read_table(f"all/{name}/data/{split}-00000-of-00001.parquet").to_pylist()
     for split in ("train", "validation", "test")}
    for name in ("copy-2", "copy-3")
]
"""
# Without this package: only `datasets` and the client of the Hub.
PLAIN = """
import sys

sys.modules["hf_symbinv"] = None
import datasets
from huggingface_hub import snapshot_download

folder = snapshot_download("alice/all", repo_type="dataset")
result = [
    sorted(datasets.get_dataset_config_names("alice/all")),
    [[{split: part.to_list() for split, part in datasets.load_dataset(place, name).items()}
      for name in ("copy-2", "copy-3")] for place in ("alice/all", folder)],
    [str(datasets.load_dataset_builder("alice/all", name).info.splits["train"].num_examples)
     for name in ("copy-2", "copy-3")],
]
"""
NAMED = """
from hf_symbinv import COPY, load_data
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation import load_questions

def refusal(work):
    try:
        work()
    except UserError as error:
        return str(error)

result = [
    {split: part.to_list() for split, part in load_data("copy", {}, "alice/all/copy-3").items()},
    [question.reference for question in load_questions(COPY, "alice/all/copy-3", "test")],
    refusal(lambda: load_data("copy", {}, "alice/all")),
    refusal(lambda: load_data("copy", {}, "alice/all/copy-4")),
]
"""


@pytest.mark.slow
def test_a_folder_of_data_sets_becomes_one_repository_that_plain_datasets_reads_by_their_names(server, tmp_path):
    two, three = run(server, SEVERAL, None, tmp_path / "alice")
    assert two != three
    names, places, counts = run(server, PLAIN, None, tmp_path / "user")
    assert names == ["copy-2", "copy-3"] and counts == ["32", "32"]
    assert places == [[two, three], [two, three]]
    rows, references, several, unknown = run(server, NAMED, None, tmp_path / "named")
    assert rows == three and references == [row["copy"] for row in three["test"]]
    sentence = "alice/all: holds several data sets; name one of them, alice/all/copy-2 or alice/all/copy-3"
    assert several == sentence and "copy-4" in unknown and "Available: ['copy-2', 'copy-3']" in unknown
    there = server["dataset", "alice/all"].files()
    assert "notes.txt" not in there and {"README.md", "copy-2/README.md", "copy-3/generation.json"} <= set(there)


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
