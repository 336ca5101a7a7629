"""The files in examples/accelerate: read by accelerate itself, and those for processors run."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from .runs import EXAMPLE, accelerate, assert_equal_up_to_rounding, run, weights

FOLDER = EXAMPLE.parent / "accelerate"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
TWO = accelerate("--config_file", str(FOLDER / "cpu-2.yaml"))
FSDP = accelerate("--config_file", str(FOLDER / "fsdp.yaml"), "--num_processes", "2", "--mixed_precision", "no")
BATCHES = "trainer.per_device_train_batch_size={}"
SHARDED = (*FSDP, str(Path(__file__).parent / "shard_on_processors.py"))


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
    run(data, output, "trainer.per_device_train_batch_size=4", launcher=TWO)
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
    resume(data, two, tmp_path / "resumed", TWO)


@pytest.mark.slow
@pytest.mark.parametrize("streaming", ["false", "true"])
def test_two_processes_resume_in_a_later_epoch_to_the_same_weights_bit_for_bit(data, tmp_path, streaming):
    """Epochs of five steps, and of the rows of an epoch two and a half buffers."""
    longer = ("trainer.max_steps=9", "trainer.save_steps=7", "trainer.eval_strategy=no", "model.dropout=0.1")
    changes = (BATCHES.format(32), *longer, f"data.streaming={streaming}", "data.buffer_size=128")
    run(data, tmp_path / "straight", *changes, launcher=TWO)
    resume(data, tmp_path / "straight", tmp_path / "resumed", TWO, *changes, step=7)


def resume(data, run_to_the_end, output, launcher, *changes, step=3):
    """Goes on from a checkpoint of a run, and finds the weights that the run found."""
    output.mkdir()
    shutil.copy(run_to_the_end / "recipe.json", output)
    shutil.copytree(run_to_the_end / f"checkpoint-{step}", output / f"checkpoint-{step}")
    run(data, output, *(changes or (BATCHES.format(4),)), launcher=launcher)
    resumed, straight = weights(output), weights(run_to_the_end)
    assert resumed.keys() == straight.keys()
    assert all(torch.equal(resumed[name], straight[name]) for name in straight)


@pytest.fixture(scope="module")
def sharded(data, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("run") / "sharded"
    run(data, output, "trainer.per_device_train_batch_size=4", launcher=SHARDED)
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
    resume(data, sharded, tmp_path / "resumed", SHARDED)


@pytest.mark.slow
def test_without_accelerators_accelerate_itself_shards_nothing(data, two, tmp_path):
    """When this fails, shard_on_processors.py is not needed any more."""
    output = tmp_path / "whole"
    run(data, output, "trainer.per_device_train_batch_size=4", launcher=FSDP)
    assert not list(output.rglob("*.distcp"))
    assert all(torch.equal(tensor, weights(two)[name]) for name, tensor in weights(output).items())


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
    run(data, output, "trainer.per_device_train_batch_size=4", launcher=zero, environment=where)
    assert json.loads((output / "run.json").read_text())["processes"] == 2
    assert (output / "checkpoint-6" / "zero_to_fp32.py").is_file()  # which DeepSpeed leaves
    assert_equal_up_to_rounding(weights(output), weights(finished))
    assert_equal_up_to_rounding(weights(output / "checkpoint-6"), weights(output))
