"""Derivatives of terms with unknown functions are those of autograd, and questions have the names that they must."""

import random

import pytest
import torch

from papers.shapes.named_functions import BASE_TOKENS, derivative, question, term, text

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
    rng = random.Random(0)
    for _ in range(100):
        drawn = term(rng, rng.randint(0, 4), "xy", "fg")
        variables = {name: torch.rand((), dtype=torch.float64, requires_grad=True) for name in "xy"}
        result = value(text(drawn).split(), variables)
        for name in "xy":
            (expected,) = torch.autograd.grad(
                result, variables[name], retain_graph=True, allow_unused=True, materialize_grads=True
            )
            found = value(text(derivative(drawn, name)).split(), variables)
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(("kinds", "fewest"), [(2, 1), (4, 5)])
def test_a_question_has_as_many_names_as_it_must_and_asks_for_a_variable_of_its_term(kinds, fewest):
    rng = random.Random(0)
    for _ in range(50):
        asked, answer = question(rng, "abcdefgh", size=4, kinds=kinds, fewest=fewest)
        operator, by, *words = asked.split()
        names = {word[0] for word in words} - {*BASE_TOKENS}
        assert operator == "D" and by in words and fewest <= len(names) <= 2 * kinds
        assert {word[0] for word in answer.split()} <= {*names, *BASE_TOKENS}
