"""The command for a GPU is a folder of scripts that import each other by file name; here they are found so too."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu"


@pytest.fixture(autouse=True)
def gpu_scripts(monkeypatch, scripts):
    """The folder of the command."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return FOLDER
