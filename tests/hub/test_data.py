"""Data sets go to the Hub, by `symbinv push` or by `datasets` itself, and come back as they were."""

import pytest

from .fixtures import run, tokens_in

PUSH = """
import datasets
from hf_symbinv.cli import main
from hf_symbinv.datasets_scripts.command import main as make

sizes = ["--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "40"]
assert make(["--task", "copy", "--output", "copy", "--workers", "1", *sizes]) == 0
assert main(["push", "copy", "alice/copy", "--private"]) == 0
rows = datasets.load_dataset("parquet", data_dir="copy")
rows.push_to_hub("alice/rows")
rows["train"].push_to_hub("alice/rows", "few", split="test", private=True)
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
        datasets.load_dataset("alice/rows"),
        datasets.load_dataset("alice/rows", "few"),
    )
]
"""


@pytest.mark.slow
def test_what_was_pushed_comes_back_row_by_row(server, tmp_path):
    rows = run(server, PUSH, None, tmp_path / "alice")
    assert {split: len(part) for split, part in rows.items()} == {"train": 32, "validation": 4, "test": 4}
    copy, loaded, own, few = run(server, PULL, None, tmp_path / "user")
    assert copy == loaded == own == rows
    assert few == {"test": rows["train"]}
    assert server["dataset", "alice/copy"].private and not server["dataset", "alice/rows"].private
    assert tokens_in(tmp_path) == []
