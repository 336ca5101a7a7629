"""What is left of a formula after the first steps of a word, in time linear in the steps.

A formula holds of a word if what is left of it after the first step holds of the rest. Few formulas come up on the way,
so each is computed once for each of the few valuations that steps have.

Source: Bacchus and Kabanza 1998, "Planning for Temporally Extended Goals", section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hf_symbinv.logic import Formula

# Formulas that may come up, and the nodes of one. Our choice: some seconds.
MOST_FORMULAS, MOST_NODES = 2_000, 5_000
_TRUE, _FALSE = Formula.true(), Formula.false()


def remainder(formula: Formula, steps: Sequence[Mapping[str, bool]]) -> Formula | None:
    """What must hold after `steps` so that `formula` holds from the first of them on."""
    formula = formula.to_core()
    met = {formula: formula}  # so that equal formulas are one object
    moves: dict[tuple[int, int], Formula] = {}
    symbols, unknown = formula.symbols(), dict[str, None]()
    for place, step in enumerate(steps):
        move = id(formula), id(step)
        left = moves.get(move)
        if left is None:
            values = {name: _TRUE if value else _FALSE for name, value in step.items()}
            for name in symbols:
                if name not in step:
                    own = f"{name} in step {place}"
                    while own in symbols:
                        own += "_"
                    values[name] = Formula.ap(own)
                    unknown[own] = None
            values |= {name: Formula.ap(name) for name in unknown}
            made = _left(formula, values)
            left = met.setdefault(made, made)
            if left.size > MOST_NODES or len(met) > MOST_FORMULAS:
                return None
            if all(name in step for name in symbols):
                moves[move] = left
        formula = left
    return formula


def _left(formula: Formula, values: Mapping[str, Formula]) -> Formula:
    """What is left of a formula after one step, with the values of symbols in it."""
    found: dict[int, Formula] = {}
    for node in formula.distinct_nodes():
        if node.name is not None:
            found[id(node)] = values[node.name]
            continue
        operands = [found[id(operand)] for operand in node.operands]
        left, right = (operands[0], operands[-1]) if operands else (node, node)
        match node.operator:
            case "!":
                made = _not(left)
            case "&" | "|":
                made = _join(node.operator, left, right)
            case "X":
                made = node.operands[0]
            case "U":
                made = _join("|", right, _join("&", left, node))
            case "R":
                made = _join("&", right, _join("|", left, node))
            case _:
                made = node
        found[id(node)] = made
    return found[id(formula)]


def _not(formula: Formula) -> Formula:
    if formula.operator in "01":
        return _FALSE if formula == _TRUE else _TRUE
    return formula.operands[0] if formula.operator == "!" else ~formula


def _join(operator: str, left: Formula, right: Formula) -> Formula:
    """`left & right` or `left | right`, in which nothing stands twice and constants are folded."""
    neutral, strong = (_TRUE, _FALSE) if operator == "&" else (_FALSE, _TRUE)
    parts: dict[Formula, None] = {}
    stack = [right, left]
    while stack:
        part = stack.pop()
        if part.operator == operator:
            stack += reversed(part.operands)
        elif part == strong or _not(part) in parts:
            return strong
        elif part != neutral:
            parts[part] = None
    joined: Formula | None = None
    for part in sorted(parts, key=hash):
        joined = part if joined is None else Formula(operator, (joined, part))
    return neutral if joined is None else joined
