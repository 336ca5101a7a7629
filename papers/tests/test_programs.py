"""The programs of the papers that train a model: two processes need no word more, and all refuse in one sentence."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from transformers import pipeline

import hf_symbinv  # noqa: F401 makes its classes known

ROOT = Path(__file__).parents[2]
# Program → what makes it short, where its run lies, and what it says at the end.
RUNS = {
    "code.train_finder": (
        ["trainer.max_steps=3", f"data.source={ROOT / 'hf_symbinv'}", "finder.wanted=0"], "code/finder",
        r"suspicions that are right: \S+% of \S+, 95 % interval \S+ to \S+",
    ),
    "identity.train_templates": (
        ["trainer.max_steps=3"], "templates/model",
        r"1,000 test rows with unseen symbols: squared error \S+, 95 % interval \S+ to \S+",
    ),
    "lexinvariant.train_characters": (
        ["trainer.max_steps=3", "data.max_characters=64000", "test.rows=20"], "lexinvariant/model",
        r"characters 33 to 64: perplexity \S+, 95 % interval \S+ to \S+; by counting \S+",
    ),
    "renamer.train_blocks": (
        ["trainer.max_steps=3", "trainer.eval_steps=3", "trainer.save_steps=3"], "renamer/model",
        r"30 test blocks, registers renamed: MAPE \S+ %, 95 % interval \S+ to \S+ %",
    ),
    "shapes.train_pointing": (
        ["trainer.max_steps=3", "data.rows=200"], "pointing/model",
        r"1,000 test programs with 8 to 12 variables: \S+% correct, 95 % interval \S+ to \S+",
    ),
}  # fmt: skip
TWO = str(ROOT / "examples" / "accelerate" / "cpu-2.yaml")


def test_every_program_that_trains_is_here():
    found = {f"{path.parent.name}.{path.stem}" for path in (ROOT / "papers").glob("*/train_*.py")}
    assert found == {*RUNS, "shapes.train_derivatives"}  # which has no sizes and leaves no run


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_program_draws_its_data_trains_measures_and_says_how_to_go_on_in_two_processes(name, tmp_path):
    short, folder, said = RUNS[name]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file", TWO,
         "-m", f"papers.{name}", *short],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(re.findall(rf"^{said}$", done.stdout, re.MULTILINE)) == 1, done.stdout
    assert re.search(
        rf"the model is in runs/{folder}[,;] .*the same command with trainer\.max_steps=6 trains", done.stderr
    )
    record = json.loads((tmp_path / "runs" / folder / "run.json").read_text())
    assert record["processes"] == 2 and len(record["data"]["splits"]["train"]["sha256"]) == 64
    assert "trainer.max_steps=3" in (tmp_path / "runs" / folder / "README.md").read_text()


@pytest.mark.parametrize("name", RUNS)
def test_a_program_ends_with_one_sentence_and_leaves_nothing(name, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = ROOT / "papers" / f"{name.replace('.', '/')}.py"
    said = program(path, "trainer.max_step=3").refusal()
    assert said.startswith(f"{path.name}: error: ")
    assert "trainer.max_step: unknown argument; did you mean trainer.max_steps?" in said
    assert not (tmp_path / "runs").exists()


# Program, its arguments, and what it says of them; BAD is a file that none of them can read.
REFUSED = [
    *((name, ["steps=3"], "steps=3: write SECTION.KEY=VALUE with a section of data, model, trainer") for name in RUNS),
    ("lexinvariant.train_characters", ["--corpus=BAD"], "byte 0xc3 0xaf is outside the vocabulary of printable ASCII"),
    ("lexinvariant.train_characters", ["--corpus=nowhere"], "nowhere: no such file or folder; on the Hub"),
    ("lexinvariant.train_characters", ["model.d_model=many"], "model.d_model: expected int, got str (value: 'many')"),
    ("lexinvariant.train_characters", ["data.lenght=3"], "data has no lenght; did you mean data.length? use some of"),
    ("lexinvariant.train_characters", ["test.draws=0"], "test.draws=0: how many embeddings are drawn"),
    ("lexinvariant.train_characters", ["model.d_model=["], "model.d_model=[: must be SECTION.KEY=VALUE with a YAML"),
    ("renamer.train_blocks", ["--blocks=BAD"], "bad.tsv, line 2: cycles='many' is no number"),
    ("renamer.train_blocks", ["--blocks=nowhere"], "nowhere: no blocks there; give a table"),
    ("renamer.train_blocks", ["--blocks=no/where"], "Couldn't reach 'no/where' on the Hub"),
    ("renamer.train_blocks", ["model.d_model=many"], "model.d_model: expected int, got str"),
    ("identity.train_templates", ["--task=nowhere"], "task='nowhere': neither a file nor one of"),
    ("identity.train_templates", ["data.rows=0"], "rows=0: aba-abb needs at least 1"),
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), REFUSED)
def test_what_cannot_be_used_is_refused_in_one_sentence(name, arguments, sentence, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.tsv").write_text("text\tcycles\nmov %rax, %rbx\tmany\n" + "naïve " * 1000)
    given = [argument.replace("BAD", "bad.tsv") for argument in arguments]
    assert sentence in program(ROOT / "papers" / f"{name.replace('.', '/')}.py", *given).refusal()


def writes_characters(folder):
    [answer] = pipeline("text-generation", model=str(folder))("The quick ", max_new_tokens=4, do_sample=False)
    return answer["generated_text"].startswith("The quick ") and len(answer["generated_text"]) == 14


def predicts_the_same_of_renamed_blocks(folder):
    cycles = pipeline("text-classification", model=str(folder))
    [first], [second] = (cycles(block) for block in ("movq (%rax), %rbx;decl %ebx", "movq (%rsi), %r8;decl %r8d"))
    return first["score"] == second["score"] and cycles.model.config.regression_loss == "mape"


def has_scalars(folder):
    return any("identity" in name for name in load_file(folder / "model.safetensors"))


SMALL = ["trainer.max_steps=4", "trainer.save_steps=2", "trainer.use_cpu=true"]
INTERVAL = r"(\S+)(?: %)?, 95 % interval (\S+) to (\S+?)(?: %)?"
# Program, its arguments, the lines that it prints at the end, and what holds of the folder of its model.
TINY = [
    (
        "lexinvariant.train_characters",
        ["--corpus=corpus.txt", "data.length=24", "data.max_characters=10000", "model.d_model=16", "test.draws=2",
         "model.decoder_layers=1", "model.d_ff=32", "model.num_attention_heads=2", "test.rows=20", *SMALL],
        [rf"characters {part}: perplexity {INTERVAL}; by counting \S+" for part in ("1 to 8", "9 to 16", "17 to 24")],
        writes_characters,
    ),
    (
        "renamer.train_blocks", ["model.d_model=16", "model.d_ff=32", "trainer.eval_steps=2", *SMALL],
        [*(rf"30 test blocks, registers {names}: MAPE {INTERVAL}" for names in ("as they are", "renamed")),
         r"the best guess that is the same for all: MAPE \d+\.\d\d %"],
        predicts_the_same_of_renamed_blocks,
    ),
    *((
        "identity.train_templates", [*options, "data.rows=16", "model.n_embd=16", *SMALL],
        [r"template diversity \S+", rf"16 training rows: {error} {INTERVAL}",
         rf"1,000 test rows with unseen symbols: {error} {INTERVAL}"],
        left,
    ) for options, error, left in (
        ([f"--task={ROOT / 'papers/identity/first_in_majority.yaml'}"], "squared error", has_scalars),
        (["--task=copy", "--vanilla"], "tokens wrong", lambda folder: not has_scalars(folder)),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "lines", "left"), TINY)
def test_a_program_prints_measures_leaves_a_model_and_prints_them_again_without_training(
    name, arguments, lines, left, program, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("The quick brown fox jumps over the lazy dog. " * 200)
    first, again = (program(ROOT / "papers" / f"{name.replace('.', '/')}.py", *arguments) for _ in range(2))
    assert first.code == 0, first.err
    printed = first.out.splitlines()[-len(lines) :]
    found = [re.fullmatch(pattern, line).groups() for pattern, line in zip(lines, printed, strict=True)]
    for middle, low, high in (map(float, numbers) for numbers in found if numbers):
        assert 0 <= low <= middle <= high
    assert name != "renamer.train_blocks" or found[0] == found[1]
    assert left(tmp_path / "runs" / RUNS[name][1])
    assert again.out.splitlines()[-len(lines) :] == printed
    assert "train_runtime" in first.out and "train_runtime" not in again.out


@pytest.mark.slow
def test_the_program_without_a_run_counts_right_answers(program):
    done = program(ROOT / "papers" / "shapes" / "train_derivatives.py", "--steps", "10", "--embedding", "canonical")
    assert done.code == 0, done.err
    for names in (4, 8):
        assert re.search(rf"^{names} names: \d+ of 500 right, 95 % interval \S+ to \S+$", done.out, re.MULTILINE)
