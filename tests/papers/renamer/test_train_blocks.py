"""The program that trains a Renamer, at a tiny size."""

import re
from pathlib import Path
from runpy import run_path

import pytest
from datasets import Dataset
from transformers import pipeline

import hf_symbinv  # noqa: F401 makes its classes known
from papers.renamer.x86 import Block, canonical_ids

EXAMPLE = Path(__file__).parents[3] / "papers" / "renamer" / "train_blocks.py"
TINY = [
    "model.d_model=16", "model.d_ff=32", "trainer.max_steps=12", "trainer.eval_steps=6", "trainer.save_steps=6",
    "trainer.use_cpu=true",
]  # fmt: skip


@pytest.fixture
def run(program):
    return lambda *arguments: program(EXAMPLE, *arguments)


def test_it_prints_one_error_for_blocks_and_renamed_blocks_and_goes_on_where_it_was(tmp_path, run):
    done = run("--output", tmp_path / "run", *TINY)
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if "MAPE" in line]
    *lines, constant = lines
    told = r"30 test blocks, registers (as they are|renamed): (MAPE \S+ %, 95 % interval \S+ to \S+ %)"
    shown = [re.fullmatch(told, line) for line in lines]
    assert re.fullmatch(r"the best guess that is the same for all: MAPE \d+\.\d\d %", constant)
    assert [match[1] for match in shown] == ["as they are", "renamed"]
    assert shown[0][2] == shown[1][2]
    cycles = pipeline("text-classification", model=str(tmp_path / "run" / "model"))
    [first], [second] = (cycles(block) for block in ("movq (%rax), %rbx;decl %ebx", "movq (%rsi), %r8;decl %r8d"))
    assert first["score"] == second["score"] and cycles.model.config.regression_loss == "mape"
    again = run("--output", tmp_path / "run", *TINY)
    assert [line for line in again.out.splitlines() if "MAPE" in line] == [*lines, constant]
    assert "train_runtime" in done.out and "train_runtime" not in again.out


def test_augmented_is_trained_on_one_renamed_copy_of_the_blocks():
    ids = Block.parse("addq %r9, %rdi;subq %rdi, %rax").ids()
    rows, rows_for = (
        Dataset.from_dict({"input_ids": [ids] * 9, "cycles": [2.0] * 9}),
        run_path(str(EXAMPLE))["rows_for"],
    )
    first, again, plain = (
        list(rows_for("augmented", rows, training=training)["input_ids"]) for training in (True, True, False)
    )
    assert first == again != plain == [ids] * 9
    assert {tuple(canonical_ids(renamed)) for renamed in first} == {tuple(canonical_ids(ids))}
