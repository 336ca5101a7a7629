"""Long formulas of many symbols with known witnesses, from parts that have no symbol in common.

    symbinv data --task examples/ltl_joined.py:JOINED --num-symbols 10 --min-size 15 --max-size 50 --rows 60000 \\
        --timeout 1 --seed 24 --output data/ltl-joined

Spot needs seconds for many a random formula of 50 nodes and 10 symbols, because its automaton reads all symbols at
once. A question here is made of small random formulas over different symbols, by the operators of the task `ltl`, and
each part is solved alone. The command made training rows of the bundled model `ltl-canonical`.
"""

import random
from collections.abc import Sequence

from hf_symbinv.logic import Formula, Trace, nested_to_the_right, parse_prefix, parse_trace, to_prefix, trace_to_prefix
from hf_symbinv.solvers import find_witness
from hf_symbinv.tasks import LTL, LTLTask

# Our choices: the largest part, with how many symbols parts are drawn, and how many are tried for a formula. Parts are
# joined by a conjunction or an until with these probabilities, and else by a disjunction, as ! and & write it. A joined
# formula gets an X in front of it with the last one.
PART, PART_SYMBOLS, TRIES = 20, (3, 4, 6), 20
CONJUNCTION, UNTIL, NEXT = 0.6, 0.25, 0.15


class JoinedTask(LTLTask):
    """`ltl` with questions of parts that have no symbol in common."""

    description = (
        "A question is a formula of linear temporal logic, joined from random formulas that have no symbol in common. "
        "Its witness is joined from those of its parts, a lasso trace: steps joined by `;`, the cycle in `{}`. Every "
        "word that it denotes satisfies the formula."
    )

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        generator = random.Random(seed)
        parts = [
            parse_prefix(text)
            for some in PART_SYMBOLS
            for text in LTL.draw(symbols[:some], 1, min(PART, largest), seed, 2 * count)
        ]
        joined = [self._joined(symbols, parts, largest, generator) for _ in range(count)]
        drawn = [to_prefix(nested_to_the_right(formula)) for formula in joined]
        return [text for text in drawn if smallest <= self.size(text) <= largest]

    def _joined(self, symbols: Sequence[str], parts: list[Formula], largest: int, generator: random.Random) -> Formula:
        """A formula of some of the parts, over symbols of which each occurs in one part only."""
        goal, unused = generator.randint(1, largest), generator.sample(symbols, len(symbols))
        found = Formula.true()
        for part in generator.choices(parts, k=TRIES):
            if len(names := part.symbols()) > len(unused):
                continue
            part = part.rename({name: unused.pop() for name in names})
            found = part if found == Formula.true() else self._of_two(part, found, generator)
            if found.size >= goal:
                break
        return found

    def _of_two(self, one: Formula, other: Formula, generator: random.Random) -> Formula:
        kind = generator.random()
        if kind < CONJUNCTION:
            joined = one & other
        elif kind < CONJUNCTION + UNTIL:
            joined = Formula("U", (one, other))
        else:
            joined = ~(negation(one) & negation(other))
        return Formula("X", (joined,)) if generator.random() < NEXT else joined

    def solve(self, question: str) -> str | None:
        trace = witness(parse_prefix(question))
        return None if trace is None else trace_to_prefix(trace)


def witness(formula: Formula) -> Trace | None:
    """A trace that satisfies a formula, or None if none does.

    What stands below `X`, `U`, negations of these and conjunctions without common symbols is solved alone, by Spot.
    """
    if formula.operator == "X":
        return delayed(witness(formula.operands[0]))
    if formula.operator == "U":  # is true as soon as its right operand is
        return witness(formula.operands[1])
    if formula.operator == "&":
        left, right = formula.operands
        if not set(left.symbols()) & set(right.symbols()):
            one, other = witness(left), witness(right)
            return None if one is None or other is None else one & other
    if formula.operator == "!":
        inner = formula.operands[0]
        if inner.operator == "X":
            return delayed(witness(negation(inner.operands[0])))
        if inner.operator == "&":  # false as soon as one of its operands is
            left, right = map(negation, inner.operands)
            return witness(left) or witness(right)
    found = find_witness(to_prefix(formula))
    return None if found is None else parse_trace(found)


def negation(formula: Formula) -> Formula:
    """`!formula`, without a double negation."""
    return formula.operands[0] if formula.operator == "!" else ~formula


def delayed(trace: Trace | None) -> Trace | None:
    """The trace one step later."""
    return None if trace is None else Trace((Formula.true(), *trace.prefix), trace.cycle)


JOINED = JoinedTask()
