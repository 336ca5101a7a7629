"""The package's own checker of witnesses: the semantics of LTL on a lasso, in time linear in formula times lasso.

A step of a trace may leave propositions open, so a formula is surely true at a position, surely false, or neither.
Where it is surely true, every word that the trace denotes satisfies it. That an open formula holds, such as `a | !a`,
this checker cannot tell; `concrete` closes what is open.

Sets of positions are the bits of an integer. Nothing here knows Spot. The tests have the definition, slow
and obvious, which knows nothing of this.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from hf_symbinv.logic import Formula, Trace, to_infix

Truth = Literal["true", "false", "open"]


class EmptyStepError(ValueError):
    """A step that no valuation satisfies."""


class _Value(NamedTuple):
    """The positions at which a formula is surely true, and those at which it is surely false."""

    true: int
    false: int

    def negated(self) -> _Value:
        return _Value(self.false, self.true)


class _Positions(NamedTuple):
    """The positions of a lasso, which are so many; that after the last is `loop`."""

    number: int
    loop: int

    def before(self, positions: int) -> int:
        """The positions whose next one is among the given."""
        return positions >> 1 | (positions >> self.loop & 1) << (self.number - 1)

    def until(self, left: int, right: int) -> int:
        """The least solution of u = right | (left & X u), which looks ahead twice as far in each round."""
        # The cycle once more behind the last position: what comes later has been there.
        left, found = (one | one >> self.loop << self.number for one in (left, right))
        ahead = 1
        while left and ahead < 2 * self.number:
            found |= left & found >> ahead
            left &= left >> ahead
            ahead *= 2
        return found & self.all

    def release(self, left: int, right: int) -> int:
        """The greatest solution of r = right & (left | X r)."""
        return self.all & ~self.until(self.all & ~left, self.all & ~right)

    @property
    def all(self) -> int:
        """All positions."""
        return (1 << self.number) - 1


def truth(formula: Formula, trace: Trace) -> Truth:
    """What a formula is on the words that a trace denotes: true on all of them, false on all, or not known."""
    # Many steps of a long trace are one formula.
    formulas = (*trace.prefix, *trace.cycle)
    known = {place: literals(step) for place, step in {id(step): step for step in formulas}.items()}
    steps = [known[id(step)] for step in formulas]
    positions = _Positions(len(steps), len(trace.prefix))
    values: dict[int, _Value] = {}
    core = formula.to_core()
    for node in core.distinct_nodes():
        if node.name is not None:
            found = [step.get(node.name) for step in reversed(steps)]
            true, false = ("".join("1" if value is sought else "0" for value in found) for sought in (True, False))
            values[id(node)] = _Value(int(true, 2), int(false, 2))
        else:
            values[id(node)] = _value(node.operator, [values[id(operand)] for operand in node.operands], positions)
    result = values[id(core)]
    return "true" if result.true & 1 else "false" if result.false & 1 else "open"


def _value(operator: str, operands: list[_Value], positions: _Positions) -> _Value:
    if not operands:
        return _Value(positions.all, 0) if operator == "1" else _Value(0, positions.all)
    left, right = operands[0], operands[-1]
    match operator:
        case "!":
            return left.negated()
        case "&":
            return _Value(left.true & right.true, left.false | right.false)
        case "|":
            return _Value(left.true | right.true, left.false & right.false)
        case "X":
            return _Value(positions.before(left.true), positions.before(left.false))
        case "U":
            return _until(left, right, positions)
        case "R":
            return _until(left.negated(), right.negated(), positions).negated()
    raise ValueError(f"operator {operator!r}: unknown")


def _until(left: _Value, right: _Value, positions: _Positions) -> _Value:
    return _Value(positions.until(left.true, right.true), positions.release(left.false, right.false))


def literals(step: Formula) -> dict[str, bool]:
    """Symbol → value of a step that is a conjunction of literals, from left to right."""
    found: dict[str, bool] = {}
    stack = [step]
    while stack:
        node = stack.pop()
        if node.operator == "&":
            stack += reversed(node.operands)
            continue
        literal, positive = (node.operands[0], False) if node.operator == "!" else (node, True)
        if node.operator != "1" and (literal.name is None or found.setdefault(literal.name, positive) != positive):
            raise ValueError(f"step {to_infix(step)}: no conjunction of literals that agree")
    return found


def in_literals(trace: Trace) -> Trace:
    """A trace whose steps are conjunctions of literals, and whose words are among those of the given one."""
    return Trace(tuple(map(_chosen, trace.prefix)), tuple(map(_chosen, trace.cycle)))


def concrete(trace: Trace, symbols: tuple[str, ...]) -> Trace:
    """One word of a trace: what its steps leave open of `symbols` is false."""

    def closed(step: Formula) -> Formula:
        known = literals(step)
        return conjunction({name: known.get(name, False) for name in (*symbols, *known)})

    return Trace(tuple(map(closed, trace.prefix)), tuple(map(closed, trace.cycle)))


def generalized(formula: Formula, trace: Trace, effort: int) -> Trace:
    """The trace without literals that the truth of a formula does not need, tried one after the other."""
    steps = [literals(step) for step in (*trace.prefix, *trace.cycle)]
    formula = formula.to_core()
    cost = sum(1 for _ in formula.distinct_nodes())
    for step in steps:
        for name in list(step):
            if (effort := effort - cost) < 0:
                break
            value = step.pop(name)
            shorter = _trace(steps, len(trace.prefix))
            if truth(formula, shorter) == "true":
                trace = shorter
            else:
                step[name] = value
    return trace


def _trace(steps: list[dict[str, bool]], loop: int) -> Trace:
    return Trace(tuple(map(conjunction, steps[:loop])), tuple(map(conjunction, steps[loop:])))


def conjunction(literals: dict[str, bool]) -> Formula:
    """The conjunction of symbols, or their negations where they are false; 1 without any."""
    result: Formula | None = None
    for name, positive in literals.items():
        literal = Formula.ap(name) if positive else ~Formula.ap(name)
        result = literal if result is None else result & literal
    return Formula.true() if result is None else result


def _chosen(step: Formula) -> Formula:
    try:
        literals(step)
        return step
    except ValueError:
        pass
    found = _choose(step, step.symbols(), {})
    if found is None:
        raise EmptyStepError("no valuation satisfies a step, so the trace denotes no word")
    return conjunction(found)


def _choose(step: Formula, symbols: tuple[str, ...], chosen: dict[str, bool]) -> dict[str, bool] | None:
    """Values of some symbols that make a propositional formula true, symbol after symbol; None if there are none."""
    value = truth(step, Trace((), (conjunction(chosen),)))
    if value != "open":
        return chosen if value == "true" else None
    for positive in (True, False):
        found = _choose(step, symbols[1:], {**chosen, symbols[0]: positive})
        if found is not None:
            return found
    return None
