"""A folder with a small one of everything that commands read, and what they leave."""

import contextlib
import shutil
from pathlib import Path

from hf_symbinv.cli import main

RECIPE = """
task: copy
data: {num_symbols: 2, min_size: 2, max_size: 5, rows: 40, seed: 0}
model: {num_symbols: 2, d_model: 8, num_attention_heads: 2, encoder_layers: 1, decoder_layers: 1, d_ff: 8}
evaluation_rows: 4
test_rows: 4
trainer: {max_steps: 6, save_steps: 2, per_device_train_batch_size: 8, use_cpu: true, report_to: none, seed: 1}
"""
SIZES = ["--task", "copy", "--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "40", "--workers", "1"]
# Training takes a second.
SLOW = "train"


def run(command):
    """The exit code of a command."""
    try:
        return main(command)
    except SystemExit as exit_:
        return exit_.code or 0


def made(command, folder):
    """What a command left, but for what differs from run to run."""
    if command[0] == SLOW or command[:2] == ["data", "--task"]:
        output = folder / command[command.index("--output") + 1]
        found = output.glob("*.safetensors" if command[0] == SLOW else "data/*")
        return {path.name: path.read_bytes() for path in found if path.is_file()}
    paths = [path for name in ("made", "made.svg") for path in (folder / name, *(folder / name).rglob("*"))]
    return {str(path): path.read_bytes() for path in paths if path.is_file() and not path.name.startswith(".")}


def make_home(folder):
    """Puts a whole `rows`, `run`, `unfinished` and `measured`, and what is read beside them."""
    (folder / "recipe.yaml").write_text(RECIPE)
    with contextlib.chdir(folder):
        assert run(["data", *SIZES, "--output", "rows"]) == 0
        assert run(["train", "recipe.yaml", "--data", "rows", "--output", "run"]) == 0
        shutil.copytree("run", "unfinished", ignore=shutil.ignore_patterns("checkpoint-6", "run.json", "*.safetensors"))
        for name in ("checkpoint-2", "checkpoint-4"):
            shutil.copy(f"run/{name}/model.safetensors", f"unfinished/{name}")
            shutil.rmtree(f"run/{name}")
        Path("measured").mkdir()
        measure = ["evaluate", "run", "--data", "rows", "--rows", "4", "--alpha-covariance", "2", "--output"]
        assert run([*measure, "measured/tiny.json"]) == 0
