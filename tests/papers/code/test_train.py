"""The program that trains a finder: it draws its data, trains, measures, and says how to go on."""

import json
import re
from pathlib import Path

import datasets
import pytest

import hf_symbinv

PROGRAM = Path(__file__).parents[3] / "papers" / "code" / "train.py"
SHORT = ["trainer.max_steps=3", f"data.source={Path(hf_symbinv.__file__).parent}", "finder.wanted=0"]


@pytest.mark.slow
def test_it_leaves_a_finder_with_what_was_measured(program, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    done = program(PROGRAM, *SHORT)
    assert done.code == 0, done.err
    said = r"^suspicions that are right: \S+% of \S+, 95 % interval \S+ to \S+$"
    assert re.search(said, done.out, re.MULTILINE), done.out
    assert "the same command with trainer.max_steps=6 trains it longer" in done.err
    finder = tmp_path / "runs" / "code" / "finder"
    assert json.loads((finder / "run.json").read_text())["processes"] == 1
    assert json.loads((finder / "finder.json").read_text())["calibration"]["functions"] > 0
    assert "trainer.max_steps=3" in (finder / "README.md").read_text()


def test_it_refuses_in_one_sentence_and_leaves_nothing(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = program(PROGRAM, "trainer.max_step=3").refusal()
    assert "trainer.max_step: unknown argument; did you mean trainer.max_steps?" in said
    assert not (tmp_path / "runs").exists()
