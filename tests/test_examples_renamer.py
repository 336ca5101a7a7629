"""The example that trains a Renamer, at a tiny size."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import pipeline

import hf_symbinv  # noqa: F401 makes its classes known

EXAMPLE = Path(__file__).parent.parent / "examples" / "train_renamer.py"
TINY = [
    "model.d_model=16", "model.d_ff=32", "trainer.max_steps=12", "trainer.eval_steps=6", "trainer.save_steps=6",
    "trainer.use_cpu=true",
]  # fmt: skip


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_it_prints_one_error_for_blocks_and_renamed_blocks_and_goes_on_where_it_was(tmp_path):
    done = run("--output", tmp_path / "run", *TINY)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "MAPE" in line]
    shown = [
        re.fullmatch(r"\d+ test blocks, registers (as they are|renamed): MAPE (\d+\.\d\d) %", line) for line in lines
    ]
    assert [match[1] for match in shown] == ["as they are", "renamed"]
    assert shown[0][2] == shown[1][2]
    cycles = pipeline("text-classification", model=str(tmp_path / "run" / "model"))
    [first], [second] = (cycles(block) for block in ("movq (%rax), %rbx;decl %ebx", "movq (%rsi), %r8;decl %r8d"))
    assert first["score"] == second["score"] and cycles.model.config.problem_type == "regression"
    again = run("--output", tmp_path / "run", *TINY)
    assert [line for line in again.stdout.splitlines() if "MAPE" in line] == lines
    assert "train_runtime" in done.stdout and "train_runtime" not in again.stdout


@pytest.mark.slow
def test_an_override_of_nothing_is_refused(tmp_path):
    done = run("--output", tmp_path, "steps=3")
    assert done.returncode == 2
    assert "'steps=3': write SECTION.KEY=VALUE with a section of data, model, trainer" in done.stderr
