"""The program that differentiates terms of unknown functions: it runs."""

import re
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "papers" / "shapes" / "train_derivatives.py"


@pytest.mark.slow
def test_the_program_trains_and_counts_right_answers(program):
    done = program(EXAMPLE, "--steps", "10", "--embedding", "canonical")
    assert done.code == 0, done.err
    for names in (4, 8):
        found = re.search(rf"^{names} names: \d+ of 500 right, 95 % interval \S+ to \S+$", done.out, re.MULTILINE)
        assert found, done.out
