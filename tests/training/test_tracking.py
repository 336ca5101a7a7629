"""What TensorBoard and trackio keep of a run, offline."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from .runs import launch

TRACKERS = "trainer.report_to=[tensorboard, wandb, trackio]"
PROJECT, RUN = "trainer.project=tiny", "trainer.run_name=first"


@pytest.fixture(scope="module")
def tracked(data, tmp_path_factory) -> Path:
    """The folder of a run that these followed, and Weights & Biases too."""
    folder = tmp_path_factory.mktemp("tracked")
    local = {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "TRACKIO_DIR": str(folder / "trackio")}
    launch((sys.executable,), data, folder / "run", TRACKERS, PROJECT, RUN, environment=local)
    assert list(folder.glob("wandb/offline-run-*/run-*.wandb"))
    return folder / "run"


def losses(output: Path) -> list[float]:
    log = json.loads((output / "run.json").read_text())["log"]
    return [entry["loss"] for entry in log if "loss" in entry]


@pytest.mark.slow
def test_tensorboard_has_the_losses(tracked):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (events,) = tracked.glob("**/events.out.tfevents.*")
    kept = EventAccumulator(str(events)).Reload().Scalars("train/loss")
    assert [one.step for one in kept] == [1, 2, 3, 4, 5, 6]
    assert [one.value for one in kept] == pytest.approx(losses(tracked), rel=1e-6)  # float32


@pytest.mark.slow
def test_trackio_has_the_losses(tracked):
    trackio = os.path.join(sysconfig.get_path("scripts"), "trackio")
    asked = ["get", "metric", "--project", "tiny", "--run", "first", "--metric", "train/loss", "--json"]
    environment = {**os.environ, "TRACKIO_DIR": str(tracked.parent / "trackio")}
    result = subprocess.run([trackio, *asked], capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    assert [one["value"] for one in json.loads(result.stdout)["values"]] == losses(tracked)
