"""The benchmarks are scripts that import each other by file name; here they are found the same way."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    """The folder of the benchmarks."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return FOLDER
