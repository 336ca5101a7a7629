"""The program that trains a lexinvariant language model, at a tiny size."""

import re
from pathlib import Path

import pytest
from transformers import pipeline

import hf_symbinv  # noqa: F401 makes its classes known

EXAMPLE = Path(__file__).parents[3] / "papers" / "lexinvariant" / "train_characters.py"
TINY = [
    "data.length=24", "data.max_characters=10000", "model.d_model=16", "model.decoder_layers=1", "model.d_ff=32",
    "model.num_attention_heads=2", "trainer.max_steps=12", "trainer.save_steps=6", "trainer.use_cpu=true",
    "test.rows=20",
]  # fmt: skip


@pytest.fixture
def run(program):
    return lambda *arguments: program(EXAMPLE, *arguments)


def test_it_prints_the_perplexity_of_every_place_and_goes_on_where_it_was(tmp_path, run):
    (tmp_path / "corpus.txt").write_text("The quick brown fox jumps over the lazy dog. " * 200)
    arguments = ["--output", tmp_path / "run", "--corpus", tmp_path / "corpus.txt", *TINY, "test.draws=2"]
    done = run(*arguments)
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if line.startswith("characters ")]
    assert [line.split(":")[0] for line in lines] == ["characters 1 to 8", "characters 9 to 16", "characters 17 to 24"]
    shown = r".*: perplexity (\S+), 95 % interval (\S+) to (\S+); by counting (\S+)"
    for found in (re.fullmatch(shown, line) for line in lines):
        middle, low, high, counting = map(float, found.groups())
        assert 1 < low <= middle <= high and counting > 1
    assert f"20 test windows; the model is in {tmp_path / 'run' / 'model'}; the same command with" in done.err
    write = pipeline("text-generation", model=str(tmp_path / "run" / "model"))
    [answer] = write("The quick ", max_new_tokens=4, do_sample=False)
    assert answer["generated_text"].startswith("The quick ") and len(answer["generated_text"]) == 14
    again = run(*arguments)
    assert [line for line in again.out.splitlines() if line.startswith("characters ")] == lines
    assert "train_runtime" in done.out and "train_runtime" not in again.out
