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


@pytest.fixture
def refusal(run):
    """What it says last, and nothing but that and its usage."""

    def said(*arguments: object) -> str:
        last = run(*arguments).refusal()
        assert last.startswith("train_blocks.py: error: ")
        return last

    return said


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


def test_an_override_of_nothing_is_refused(tmp_path, refusal):
    assert "steps=3: write SECTION.KEY=VALUE with a section of data, model, trainer" in refusal(
        "--output", tmp_path, "steps=3"
    )


def test_what_cannot_be_used_is_refused_in_one_sentence(tmp_path, run, refusal):
    (tmp_path / "bad.tsv").write_text("text\tcycles\nmov %rax, %rbx\tmany\n")
    assert "bad.tsv, line 2: cycles='many' is no number" in refusal(
        "--output", tmp_path / "run", "--blocks", tmp_path / "bad.tsv"
    )
    assert "nowhere: no blocks there; give a table" in refusal(
        "--output", tmp_path / "run", "--blocks", tmp_path / "nowhere"
    )
    assert "Couldn't reach 'no/where' on the Hub" in refusal("--output", tmp_path / "run", "--blocks", "no/where")
    assert "model.d_model: expected int, got str" in refusal("--output", tmp_path / "run", "model.d_model=many")
    assert "trainer.stps: unknown argument; did you mean trainer.max_steps? " in refusal(
        "--output", tmp_path / "run", "trainer.stps=3"
    )
    assert not list((tmp_path / "run").iterdir())  # what failed refuses no other try
    assert run("--output", tmp_path / "run", *TINY).code == 0
    other = refusal("--output", tmp_path / "run", "data.max_tokens=64")
    assert "holds a data set made in another way, see generation.json; choose another folder or delete it" in other
