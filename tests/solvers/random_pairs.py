"""Random formulas and traces over few symbols, small enough for the slow checker."""

import random
from collections.abc import Iterator


def random_step(generator: random.Random) -> str:
    kind = generator.random()
    if kind < 0.15:
        return generator.choice("01111")
    if kind < 0.7:
        return generator.choice(["a", "!a", "b", "!b", "!!a"])
    return generator.choice("&|") + random_step(generator) + random_step(generator)


def random_trace(generator: random.Random) -> str:
    prefix = "".join(random_step(generator) + ";" for _ in range(generator.choice([0, 1, 1, 2, 3])))
    cycle = ";".join(random_step(generator) for _ in range(generator.choice([1, 1, 2, 3])))
    return f"{prefix}{{{cycle}}}"


def random_formula(generator: random.Random, size: int) -> str:
    if size == 1:
        return generator.choice("aaabbb01")
    if size == 2 or generator.random() < 0.4:
        return generator.choice("!XX") + random_formula(generator, size - 1)
    left = generator.randint(1, size - 2)
    operator = generator.choice("&|UUUU")
    return operator + random_formula(generator, left) + random_formula(generator, size - 1 - left)


def random_pairs(seed: int, count: int) -> Iterator[tuple[str, str]]:
    generator = random.Random(seed)
    for _ in range(count):
        yield random_formula(generator, generator.randint(1, 9)), random_trace(generator)
