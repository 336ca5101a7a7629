"""Data sets for training come from folders, or from the builder."""

import shutil

import pytest

from hf_symbinv import load_data
from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.pair_files import read_pairs
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.report import load_questions
from hf_symbinv.tasks import COPY

TINY = {"num_symbols": 2, "min_size": 2, "max_size": 5, "rows": 40}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "copy"
    options = [word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    assert main(["--task", "copy", "--output", str(folder), "--workers", "1", *options]) == 0
    return folder


def test_a_folder_is_read_whatever_the_options_say(built):
    rows = load_data("copy", {"nonsense": 1}, str(built))
    assert {split: len(part) for split, part in rows.items()} == {"train": 32, "validation": 4, "test": 4}


def test_without_a_folder_the_builder_makes_the_same_rows_and_says_so(built, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path))
    made, read = load_data("copy", TINY), load_data("copy", {}, str(built))
    assert (made.source, read.source) == (None, str(built))
    assert all(made[split]["string"] == read[split]["string"] for split in ("train", "validation", "test"))
    assert made.builder == {**TINY, "task": "copy", "seed": 0, "timeout": 120.0}
    assert read.builder.items() >= {**TINY, "task": "copy", "builder": "random 3.0.0"}.items()
    shutil.copytree(built / "data", tmp_path / "bare" / "data")
    assert load_data("copy", {}, str(tmp_path / "bare")).builder is None


@pytest.mark.parametrize("name", ["copy[12]", "copy?", "*"])
def test_no_folder_is_read_for_one_whose_name_stands_for_others(built, tmp_path, name):
    shutil.copytree(built, tmp_path / name)
    source = str(tmp_path / name)
    for read in (lambda: load_data("copy", {}, source), lambda: load_questions(COPY, source, "test"),
                 lambda: read_pairs(source, config="default")):  # fmt: skip
        with pytest.raises(UserError, match=r"which stand for other characters .*; rename the folder"):
            read()


def test_a_misspelt_option_is_refused_with_the_one_that_was_meant():
    with pytest.raises(UserError, match=r"data option 'num_symbol': unknown; did you mean data\.num_symbols\?"):
        load_data("copy", {"num_symbol": 3})
