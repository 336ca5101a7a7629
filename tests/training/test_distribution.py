"""The files in examples/accelerate: read by accelerate itself, and those for processors run."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from .runs import EXAMPLE, accelerate, assert_equal_up_to_rounding, assert_same_weights, launch, run, weights

FOLDER = EXAMPLE.parent / "accelerate"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
TWO = accelerate("--config_file", str(FOLDER / "cpu-2.yaml"))
BATCHES = "trainer.per_device_train_batch_size={}"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_accelerate_reads_a_file_and_would_write_it_again(path, tmp_path):
    config = load_config_from_file(str(path))
    config.to_yaml_file(str(tmp_path / "again.yaml"))
    assert (tmp_path / "again.yaml").read_text() == path.read_text()


def test_every_file_is_told_of_and_no_other():
    told = (FOLDER / "README.md").read_text()
    assert CONFIGS
    for path in CONFIGS:
        processes = yaml.safe_load(path.read_text())["num_processes"]
        assert f"| `{path.name}` | {processes} |" in told


@pytest.fixture(scope="module")
def two(data, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("run") / "two"
    launch(TWO, data, output, BATCHES.format(4))
    return output


@pytest.mark.slow
def test_two_processes_are_two_and_train_as_one_with_the_same_global_batch(finished, two):
    record = json.loads((two / "run.json").read_text())
    assert record["processes"] == 2
    assert record["results"]["test_count"] == 10
    assert record["data"] == json.loads((finished / "run.json").read_text())["data"]
    assert_equal_up_to_rounding(weights(two), weights(finished))


@pytest.mark.slow
def test_two_processes_resume_in_a_later_epoch_to_the_same_weights_bit_for_bit(data, tmp_path):
    """Epochs of five steps."""
    longer = ("trainer.max_steps=9", "trainer.save_steps=7", "trainer.eval_strategy=no", "model.dropout=0.1")
    changes = (BATCHES.format(32), *longer)
    run(data, tmp_path / "straight", *changes, processes=2)
    half(tmp_path / "straight", tmp_path / "resumed", step=7)
    run(data, tmp_path / "resumed", *changes, processes=2)
    assert_same_weights(tmp_path / "resumed", tmp_path / "straight")


def half(whole, output, step=3):
    """What a run left that was stopped behind a checkpoint of this one."""
    output.mkdir()
    shutil.copy(whole / "recipe.json", output)
    shutil.copytree(whole / f"checkpoint-{step}", output / f"checkpoint-{step}")
