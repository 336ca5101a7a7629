"""The program that trains on templates of one's own: it prints errors and leaves a model."""

import re
from pathlib import Path

import pytest

from hf_symbinv import IdentityGPT2ForSequenceClassification, IdentityGPT2LMHeadModel
from papers.identity.templates import template_task

PAPER = Path(__file__).resolve().parents[3] / "papers" / "identity"
EXAMPLE, OWN = PAPER / "train_templates.py", PAPER / "first_in_majority.yaml"
TINY = [
    "data.rows=16", "model.n_embd=16", "trainer.max_steps=4", "trainer.save_steps=2", "trainer.save_total_limit=2",
    "trainer.use_cpu=true",
]  # fmt: skip


@pytest.fixture
def started(program):
    return lambda *arguments: program(EXAMPLE, *arguments)


def test_the_file_beside_the_example_is_the_papers_task():
    own, paper = template_task(str(OWN)), template_task("first-in-majority")
    renamed = {"a": "α", "b": "β"}
    assert [tuple(renamed[token] for token in template.tokens) for template in own.templates] == [
        template.tokens for template in paper.templates
    ]
    assert [template.label for template in own.templates] == [template.label for template in paper.templates]


def test_it_trains_tests_on_unseen_symbols_and_saves(tmp_path, started):
    done = started(f"--task={OWN}", f"--output={tmp_path}", *TINY)
    assert done.code == 0, done.err
    check(done.out, tmp_path, IdentityGPT2ForSequenceClassification, scalars=True)
    assert (tmp_path / "model" / "README.md").is_file()


def test_a_task_with_tokens_for_labels_trains_a_language_model(tmp_path, started):
    options = ["--task=copy", f"--output={tmp_path}", "--vanilla", *TINY]
    check(started(*options).out, tmp_path, IdentityGPT2LMHeadModel, scalars=False)


def check(printed: str, folder: Path, kind: type, *, scalars: bool) -> None:
    diversity, *errors = printed.splitlines()[-3:]
    assert re.fullmatch(r"template diversity \S+", diversity)
    for line, rows in zip(errors, (r"16 training rows", r"1,000 test rows with unseen symbols"), strict=True):
        found = re.fullmatch(rf"{rows}: (?:squared error|tokens wrong) (\S+), 95 % interval (\S+) to (\S+)", line)
        middle, low, high = map(float, found.groups())
        assert low <= middle <= high and middle >= 0
    model = kind.from_pretrained(folder / "model")
    assert any("identity" in name for name, _ in model.named_parameters()) == scalars
