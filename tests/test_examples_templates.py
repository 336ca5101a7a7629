"""The example that trains on templates of one's own: started by accelerate, it prints errors and leaves a model."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from hf_symbinv import IdentityGPT2ForSequenceClassification, IdentityGPT2LMHeadModel
from hf_symbinv.datasets_scripts.templates import template_task

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE, OWN = ROOT / "examples" / "train_templates.py", ROOT / "examples" / "first_in_majority.yaml"


def test_the_file_beside_the_example_is_the_papers_task():
    own, paper = template_task(str(OWN)), template_task("first-in-majority")
    renamed = {"a": "α", "b": "β"}
    assert [tuple(renamed[token] for token in template.tokens) for template in own.templates] == [
        template.tokens for template in paper.templates
    ]
    assert [template.label for template in own.templates] == [template.label for template in paper.templates]


@pytest.mark.slow
def test_it_trains_tests_on_unseen_symbols_and_saves(tmp_path):
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes=1", str(EXAMPLE)]
    run = subprocess.run(
        [*launch, f"--task={OWN}", "--rows=16", "--steps=2", f"--output={tmp_path}"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    check(run.stdout, tmp_path, IdentityGPT2ForSequenceClassification, scalars=True)


@pytest.mark.slow
def test_a_task_with_tokens_for_labels_trains_a_language_model(tmp_path, capsys, monkeypatch):
    options = ["--task=copy", "--rows=16", "--steps=2", f"--output={tmp_path}", "--vanilla"]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *options])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    check(capsys.readouterr().out, tmp_path, IdentityGPT2LMHeadModel, scalars=False)


def check(printed: str, folder: Path, kind: type, *, scalars: bool) -> None:
    result = json.loads(printed.splitlines()[-1])
    assert set(result) == {"diversity", "train_error", "test_error"} and result["test_error"] >= 0
    model = kind.from_pretrained(folder)
    assert any("identity" in name for name, _ in model.named_parameters()) == scalars
