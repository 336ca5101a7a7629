"""Linear temporal logic on finite traces, by its usual embedding into that on infinite ones.

A finite trace is the part of an infinite one in which a new proposition, `alive`, holds: a first stretch with an end.
"""

from __future__ import annotations

from hf_symbinv.logic.formula import Formula


def embed_finite(formula: Formula, alive: Formula) -> Formula:
    """The formula that holds of an infinite trace if `formula` holds of the part in which `alive` does.

    Source: De Giacomo and Vardi 2013, section 5; Spot's `from_ltlf` does the same.
    """
    dead = ~alive
    embedded: dict[int, Formula] = {}
    for node in formula.distinct_nodes():
        operands = tuple(embedded[id(operand)] for operand in node.operands)
        match node.operator:
            case "X" | "G":
                operands = (operands[0] | dead,)
            case "F":
                operands = (operands[0] & alive,)
            case "U":
                operands = (operands[0], operands[1] & alive)
            case "R":
                operands = (operands[0], operands[1] | dead)
            case "W":
                operands = (operands[0] | dead, operands[1])
            case "M":
                operands = (operands[0] & alive, operands[1])
        embedded[id(node)] = Formula(node.operator, operands, node.name)
    return embedded[id(formula)]


def finite_trace(alive: Formula) -> Formula:
    """The formula that says that `alive` holds in a first stretch of at least one step, and never after it."""
    return alive & Formula("U", (alive, Formula("G", (~alive,))))
