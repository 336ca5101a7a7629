"""Terms in which functions have names only, and their derivatives: f is a symbol, and f' is another view of it.

    D x @ g() @ f() x   →   * @ g' @ f() x @ f' x

The left asks for the derivative of g(f(x)) by x. Variables, functions and derivatives of functions are the views "",
"()" and "'" of symbols.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

BASE_TOKENS = ("<s>", "<pad>", "</s>", "D", "+", "*", "@", "0", "1")
VIEWS = ("", "()", "'")

# (name,), (operator, left, right) or ("@", function, argument).
Term = tuple[Any, ...]


def term(generator: random.Random, size: int, variables: Sequence[str], functions: Sequence[str]) -> Term:
    """A random term with `size` operations; functions are names without their brackets."""
    if size == 0:
        return (generator.choice(variables),)
    if generator.random() < 0.5:
        return ("@", generator.choice(functions) + "()", term(generator, size - 1, variables, functions))
    left = generator.randrange(size)
    parts = (term(generator, part, variables, functions) for part in (left, size - 1 - left))
    return (generator.choice("+*"), *parts)


def derivative(t: Term, by: str) -> Term:
    """The derivative of a term, with zeros and ones left out where they do nothing."""
    if len(t) == 1:
        return ("1",) if t == (by,) else ("0",)
    if t[0] == "@":
        return product(("@", t[1].replace("()", "'"), t[2]), derivative(t[2], by))
    one, two = (derivative(part, by) for part in t[1:])
    one, two = (product(one, t[2]), product(t[1], two)) if t[0] == "*" else (one, two)
    return two if one == ("0",) else one if two == ("0",) else ("+", one, two)


def product(one: Term, two: Term) -> Term:
    """The product of two terms, without zeros and ones."""
    return ("0",) if ("0",) in (one, two) else two if one == ("1",) else one if two == ("1",) else ("*", one, two)


def text(t: Term | str) -> str:
    """A term in prefix notation."""
    return t if isinstance(t, str) else " ".join(map(text, t))


def question(generator: random.Random, names: Sequence[str], size: int, kinds: int, fewest: int = 1) -> tuple[str, str]:
    """A random term with the variable by which to derive it, and its derivative.

    Args:
        generator: Draws it.
        names: Of variables and functions.
        size: Operations of the term, at most.
        kinds: Variables, and functions, that it is drawn from.
        fewest: Names that occur in it, at least.
    """
    while True:
        drawn = generator.sample(names, 2 * kinds)
        variables, functions = drawn[:kinds], drawn[kinds:]
        t = term(generator, generator.randint(1, size), variables, functions)
        words = text(t).split()
        if len({word.removesuffix("()") for word in words}.intersection(drawn)) >= fewest:
            by = generator.choice([word for word in words if word in variables])
            return f"D {by} {text(t)}", text(derivative(t, by))
