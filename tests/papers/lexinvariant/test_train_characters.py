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


@pytest.fixture
def refusal(run):
    """What it says last, and nothing but that and its usage."""

    def said(*arguments: object) -> str:
        last = run(*arguments).refusal()
        assert last.startswith("train_characters.py: error: ")
        return last

    return said


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


def test_an_override_of_nothing_is_refused(tmp_path, refusal):
    assert "steps=3: write SECTION.KEY=VALUE with a section of data, model, trainer, test" in refusal(
        "--output", tmp_path, "steps=3"
    )


def test_what_cannot_be_used_is_refused_in_one_sentence(tmp_path, refusal):
    (tmp_path / "bad.txt").write_text("naïve " * 1000)
    corpus = ("--output", tmp_path / "run", "--corpus")
    assert "byte 0xc3 0xaf is outside the vocabulary of printable ASCII" in refusal(*corpus, tmp_path / "bad.txt")
    assert "nowhere: no such file or folder; on the Hub" in refusal(*corpus, tmp_path / "nowhere")
    small = ("--output", tmp_path / "run", "data.max_characters=100000")
    assert "model.d_model: expected int, got str (value: 'many'); correct it" in refusal(*small, "model.d_model=many")
    assert "trainer.stps: unknown argument; did you mean trainer.max_steps? " in refusal(*small, "trainer.stps=3")
    assert "data has no lenght; did you mean data.length? use some of length, " in refusal(*small, "data.lenght=3")
    assert "test.draws=0: how many embeddings are drawn" in refusal(*small, "test.draws=0")
    assert "model.d_model=[: must be SECTION.KEY=VALUE with a YAML value" in refusal(*small, "model.d_model=[")
