"""What a member of the portfolio says of a question. Its processes import this, and what it needs, at their start."""

from __future__ import annotations

from typing import Any, NamedTuple

from hf_symbinv.logic import Formula, Trace
from hf_symbinv.solvers.lasso import concrete, generalized, in_literals, truth

# Our choice, some tenths of a second: evaluations of nodes that are spent on leaving open what a witness does not need.
EFFORT = 200_000


class Finding(NamedTuple):
    """What a member found.

    Attributes:
        witness: A trace that satisfies the question, by the package's own checker; None if it found none.
        unsatisfiable: It has proved that no trace does.
        core: Then, places of conjuncts that no trace satisfies together; None for all of them.
        how: The size of its work, for people, such as `automaton of 5 states`.
    """

    witness: Trace | None
    unsatisfiable: bool
    core: tuple[int, ...] | None
    how: str


def settled(formula: Formula, trace: Trace) -> Trace | None:
    """A trace on whose every word the formula is true, made of one that is said to be such; None if it is not."""
    trace = in_literals(trace)
    if truth(formula, trace) != "true":
        trace = concrete(trace, formula.symbols())
        if truth(formula, trace) != "true":
            return None
    return generalized(formula, trace, EFFORT)


def call(item: tuple[Any, ...]) -> Any:
    """The result of a function and its arguments, which travel as one item."""
    function, *arguments = item
    return function(*arguments)
