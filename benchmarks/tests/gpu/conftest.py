"""The command for a GPU is a folder of scripts that import each other by file name; here they are found so too."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "gpu"


@pytest.fixture(autouse=True)
def gpu_scripts(monkeypatch, scripts):
    """The folder of the command, whose `run` is another than that of the folder above."""
    monkeypatch.syspath_prepend(str(FOLDER))
    other = sys.modules.pop("run", None)
    yield FOLDER
    sys.modules.pop("run", None)
    if other is not None:
        sys.modules["run"] = other
