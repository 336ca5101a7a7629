"""The portfolio's second member: a SAT solver looks for a lasso of one step, of two, and so on.

It never builds an automaton, whose size may be exponential in that of the formula. The clauses for n steps are those
for n - 1 and as many again. If the clauses that hold of every word have no solution, no word satisfies the formula;
this proves many contradictions, but not all: `F a & G !a` can be put off for ever.

Source: Biere, Heljanko, Junttila, Latvala, Schuppan 2006, "Linear Encodings of Bounded LTL Model Checking", sections 4
and 5: the incremental encoding with a copy of the loop's first state, here of formulas in negation normal form.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from hf_symbinv.answers.finding import Finding, settled
from hf_symbinv.answers.specification import conjunction
from hf_symbinv.logic import Formula, Trace
from hf_symbinv.solvers.lasso import conjunction as step_of

# Our choice, by speed on our collection; every solver of python-sat that takes assumptions could stand here.
SOLVER = "cadical153"


def load_solver() -> Any:
    """The class `pysat.solvers.Solver`, without py-aiger, which pysat would import for a second for other classes."""
    absent = "aiger_cnf" not in sys.modules
    if absent:
        sys.modules["aiger_cnf"] = None  # type: ignore[assignment]
    try:
        from pysat.solvers import Solver
    finally:
        if absent:
            del sys.modules["aiger_cnf"]
    return Solver


def find(conjuncts: tuple[Formula, ...]) -> Finding:
    """A witness with few steps, or a proof that there is none; without either it goes on for ever."""
    search = _Search(conjuncts)
    length = 0
    while True:
        search.extend()
        length += 1
        if length & (length - 1) == 0 and (core := search.contradiction()) is not None:
            return Finding(None, True, core, f"the first {length} steps")
        if length > 10 and length % (length // 10):  # most lengths are tried in vain
            continue
        trace = search.lasso()
        if trace is not None:
            witness = settled(conjunction(conjuncts), trace)
            how = f"lassos of up to {length} steps"
            if witness is None:
                return Finding(None, False, None, f"{how}, and one that its own formula refutes")
            return Finding(witness, False, None, how)


def is_unsatisfiable(conjuncts: tuple[Formula, ...]) -> bool:
    """Whether no word satisfies all conjuncts; for some that none does, it goes on for ever."""
    return find(conjuncts).unsatisfiable


class _Search:
    """The clauses for the lassos of so many steps.

    A node of the formula is a literal of the solver at each step. That it is true implies what it says of its operands
    in this step and of itself in the next one; the step after the last is as yet unbound. In a lasso of k + 1 steps
    what is promised for step k + 1 is kept in the first step of its cycle, and what an until waits for comes in the
    cycle. Only this hangs on k: its clauses have a literal of their own, which is assumed once.
    """

    def __init__(self, conjuncts: Sequence[Formula]) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self.solver = load_solver()(name=SOLVER)
        self.variables = 0
        self._literals: dict[tuple[object, int], int] = {}
        self.true = self._new()
        self.solver.add_clause([self.true])
        roots = _normal(conjuncts, self._place)
        carried = {a for operator, a, _ in self.nodes if operator == "X"}
        carried |= {place for place, (operator, *_) in enumerate(self.nodes) if operator in "UR"}
        self.carried = sorted(carried)
        self.untils = [place for place, (operator, *_) in enumerate(self.nodes) if operator == "U"]
        self.chosen = []  # a literal for each conjunct, which makes it true in the first step
        for root in roots:
            self.chosen.append(self._new())
            self.solver.add_clause([-self.chosen[-1], self.at(root, 0)])
        self.loops: list[int] = []  # for each step: the cycle begins here
        self.inside = -self.true  # the cycle has begun
        self.copies = {place: self._new() for place in self.carried}  # of what is true in the cycle's first step
        self.came = dict.fromkeys(self.untils, -self.true)  # what the until waits for came in the cycle

    def at(self, place: int, step: int) -> int:
        """The literal of a node in a step."""
        operator, a, b = self.nodes[place]
        if operator == "constant":
            return self.true if a else -self.true
        key = (a, step) if operator == "literal" else (place, step)
        if key not in self._literals:
            self._literals[key] = self._new()
        return self._literals[key] * (1 if operator != "literal" or b else -1)

    def extend(self) -> None:
        """Bind one more step."""
        step = len(self.loops)
        add = self.solver.add_clause
        for place, (operator, a, b) in enumerate(self.nodes):
            if operator in ("literal", "constant"):
                continue
            here = self.at(place, step)
            if operator == "&":
                add([-here, self.at(a, step)])
                add([-here, self.at(b, step)])
            elif operator == "|":
                add([-here, self.at(a, step), self.at(b, step)])
            elif operator == "X":
                add([-here, self.at(a, step + 1)])
            elif operator == "U":
                add([-here, self.at(b, step), self.at(a, step)])
                add([-here, self.at(b, step), self.at(place, step + 1)])
            else:
                add([-here, self.at(b, step)])
                add([-here, self.at(a, step), self.at(place, step + 1)])
        loop, inside, before = self._new(), self._new(), self.inside
        add([-loop, -before])
        add([-loop, inside])
        add([-before, inside])
        add([-inside, before, loop])
        for place in self.carried:
            add([-loop, -self.copies[place], self.at(place, step)])
        for place in self.untils:
            came = self._new()
            awaited = self.at(self.nodes[place][2], step)
            add([-came, self.came[place], inside])
            add([-came, self.came[place], awaited])
            self.came[place] = came
        self.loops.append(loop)
        self.inside = inside

    def contradiction(self) -> tuple[int, ...] | None:
        """Places of conjuncts that no word satisfies together, as far as the steps show it; else None."""
        if self.solver.solve(assumptions=self.chosen):
            return None
        core = set(self.solver.get_core() or ())
        return tuple(place for place, literal in enumerate(self.chosen) if literal in core)

    def lasso(self) -> Trace | None:
        """A lasso of all steps that satisfies all conjuncts; None if there is none."""
        ends = self._new()
        count = len(self.loops)
        self.solver.add_clause([-ends, self.inside])
        for place in self.carried:
            self.solver.add_clause([-ends, -self.at(place, count), self.copies[place]])
        for place in self.untils:
            self.solver.add_clause([-ends, -self.at(place, count), self.came[place]])
        if not self.solver.solve(assumptions=[*self.chosen, ends]):
            self.solver.add_clause([-ends])
            return None
        model = set(self.solver.get_model())
        names = list(dict.fromkeys(a for operator, a, _ in self.nodes if operator == "literal"))
        known = self._literals
        steps = [{name: known[name, step] in model for name in names if (name, step) in known} for step in range(count)]
        loop = next(step for step, literal in enumerate(self.loops) if literal in model)
        return Trace(tuple(map(step_of, steps[:loop])), tuple(map(step_of, steps[loop:])))

    def _new(self) -> int:
        self.variables += 1
        return self.variables

    def _place(self, node: tuple[Any, ...]) -> int:
        if node not in self._places:
            self._places[node] = len(self.nodes)
            self.nodes.append(node)
        return self._places[node]


_DUAL = {"&": "|", "|": "&", "U": "R", "R": "U"}


def _normal(conjuncts: Sequence[Formula], place: Callable[[tuple[Any, ...]], int]) -> list[int]:
    """Places of the conjuncts in negation normal form.

    A node is `("literal", name, is positive)`, `("constant", value, None)`, or an operator of & | X U R and the places
    of its operands.
    """
    made: dict[tuple[int, bool], int] = {}  # of each node, and of its negation
    true, false = place(("constant", True, None)), place(("constant", False, None))

    def both(operator: str, left: int, right: int) -> int:
        neutral, final = (true, false) if operator == "&" else (false, true)
        if final in (left, right):
            return final
        if neutral in (left, right) or left == right:
            return right if left == neutral else left
        return place((operator, left, right))

    cores = [formula.to_core() for formula in conjuncts]
    for core in cores:
        for node in core.distinct_nodes():
            for sign in (True, False):
                parts = [made[id(operand), sign] for operand in node.operands]
                operator = node.operator if sign else _DUAL.get(node.operator, node.operator)
                match operator:
                    case "ap":
                        found = place(("literal", node.name, sign))
                    case "0" | "1":
                        found = true if (operator == "1") == sign else false
                    case "!":
                        found = made[id(node.operands[0]), not sign]
                    case "&" | "|":
                        found = both(operator, *parts)
                    case "X":
                        found = place(("X", *parts, None))
                    case _:
                        found = place((operator, *parts))
                made[id(node), sign] = found
    return [made[id(core), True] for core in cores]
