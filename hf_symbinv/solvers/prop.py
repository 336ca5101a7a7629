"""py-aiger as the solver of propositional logic: formula → partial assignment, (formula, assignment) → verdict.

A verdict is that of py-aiger's expression of the formula, whose circuit is simulated once for all values of its symbols
and then serves all answers; py-aiger-sat's `SolverWrapper` gives a second opinion, and the counterexample. Formulas of
more than `MOST_IN_TABLE` symbols have that opinion alone. One core gives some 1,800 verdicts a second on formulas of 1
to 35 nodes, and 8,000 if each formula has 25 answers; the SAT solver alone gives 5,500.

For answers and second opinions the step from formula to clauses is done here: py-aiger's own takes some 9 times as long
and orders the clauses by hashes of texts, which differ from process to process, so that a formula would have another
answer in each. Clauses and variables here follow the formula from left to right: an answer is a function of the
formula, and renaming the formula renames it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from hf_symbinv.errors import in_short
from hf_symbinv.logic import (
    Assignment,
    Formula,
    FormulaSyntaxError,
    assignment_to_infix,
    assignment_to_prefix,
    parse_assignment,
    parse_prefix,
)
from hf_symbinv.logic.formula import PROPOSITIONAL_OPERATORS

# Key of the variable that holds the truth value of the whole formula; no symbol can have it.
TRUTH = None
# The symbols of a formula whose truth table is looked through, at most. Our choice: the papers have 10, and a number of
# 65,536 bits for each gate takes 8 KB.
MOST_IN_TABLE = 16
# For a binary operator: whether it is a conjunction of its operands so negated, and the result so negated.
_CONJUNCTION = {"&": (1, 1, 1), "|": (-1, -1, -1), "->": (1, -1, -1)}


class AigerMissingError(ImportError):
    """py-aiger-sat is not installed."""


@lru_cache(maxsize=1)
def load_aiger() -> Any:
    """The module `aiger_sat`.

    Raises:
        AigerMissingError: If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module("aiger_sat")
    except ImportError as error:
        raise AigerMissingError(
            f"checking and solving propositional logic needs py-aiger-sat, which cannot be imported here ({error}); "
            "install it with `pip install '.[logic]'`"
        ) from error


def solver_version() -> str:
    """The solver and its version, with that of the SAT solvers behind it."""
    load_aiger()
    from importlib.metadata import version  # here, because it takes as long as all else of this room

    return f"py-aiger-sat {version('py-aiger-sat')} (python-sat {version('python-sat')})"


def check_propositional(formula: Formula) -> Formula:
    """The formula itself.

    Raises:
        ValueError: If it holds a temporal operator.
    """
    for node in formula.distinct_nodes():
        if node.operator not in PROPOSITIONAL_OPERATORS:
            raise ValueError(
                f"operator {node.operator!r}: belongs to linear temporal logic, which is the task ltl; propositional "
                "formulas have 0 1 ! & | ^ -> <-> only"
            )
    return formula


def gate_clauses(operator: str, gate: int, left: int, right: int) -> list[tuple[int, ...]]:
    """The clauses that make the variable `gate` equivalent to a binary operator on two literals, as DIMACS has them.

    Source: Tseitin 1968.
    """
    if operator in _CONJUNCTION:
        signs = _CONJUNCTION[operator]
        left, right, result = signs[0] * left, signs[1] * right, signs[2] * gate
        return [(-left, -right, result), (left, -result), (right, -result)]
    result = gate if operator == "^" else -gate
    return [(left, right, -result), (-left, -right, -result), (left, -right, result), (-left, right, result)]


