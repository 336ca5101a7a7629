"""The files in examples/accelerate: read by accelerate itself, and those for processors run."""

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from .. import forks
from .runs import EXAMPLE, accelerate, assert_equal_up_to_rounding, command, launch, run, weights

FOLDER = EXAMPLE.parent / "accelerate"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
TWO = accelerate("--config_file", str(FOLDER / "cpu-2.yaml"))
FSDP = accelerate("--config_file", str(FOLDER / "fsdp.yaml"), "--num_processes", "2", "--mixed_precision", "no")
BATCHES = "trainer.per_device_train_batch_size={}"
SHARD = str(Path(__file__).parent / "shard_on_processors.py")


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
def test_two_processes_resume_to_the_same_weights_bit_for_bit(data, two, tmp_path):
    half(two, tmp_path / "resumed")
    run(data, tmp_path / "resumed", BATCHES.format(4), processes=2)
    assert_equal(tmp_path / "resumed", two)


@pytest.mark.slow
def test_two_processes_resume_in_a_later_epoch_to_the_same_weights_bit_for_bit(data, tmp_path):
    """Epochs of five steps."""
    longer = ("trainer.max_steps=9", "trainer.save_steps=7", "trainer.eval_strategy=no", "model.dropout=0.1")
    changes = (BATCHES.format(32), *longer)
    run(data, tmp_path / "straight", *changes, processes=2)
    half(tmp_path / "straight", tmp_path / "resumed", step=7)
    run(data, tmp_path / "resumed", *changes, processes=2)
    assert_equal(tmp_path / "resumed", tmp_path / "straight")


def half(whole, output, step=3):
    """What a run left that was stopped behind a checkpoint of this one."""
    output.mkdir()
    shutil.copy(whole / "recipe.json", output)
    shutil.copytree(whole / f"checkpoint-{step}", output / f"checkpoint-{step}")


def assert_equal(resumed, straight):
    found, expected = weights(resumed), weights(straight)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.fixture(scope="module")
def sharded(data, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("run") / "sharded"
    left = {"LEAVE_ENVIRONMENT": str(output.with_name("environment.json"))}
    launch((*FSDP, SHARD), data, output, BATCHES.format(4), environment=left)
    return output


@pytest.mark.slow
def test_sharded_weights_train_as_those_of_one_process(finished, sharded):
    assert json.loads((sharded / "run.json").read_text())["processes"] == 2
    parts = {path.name for path in (sharded / "checkpoint-6" / "pytorch_model_fsdp_0").glob("*.distcp")}
    assert parts == {"__0_0.distcp", "__1_0.distcp"}  # of each process its own
    assert_equal_up_to_rounding(weights(sharded), weights(finished))


@pytest.mark.slow
def test_a_sharded_run_leaves_whole_models_with_their_own_code(finished, sharded):
    for folder in (sharded, sharded / "checkpoint-6"):
        assert {path.name for path in finished.glob("*.py")} == {path.name for path in folder.glob("*.py")}
        assert json.loads((folder / "config.json").read_text()) == json.loads((finished / "config.json").read_text())
        assert weights(folder).keys() == weights(finished).keys()


@pytest.mark.slow
def test_a_sharded_run_resumes_to_the_same_weights_bit_for_bit(data, sharded, tmp_path):
    half(sharded, tmp_path / "resumed")
    words = [SHARD, *command(data, tmp_path / "resumed", BATCHES.format(4))]
    told = json.loads(sharded.with_name("environment.json").read_text())
    done = forks.run(words, processes=2, environment={**os.environ, **told})
    assert done.returncode == 0, done.stderr[-3000:]
    assert_equal(tmp_path / "resumed", sharded)


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("deepspeed") is None, reason="no extra has deepspeed, which builds C++ as it is installed"
)
def test_deepspeed_trains_as_one_process_and_saves_safetensors(data, finished, tmp_path):
    output = tmp_path / "zero"
    zero = accelerate(
        "--config_file", str(FOLDER / "deepspeed-zero2.yaml"), "--num_processes", "2", "--mixed_precision", "no"
    )
    where = {"DS_ACCELERATOR": "cpu"}
    launch(zero, data, output, BATCHES.format(4), environment=where)
    assert json.loads((output / "run.json").read_text())["processes"] == 2
    assert (output / "checkpoint-6" / "zero_to_fp32.py").is_file()  # which DeepSpeed leaves
    assert_equal_up_to_rounding(weights(output), weights(finished))
    assert_equal_up_to_rounding(weights(output / "checkpoint-6"), weights(output))
