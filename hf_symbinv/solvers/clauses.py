"""Clauses that stand for a propositional formula: formula → clauses, (formula, clauses) → verdict.

Clauses may have new symbols, which the formula does not have. They stand for the formula if, under every assignment of
the formula's symbols, some values of the new ones satisfy them exactly when the formula is true: the formula is then
what is left of the clauses when their new symbols are quantified away. That is more than to be satisfiable exactly when
the formula is, which one clause meets for every satisfiable formula.
"""

from __future__ import annotations

from collections.abc import Iterator

from hf_symbinv.logic import Assignment, Formula, FormulaSyntaxError, assignment_to_infix, parse_prefix
from hf_symbinv.logic.clauses import Clauses, clauses_to_prefix, parse_clauses
from hf_symbinv.solvers.prop import TRUTH, check_propositional, formula_solver, gate_clauses


def tseitin_clauses(formula_prefix: str, new_names: Iterator[str]) -> str | None:
    """Clauses that stand for the formula, with one new symbol for each of its gates. Source: Tseitin 1968."""
    names: list[str] = []  # of the variables 1, 2, ...
    variables: dict[str, int] = {}
    literals: dict[int, int] = {}
    clauses: list[tuple[int, ...]] = []
    formula = check_propositional(parse_prefix(formula_prefix))
    for node in formula.distinct_nodes():
        if node.operator == "!":
            literals[id(node)] = -literals[id(node.operands[0])]
            continue
        if node.name is not None and node.name in variables:
            literals[id(node)] = variables[node.name]
            continue
        name = next(new_names, None) if node.name is None else node.name
        if name is None:
            return None
        names.append(name)
        literals[id(node)] = gate = variables[name] = len(names)
        if node.operands:
            left, right = (literals[id(operand)] for operand in node.operands)
            found = gate_clauses(node.operator, gate, left, right)
            clauses += [tuple(sorted(clause, key=lambda literal: abs(literal) != gate)) for clause in found]
        elif node.name is None:
            clauses.append((gate if node.operator == "1" else -gate,))
    clauses.append((literals[id(formula)],))
    return clauses_to_prefix(
        tuple(tuple((names[abs(literal) - 1], literal > 0) for literal in clause) for clause in clauses)
    )


def judge(formula_prefix: str, clauses_prefix: str, most_new: int) -> tuple[str, str]:
    """Whether the clauses stand for the formula, with at most so many new symbols."""
    formula = check_propositional(parse_prefix(formula_prefix))
    try:
        clauses = parse_clauses(clauses_prefix)
    except FormulaSyntaxError as error:
        return "invalid", str(error)
    symbols = formula.symbols()
    new = dict.fromkeys(name for clause in clauses for name, _ in clause if name not in symbols)
    if len(new) > most_new:
        return "incorrect", f"the clauses have {len(new)} new symbols; they may have {most_new}"
    return _compared(formula, symbols, clauses, tuple(new))


def _compared(formula: Formula, symbols: tuple[str, ...], clauses: Clauses, new: tuple[str, ...]) -> tuple[str, str]:
    with formula_solver(formula) as wrapper:
        solver, variables = wrapper.solver, wrapper.sym_table
        truth = variables[TRUTH]
        chosen = truth + 1  # the clauses count where this variable is true
        variables.update((name, chosen + place) for place, name in enumerate(new, start=1))
        for clause in clauses:
            solver.add_clause([-chosen, *(variables[name] * (1 if positive else -1) for name, positive in clause)])

        def model() -> list[int]:
            """The formula's symbols in the solver's model, as literals."""
            true = set(solver.get_model())
            return [variables[name] if variables[name] in true else -variables[name] for name in symbols]

        def told(values: list[int]) -> str:
            """` with a=1, b=0`, or nothing where there is no symbol."""
            pairs = tuple((name, value > 0) for name, value in zip(symbols, values, strict=True))
            return f" with {assignment_to_infix(Assignment(pairs))}" if pairs else ""

        if solver.solve(assumptions=[chosen, -truth]):
            return "incorrect", f"the clauses can be satisfied{told(model())}, where the formula is false"
        while solver.solve(assumptions=[truth, -chosen]):
            values = model()
            if not solver.solve(assumptions=[chosen, *values]):
                return "incorrect", f"the clauses cannot be satisfied{told(values)}, where the formula is true"
            solver.add_clause([-value for value in values])  # it need not be tried again
    return "correct", ""


def normalized_clauses(clauses_prefix: str) -> str:
    """The clauses as this package writes them; a text that is no list of clauses stays as it is."""
    try:
        return clauses_to_prefix(parse_clauses(clauses_prefix))
    except FormulaSyntaxError:
        return clauses_prefix
