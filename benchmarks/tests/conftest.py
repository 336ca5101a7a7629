"""The benchmarks are scripts that import each other by file name; here they are found the same way."""

from pathlib import Path

import pytest

# The settings and fixtures of every test.
from tests.conftest import environment, generator_of_hypothesis, looked_at, program  # noqa: F401

FOLDER = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    """The folder of the benchmarks."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return FOLDER
