"""Runs of examples/train_ltl.py by a tiny recipe, and what they leave behind."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

from .. import forks

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_ltl.py"
RECIPE = """
task: ltl
data: {num_symbols: 3, max_size: 6, rows: 400, seed: 0}
model: {preset: ltl, num_symbols: 3, d_model: 16, encoder_layers: 1, decoder_layers: 1, d_ff: 24, dropout: 0.0}
evaluation_rows: 10
test_rows: 10
trainer:
  max_steps: 6
  per_device_train_batch_size: 8
  learning_rate: 1.0e-2
  save_steps: 3
  logging_steps: 1
  eval_strategy: steps
  eval_steps: 3
  generation_max_length: 12
  report_to: tensorboard
  use_cpu: true
"""


def accelerate(*arguments: str) -> tuple[str, ...]:
    """`accelerate launch` with these arguments; several processes take any free port."""
    return (sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", *arguments)


def command(data: Path, output: Path, *overrides: str) -> list[str]:
    """The words of the example and its arguments."""
    recipe = output.parent / "recipe.yaml"
    recipe.write_text(RECIPE)
    return [str(EXAMPLE), "--recipe", str(recipe), "--data", str(data), "--output", str(output), *overrides]


def launch(
    launcher: tuple[str, ...], data: Path, output: Path, *overrides: str, environment: Mapping[str, str] | None = None
) -> None:
    """A run that a user starts: new interpreters, which spend most of their time on importing."""
    result = subprocess.run(
        [*launcher, *command(data, output, *overrides)], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]


def run(data: Path, output: Path, *overrides: str, processes: int = 1) -> None:
    """The same run in as many forks."""
    done = forks.run(command(data, output, *overrides), processes=processes)
    assert done.returncode == 0, done.stderr[-3000:]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def assert_same_weights(some: Path, other: Path) -> None:
    """Bit for bit."""
    found, expected = weights(some), weights(other)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def assert_equal_up_to_rounding(some: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert some.keys() == other.keys()
    for name in other:
        # A key bias without rotation shifts all scores of a query alike, so its gradient is rounding noise, which Adam
        # scales up to full steps.
        if not (name.startswith("model.encoder") and name.endswith("k_proj.bias")):
            torch.testing.assert_close(some[name], other[name], rtol=1e-3, atol=1e-4, msg=name)


# Of a run of `fit`, in which the smallest model there is learns nothing of use.
FITTED = {"max_steps": 6, "per_device_train_batch_size": 2, "save_steps": 2, "use_cpu": True, "report_to": "none",
          "disable_tqdm": True}  # fmt: skip


def small_model(**fields: int) -> GPT2LMHeadModel:
    """The same each time."""
    set_seed(0)
    sizes = {"vocab_size": 8, "n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 8, **fields}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
