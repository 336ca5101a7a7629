"""`symbinv info`: what is installed, and what is in a checkpoint."""

import json
import shutil

import pytest
from transformers import AutoConfig

import hf_symbinv
from hf_symbinv.cli.info import FIELDS
from hf_symbinv.evaluation import CheckpointError, bundled_checkpoints
from hf_symbinv.training import recipe_names


def test_the_installation_is_described(symbinv):
    content = json.loads(symbinv("info", "--json").out)
    assert content["hf_symbinv"] == hf_symbinv.__version__
    assert content["recipes"] == recipe_names()
    assert {"torch", "transformers", "spottl"} <= set(content["packages"])
    lines = symbinv("info").out.splitlines()
    assert lines[0].split() == ["hf_symbinv", hf_symbinv.__version__]


def test_the_installation_names_the_folders_that_from_pretrained_takes(symbinv):
    named = json.loads(symbinv("info", "--json").out)["checkpoints"]
    assert list(named) == list(bundled_checkpoints())
    for name, folder in named.items():
        assert AutoConfig.from_pretrained(folder).model_type == "symbol_invariant"
        assert hf_symbinv.checkpoint(name) == folder
    shown = symbinv("info").out.splitlines()[-len(named) :]
    assert [line.removeprefix("checkpoints").split() for line in shown] == [list(pair) for pair in named.items()]


def test_a_checkpoint_that_does_not_come_with_the_package_has_no_folder():
    with pytest.raises(
        CheckpointError, match="'ltl-large': no checkpoint of this name comes with the package; use one"
    ):
        hf_symbinv.checkpoint("ltl-large")


def test_a_checkpoint_is_described(symbinv, checkpoint):
    result = symbinv("info", checkpoint, "--json")
    content = json.loads(result.out)
    config = json.loads((checkpoint / "config.json").read_text())
    assert result.code == 0 and content["parameters"] > 0 and content["license"] == "not stated"
    assert all(content[field] == config[field] for field in FIELDS)


@pytest.fixture
def recorded(checkpoint, tmp_path):
    """A checkpoint with a card and the record of its training."""
    folder = shutil.copytree(checkpoint, tmp_path / "recorded")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\nlicense: none of this\n")
    record = {
        "command": "symbinv train ltl-small",
        "seconds": 12.5,
        "results": {"train_loss": 0.5, "test_count": 1000, "test_accuracy": 0.75, "test_accuracy_interval": [0.7, 0.8]},
    }
    (folder / "run.json").write_text(json.dumps(record))
    return folder


def test_license_and_training_are_shown_where_they_are_stated(symbinv, recorded):
    shown = dict(line.split("  ", 1) for line in symbinv("info", recorded).out.splitlines())
    shown = {name.strip(): value.strip() for name, value in shown.items()}
    assert shown["license"] == "apache-2.0" and shown["trained by"] == "symbinv train ltl-small"
    assert shown["results"] == "test_count 1,000, test_accuracy 0.75"
    content = json.loads(symbinv("info", recorded, "--json").out)
    assert content["training seconds"] == 12.5 and content["results"]["test_accuracy_interval"] == [0.7, 0.8]