@contextmanager
def formula_solver(formula: Formula) -> Iterator[Any]:
    """A py-aiger-sat solver that knows the formula; its truth value is the variable `TRUTH`, its symbols are inputs.

    Every node gets a variable that is equivalent to its operator applied to its operands (Tseitin 1968).
    """
    wrapper = load_aiger().SolverWrapper()
    solver = wrapper.solver
    true, last = 1, 1
    solver.add_clause((true,))
    literals: dict[int, int] = {}
    variables: dict[str, int] = {}
    for node in formula.distinct_nodes():
        operator = node.operator
        if node.name is not None:
            literal = variables.get(node.name, 0)
            if not literal:
                literal = last = variables[node.name] = last + 1
        elif not node.operands:
            literal = true if operator == "1" else -true
        elif operator == "!":
            literal = -literals[id(node.operands[0])]
        else:
            left, right = (literals[id(operand)] for operand in node.operands)
            literal = last = last + 1
            for clause in gate_clauses(operator, literal, left, right):
                solver.add_clause(clause)
        literals[id(node)] = literal
    truth, literal = last + 1, literals[id(formula)]
    solver.add_clause((-truth, literal))
    solver.add_clause((truth, -literal))
    wrapper.inputs = set(variables)
    wrapper.sym_table.update(variables)
    wrapper.sym_table[TRUTH] = truth
    try:
        yield wrapper
    finally:
        solver.delete()


def aiger_expression(formula: Formula) -> Any:
    """The formula as an `aiger.BoolExpr`, whose circuit is made of py-aiger's nodes.

    The operators of `BoolExpr` put whole circuits together, which takes 18 ms for a formula of some 20 nodes, where its
    nodes take 0.3 ms. Equal nodes are one object here, because py-aiger compares nodes by recursion.
    """
    load_aiger()
    aiger = importlib.import_module("aiger")
    gates: dict[tuple[Any, ...], Any] = {}
    false = aiger.aig.ConstFalse()

    def gate(*operands: Any) -> Any:
        """The conjunction of two nodes, or the negation of one."""
        key = tuple(map(id, operands))
        if key not in gates:
            # With its operands, so that no other object gets their addresses.
            gates[key] = operands, operands[0] & operands[1] if len(operands) == 2 else ~operands[0]
            hash(gates[key][1])  # which a node keeps, so that no hash goes deeper than one step
        return gates[key][1]

    def conjunction(signs: tuple[int, int, int], *operands: Any) -> Any:
        both = gate(*(node if sign > 0 else gate(node) for node, sign in zip(operands, signs, strict=False)))
        return both if signs[2] > 0 else gate(both)

    inputs = {name: aiger.aig.Input(name) for name in formula.symbols()}
    nodes: dict[int, Any] = {}
    for node in formula.distinct_nodes():
        operands = [nodes[id(operand)] for operand in node.operands]
        if node.name is not None:
            made = inputs[node.name]
        elif not operands:
            made = false if node.operator == "0" else gate(false)
        elif node.operator == "!":
            made = gate(operands[0])
        elif node.operator in _CONJUNCTION:
            made = conjunction(_CONJUNCTION[node.operator], *operands)
        else:  # a & !b or !a & b, and for <-> the negation
            sides = [conjunction((sign, -sign, 1), *operands) for sign in (1, -1)]
            made = conjunction((-1, -1, -1 if node.operator == "^" else 1), *sides)
        nodes[id(node)] = made
    return aiger.BoolExpr(aiger.aig.AIG(inputs=frozenset(inputs), node_map={"truth": nodes[id(formula)]}))


class _Simulated(NamedTuple):
    """A formula, and one bit for each valuation of its symbols: where each of them is true, and where the formula is
    false. There are none for more than `MOST_IN_TABLE` symbols."""

    formula: Formula
    true: Mapping[str, int]
    false: int | None

    def holds(self, values: Mapping[str, bool]) -> bool | None:
        """Whether py-aiger's circuit is true wherever symbols have these values; None if it is not known."""
        if self.false is None:
            return None
        left = self.false
        for name, column in self.true.items():
            if name in values:
                left &= column if values[name] else ~column
        return not left


