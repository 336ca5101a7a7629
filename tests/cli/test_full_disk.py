"""A run that finds no room for a checkpoint says so in one sentence, and goes on when there is some again."""

import resource
from contextlib import contextmanager

import pytest
from safetensors.numpy import load_file

RECIPE = """
task: copy
data: {num_symbols: 2, min_size: 2, max_size: 5, rows: 40, seed: 0}
model: {num_symbols: 2, d_model: 8, num_attention_heads: 2, encoder_layers: 1, decoder_layers: 1, d_ff: 8}
evaluation_rows: 4
test_rows: 4
trainer:
  {max_steps: 2, save_steps: 2, per_device_train_batch_size: 8, use_cpu: true, report_to: none, seed: 1,
   lr_scheduler_type: constant}
"""


@contextmanager
def room(size):
    """No file may have more bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def train(symbinv, tmp_path, monkeypatch):
    """`train(output, *overrides)`: trains by the recipe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    sizes = ["--task", "copy", "--num-symbols", 2, "--min-size", 2, "--max-size", 5, "--rows", 40, "--workers", 1]
    assert symbinv("data", *sizes, "--output", "rows").code == 0
    return lambda output, *overrides: symbinv("train", "recipe.yaml", "--data", "rows", "--output", output, *overrides)


# The sizes at which the weights, then the state of the optimizer, find no room.
@pytest.mark.parametrize("size", [4_000, 20_000])
def test_the_last_checkpoint_stays_and_the_run_goes_on_from_it(train, tmp_path, size):
    longer = "trainer.max_steps=4"
    for output in ("disturbed", "undisturbed"):
        assert train(output).code == 0
    with room(size):
        refused = train("disturbed", longer)
    assert refused.code == 2
    assert refused.err.splitlines()[-1].endswith(": the disk is full; free some space, and repeat the command")
    again = train("disturbed", longer)
    assert again.code == 0 and "disturbed: goes on from step 2 of 4" in again.err
    assert train("undisturbed", longer).code == 0
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("disturbed", "undisturbed"))
    assert all((ours[name] == theirs[name]).all() for name in theirs)
