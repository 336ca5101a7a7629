"""Small programs whose variables have any names, and questions on them.

c = 1 ; a = 1 ; b = c + c ; return <mask> + b        which variable was forgotten?
a = b + c ; c = a + a ;                              which reads come before any assignment?
"""

from __future__ import annotations

import random
from collections.abc import Sequence

BASE_TOKENS = ("<s>", "<pad>", "</s>", "<mask>", "=", "+", ";", "1", "return")
# Classes of the variables of `assignments`, in the order of their numbers.
CLASSES = ("assigned, read later", "assigned, not read later", "read, assigned before", "read, not assigned before")


def forgotten(generator: random.Random, names: Sequence[str], fewest: int, most: int) -> tuple[str, str]:
    """A program in which every variable is used, without one use of a variable that is used once; and that variable.

    Args:
        generator: Draws it.
        names: Of variables.
        fewest, most: Variables of the program.
    """
    drawn, words = generator.sample(names, generator.randint(fewest, most)), list[str]()
    for place, name in enumerate(drawn):
        terms = generator.choices(drawn[:place], k=2) if place > 1 else ["1"]
        words += [name, "=", *" + ".join(terms).split(), ";"]
    words += ["return", *" + ".join(name for name in drawn if words.count(name) == 1).split()]
    variable = generator.choice([name for name in drawn if words.count(name) == 2])
    words[words.index(variable, words.index(variable) + 1)] = "<mask>"  # the first place is its definition
    return " ".join(words), variable


def assignments(
    generator: random.Random, names: Sequence[str], fewest: int, most: int, statements: int
) -> tuple[str, list[int]]:
    """A program of assignments, and the place of each word's class in `CLASSES`, -100 for what is no variable.

    Args:
        generator: Draws it.
        names: Of variables.
        fewest, most: Variables of the program, all of which occur.
        statements: So many assignments, each with three places for variables.
    """
    drawn = generator.sample(names, generator.randint(fewest, most))
    places = drawn + generator.choices(drawn, k=3 * statements - len(drawn))
    generator.shuffle(places)
    words, classes = list[str](), list[int]()
    for start in range(0, len(places), 3):
        target, *read = places[start : start + 3]
        words += [target, "=", *" + ".join(read).split(), ";"]
        reads = [2 if name in places[0:start:3] else 3 for name in read]
        later = {name for place, name in enumerate(places) if place > start + 2 and place % 3}
        classes += [0 if target in later else 1, -100, reads[0], -100, reads[1], -100]
    return " ".join(words), classes