@lru_cache(maxsize=256)
def _simulate(formula_prefix: str) -> _Simulated:
    """The formula and its truth table by one simulation of py-aiger's circuit, for all answers to it."""
    formula = check_propositional(parse_prefix(formula_prefix))
    symbols = formula.symbols()
    if len(symbols) > MOST_IN_TABLE:
        return _Simulated(formula, {}, None)
    everywhere = (1 << (1 << len(symbols))) - 1
    true = {name: everywhere // ((1 << (1 << place)) + 1) for place, name in enumerate(symbols)}
    return _Simulated(formula, true, everywhere & ~aiger_expression(formula)(true, lift=int))


def _violation(values: Mapping[str, bool], symbols: tuple[str, ...]) -> dict[str | None, bool]:
    """What to assume in search of a valuation with these values that makes the formula false."""
    assumptions: dict[str | None, bool] = {TRUTH: False}
    assumptions.update((name, values[name]) for name in symbols if name in values)
    return assumptions


def find_assignment(formula_prefix: str) -> str | None:
    """A partial assignment that makes the formula true whatever the other symbols are, or None if none does.

    As in DeepLTL, it is what a solver needs of a model of the formula to refute the formula's negation: the UNSAT core
    of the negation with the model as assumptions. A valid formula needs none of them; as an assignment has at least one
    pair, the answer then is the formula's first symbol with value 1, and `a1` if there is no symbol. DeepLTL's data
    sets leave valid formulas out, and so do the formulas that the task draws.

    Args:
        formula_prefix: A propositional formula in prefix notation.

    Returns:
        The assignment in prefix notation, in the order of the symbols' names.

    Raises:
        FormulaSyntaxError: If the text is not one formula.
        ValueError: If it has temporal operators.
        AigerMissingError: If py-aiger-sat is not installed.
    """
    formula = check_propositional(parse_prefix(formula_prefix))
    symbols = formula.symbols()
    with formula_solver(formula) as solver:
        if not solver.is_sat({TRUTH: True}):
            return None
        model: Mapping[str, bool] = solver.get_model()
        if solver.is_sat(_violation(model, symbols)):
            raise RuntimeError(f"{formula!r}: the SAT solver's model makes the formula false; python-sat is broken")
        core: Mapping[str, bool] = solver.get_unsat_core()
    values = sorted(core.items()) or [(symbols[0] if symbols else "a", True)]
    return assignment_to_prefix(Assignment(tuple(values)))


def judge(formula_prefix: str, assignment_prefix: str) -> tuple[str, str]:
    """Whether the assignment makes the formula true whatever the symbols are that it leaves open.

    py-aiger's circuit says so, and the SAT solver has to agree. Symbols that the formula does not have may be assigned
    too. To a valid formula, which needs no assignment, the empty text is a correct answer, and the only one that a
    model can write where there is no symbol.

    Args:
        formula_prefix: A propositional formula in prefix notation.
        assignment_prefix: A partial assignment in prefix notation, or nothing.

    Returns:
        The verdict `correct`, `incorrect` or `invalid` and a message, empty if the verdict is `correct`.

    Raises:
        FormulaSyntaxError: If the formula (not the assignment) cannot be read.
        ValueError: If the formula has temporal operators.
        AigerMissingError: If py-aiger-sat is not installed.
        RuntimeError: If both checkers contradict each other.
    """
    simulated = _simulate(formula_prefix)
    formula = simulated.formula
    values, problem = dict[str, bool](), ""
    try:
        values = dict(parse_assignment(assignment_prefix).values)
    except FormulaSyntaxError as error:
        problem = str(error)
    symbols, is_empty = formula.symbols(), not assignment_prefix.strip()
    if problem and not is_empty:
        return "invalid", problem
    holds = simulated.holds(values)
    with formula_solver(formula) as solver:
        is_violated = solver.is_sat(_violation(values, symbols))
        if holds is is_violated:
            raise RuntimeError(
                f"{in_short(formula_prefix)}: py-aiger's circuit calls {assignment_prefix!r} "
                f"{'correct' if holds else 'incorrect'} and python-sat does not; one of them is broken, so install "
                "both again with `pip install --force-reinstall '.[logic]'`"
            )
        if not is_violated:
            return "correct", ""
        if is_empty and symbols:
            return "invalid", problem
        model: Mapping[str, bool] = solver.get_model()
    if not symbols:
        return "incorrect", "the formula is false under every assignment"
    counterexample = Assignment(tuple((name, model[name]) for name in symbols))
    return "incorrect", f"the formula is false with {assignment_to_infix(counterexample)}"


def normalized_assignment(assignment_prefix: str) -> str:
    """The assignment in the order of the symbols' names; a text that is no assignment stays as it is."""
    try:
        return assignment_to_prefix(parse_assignment(assignment_prefix).sorted())
    except FormulaSyntaxError:
        return assignment_prefix
