"""Settings for every test: offline, one thread, and the same hypothesis examples on every machine."""

import gc
import os
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

# Before anything imports transformers, datasets or torch, which read these once.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_EVALUATE_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

settings.register_profile("repository", derandomize=True, deadline=None, database=None)
settings.load_profile("repository")


@pytest.fixture(scope="session")
def generator_of_hypothesis():
    """Hypothesis makes its generator in its first test, and asks the collector of garbage who holds it."""

    @settings(max_examples=1)
    @given(st.none())
    def first(_):
        pass

    first()


@pytest.fixture(autouse=True, scope="module")
def looked_at(generator_of_hypothesis):
    """What is there before the tests of a file is not looked at by each collection of garbage during them.

    Trainings collect, and a process that holds thousands of tests takes seconds for it.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def environment():
    """What a test, or a program that it runs in this process, sets in the environment is gone for the next test."""
    before = dict(os.environ)
    yield
    for name in {*before, *os.environ} - {"PYTEST_CURRENT_TEST"}:
        if name not in before:
            del os.environ[name]
        elif os.environ.get(name) != before[name]:
            os.environ[name] = before[name]


class Printed(NamedTuple):
    code: int
    out: str
    err: str

    def refusal(self) -> str:
        """The sentence that a program ended with, which is all that it said beside its usage."""
        assert self.code == 2 and "Traceback" not in self.err, self.err
        assert "usage: " in self.err.splitlines()[0], self.err
        return self.err.splitlines()[-1]


@pytest.fixture
def program(capsys, monkeypatch):
    """`program(path, *arguments)`: what `python PATH ARGUMENT...` does and prints, in the process of the tests.

    It saves the seconds in which a process of its own imports torch.
    """

    def run(path: str | Path, *arguments: object) -> Printed:
        monkeypatch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        monkeypatch.syspath_prepend(Path(path).parent)
        capsys.readouterr()
        code = 0
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return Printed(code, *capsys.readouterr())

    return run
