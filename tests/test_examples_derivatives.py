"""The example that differentiates terms of unknown functions: its derivatives are right, and it runs."""

import random
import re
import runpy
from pathlib import Path

import pytest
import torch

EXAMPLE = Path(__file__).parent.parent / "examples" / "train_derivatives.py"
# Function → itself and its derivative.
FUNCTIONS = {"f": (torch.sin, torch.cos), "g": (torch.exp, torch.exp)}


def value(tokens, variables):
    """What the prefix text of `tokens`, which it takes away, is worth."""
    token = tokens.pop(0)
    if token == "@":
        function = tokens.pop(0)
        return FUNCTIONS[function[0]][function.endswith("'")](value(tokens, variables))
    if token in "+*":
        one, two = value(tokens, variables), value(tokens, variables)
        return one + two if token == "+" else one * two
    return variables[token] if token in variables else torch.tensor(float(token), dtype=torch.float64)


def test_derivatives_are_those_of_autograd():
    example, rng = runpy.run_path(str(EXAMPLE)), random.Random(0)
    for _ in range(100):
        term = example["term"](rng, rng.randint(0, 4), "xy", "fg")
        variables = {name: torch.rand((), dtype=torch.float64, requires_grad=True) for name in "xy"}
        result = value(example["text"](term).split(), variables)
        for name in "xy":
            (expected,) = torch.autograd.grad(
                result, variables[name], retain_graph=True, allow_unused=True, materialize_grads=True
            )
            found = value(example["text"](example["derivative"](term, name)).split(), variables)
            torch.testing.assert_close(found, expected)


@pytest.mark.slow
def test_the_program_trains_and_counts_right_answers(program):
    done = program(EXAMPLE, "--steps", "10", "--embedding", "canonical")
    assert done.code == 0, done.err
    for names in (4, 8):
        found = re.search(rf"^{names} names: \d+ of 500 right, 95 % interval \S+ to \S+$", done.out, re.MULTILINE)
        assert found, done.out
