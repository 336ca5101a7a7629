"""Formulas as engineers write them, to train and to test a model for them: property patterns and their conjunctions.

    accelerate launch examples/ltl_patterns.py  # some minutes on one CPU core
    symbinv data --task examples/ltl_patterns.py:PATTERNS --num-symbols 8 --max-size 50 --rows 40000 --timeout 0.25 \\
        --output data/patterns
    symbinv train examples/ltl_patterns.yaml task=ltl-operators --data data/patterns --output runs/patterns
    symbinv data --task examples/ltl_patterns.py:HELD_OUT --num-symbols 8 --min-size 15 --max-size 50 --rows 2000 \\
        --timeout 2 --output data/held-out
    symbinv evaluate runs/patterns --data data/held-out --split train

The second and third command made the bundled model `ltl-patterns`, whose card has what the last one printed.

`PATTERNS` draws from 25 formulas: Dwyer, Avrunin and Corbett's absence, existence, universality, precedence and
response in their five scopes. `HELD_OUT` draws from all others of `hf_symbinv.answers.read_collection` that no renaming
makes one of these. A question is a conjunction of some over symbols that they share, so that they meet. In training a
proposition of a pattern may also become a small formula such as `!a & b`, and a third of the questions are random
formulas, half of them of the task `ltl` and half of `ltl-operators`.
"""

import os
import random
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from hf_symbinv.answers import read_collection
from hf_symbinv.logic import Formula, to_prefix
from hf_symbinv.tasks import LTL, LTL_OPERATORS, OperatorsTask

TRAINED = tuple(f"dwyer/{kind}." for kind in ("absence", "existence", "universality", "precedence", "response"))
# Our choices for training: the share of questions that are random formulas, and of propositions that are replaced.
RANDOM, REPLACED = 1 / 3, 0.25
LITERALS = 3  # at most, in the place of a proposition


@cache
def formulas(held_out: bool) -> tuple[Formula, ...]:
    """The formulas of the collection that training uses, or those that no renaming makes one of these."""
    found: dict[bool, dict[str, Formula]] = {False: {}, True: {}}
    for pattern in read_collection():
        formula = pattern.specification.conjuncts()[0]
        base = formula.to_base()
        names = {name: Formula.ap(f"p{place}") for place, name in enumerate(base.symbols())}
        found[not pattern.name.startswith(TRAINED)].setdefault(to_prefix(substituted(base, names)), formula)
    return tuple(formula for text, formula in found[held_out].items() if not held_out or text not in found[False])


def substituted(formula: Formula, substitutes: Mapping[str, Formula]) -> Formula:
    """The formula with other formulas in the places of its symbols."""
    if formula.name is not None:
        return substitutes[formula.name]
    return Formula(formula.operator, tuple(substituted(operand, substitutes) for operand in formula.operands))


def states(symbols: Sequence[str], generator: random.Random) -> Formula:
    """A conjunction or disjunction of literals, with up to `LITERALS` different symbols."""
    names = generator.sample(symbols, generator.randint(1, min(LITERALS, len(symbols))))
    first, *others = (~Formula.ap(name) if generator.random() < 0.5 else Formula.ap(name) for name in names)
    conjunctive = generator.random() < 0.5
    for literal in others:
        first = first & literal if conjunctive else first | literal
    return first


class PatternTask(OperatorsTask):
    """`ltl-operators` with questions as they are written in practice."""

    description = (
        "A question is a conjunction of property patterns of linear temporal logic over symbols that they share. Its "
        "witness is the accepting run of the formula's automaton, as Spot finds it."
    )

    def __init__(self, held_out: bool) -> None:
        super().__init__()
        self.held_out = held_out

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        generator = random.Random(seed)
        randoms = 0 if self.held_out else sum(generator.random() < RANDOM for _ in range(count))
        drawn = [self._conjunction(symbols, largest, generator) for _ in range(count - randoms)]
        texts = [to_prefix(formula) for formula in drawn if smallest <= formula.size <= largest]
        if randoms >= 2:
            texts += LTL.draw(symbols, smallest, largest, seed, randoms // 2)
            texts += LTL_OPERATORS.draw(symbols, smallest, largest, seed, randoms - randoms // 2)
        return texts

    def _conjunction(self, symbols: Sequence[str], largest: int, generator: random.Random) -> Formula:
        """A pattern, and others beside it until a size that is drawn is reached."""
        names = generator.sample(symbols, generator.randint(1, len(symbols)))
        goal, found = generator.randint(1, largest), self._pattern(names, generator)
        while found.size < goal:
            found = found & self._pattern(names, generator)
        return found

    def _pattern(self, symbols: Sequence[str], generator: random.Random) -> Formula:
        pattern = generator.choice(formulas(self.held_out))
        places = pattern.symbols()
        names = generator.sample(symbols, len(places)) if len(places) <= len(symbols) else symbols
        substitutes = {}
        for number, place in enumerate(places):
            name = names[number % len(names)]
            replaced = not self.held_out and generator.random() < REPLACED
            substitutes[place] = states(symbols, generator) if replaced else Formula.ap(name)
        return substituted(pattern, substitutes)


PATTERNS, HELD_OUT = PatternTask(held_out=False), PatternTask(held_out=True)

if __name__ == "__main__":  # train by the recipe beside this file, on fewer rows and for fewer steps
    from train_ltl import main

    recipe = ["--recipe", str(Path(__file__).with_suffix(".yaml")), "--output", "runs/patterns"]
    smaller = ["data.rows=5000", "trainer.max_steps=500", "trainer.eval_steps=250", "evaluation_rows=100"]
    main([*recipe, f"task={os.path.relpath(__file__)}:PATTERNS", *smaller, *sys.argv[1:]])
