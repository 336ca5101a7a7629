"""Every example of training runs without an argument of its own; here for a few steps, on few rows."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from .. import forks

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS = ["data.rows=400", "trainer.max_steps=3", "trainer.eval_strategy=no", "test_rows=8"]
# Program → what makes it short, where its run lies, and what it says at the end.
RUNS = {
    "train_ltl": (QUESTIONS, "ltl", r"8 test questions: \S+ % of the answers verified, 95 % interval \S+ to \S+ %"),
    "graph_colouring": (
        QUESTIONS, "colouring", r"8 test questions: \S+ % of the answers verified, 95 % interval \S+ to \S+ %"
    ),
    "ltl_patterns": (
        QUESTIONS, "patterns", r"8 test questions: \S+ % of the answers verified, 95 % interval \S+ to \S+ %"
    ),
    "train_recall": (
        ["trainer.max_steps=3", "data.rows=200"], "recall/model",
        r"1,000 test texts with 8 to 12 variables: \S+% recalled, 95 % interval \S+ to \S+",
    ),
}  # fmt: skip


def test_every_program_that_trains_is_here():
    trains = {path.stem for path in EXAMPLES.glob("*.py") if path.with_suffix(".yaml").is_file()}
    assert trains == set(RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_program_alone_draws_its_data_trains_measures_and_says_how_to_go_on(name, program, tmp_path, monkeypatch):
    short, folder, said = RUNS[name]
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    done = program(EXAMPLES / f"{name}.py", *short)
    assert done.code == 0, done.err
    assert re.search(rf"^{said}$", done.out, re.MULTILINE), done.out
    assert re.search(
        rf"the model is in runs/{folder}[,;] .*the same command with trainer\.max_steps=6 trains", done.err
    )
    record = json.loads((tmp_path / "runs" / folder / "run.json").read_text())
    assert record["processes"] == 1 and len(record["data"]["splits"]["train"]["sha256"]) == 64
    assert "trainer.max_steps=3" in (tmp_path / "runs" / folder / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train_ltl", "train_recall"])
def test_two_processes_need_no_word_more(name, tmp_path):
    """The others run what train_ltl runs."""
    short, folder, said = RUNS[name]
    cache = {**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    words = [str(EXAMPLES / f"{name}.py"), *short]
    done = forks.run(words, processes=2, folder=tmp_path, environment=cache)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(re.findall(rf"^{said}$", done.stdout, re.MULTILINE)) == 1, done.stdout
    assert json.loads((tmp_path / "runs" / folder / "run.json").read_text())["processes"] == 2


REFUSED = "trainer.max_step: unknown argument; did you mean trainer.max_steps?"


@pytest.mark.parametrize("name", RUNS)
def test_a_program_ends_with_one_sentence_and_leaves_nothing(name, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = program(EXAMPLES / f"{name}.py", "trainer.max_step=3").refusal()
    assert said.startswith(f"{name}.py: error: ") and REFUSED in said
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_quiet_launch_ends_with_the_sentence_of_the_program(tmp_path):
    """That is accelerate's doing, and the same for every program: they all end as the test above says."""
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "1", "--quiet"]
    words = [*launch, str(EXAMPLES / "graph_colouring.py"), "trainer.max_step=3"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert REFUSED in done.stderr.splitlines()[-1]
    assert not (tmp_path / "runs").exists()
