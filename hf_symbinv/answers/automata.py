"""The portfolio's first member, Spot: a formula's automaton has an accepting run, which is a witness, or it is empty.

Everything here may hang inside Spot; `portfolio.py` calls it in other processes.
"""

from __future__ import annotations

from typing import Any

from hf_symbinv.answers.finding import Finding, settled
from hf_symbinv.answers.specification import conjunction
from hf_symbinv.logic import Formula, Trace, read_trace, to_prefix, trace_to_prefix
from hf_symbinv.solvers.ltl import judge, load_spot


def find(conjuncts: tuple[Formula, ...]) -> Finding:
    """A witness or a proof of emptiness, by the automaton of all conjuncts.

    The automaton is used once, so it is translated with the least effort.
    """
    spot = load_spot()
    try:
        automaton = spot.translate(_spot_formula(conjunction(conjuncts)), "low", "any")
    except RuntimeError as error:  # such as one that needs more acceptance sets than Spot has
        return Finding(None, False, None, str(error).partition(". ")[0])
    size = f"automaton of {automaton.num_states()} states"
    run = automaton.accepting_run()
    if run is None:
        return Finding(None, True, None, size)
    word = spot.twa_word(run.reduce())
    word.simplify()
    witness = settled(conjunction(conjuncts), read_trace(str(word)))
    return Finding(witness, False, None, size if witness else f"{size}, and a run that its own formula refutes")


def is_unsatisfiable(conjuncts: tuple[Formula, ...]) -> bool:
    """Whether the automaton of all conjuncts is empty."""
    return bool(load_spot().translate(_spot_formula(conjunction(conjuncts)), "low", "any").is_empty())


def judge_each(conjuncts: tuple[Formula, ...], trace: Trace) -> tuple[str, str]:
    """Verdict and message of `judge` on all conjuncts, without the automaton of all, which may be too large.

    Each conjunct has an automaton of its own; the first verdict that is not correct is that on all.
    """
    for formula in conjuncts:
        verdict, message = judge(to_prefix(formula), trace_to_prefix(trace))
        if verdict != "correct":
            return verdict, message
    return "correct", ""


def _spot_formula(formula: Formula) -> Any:
    """The formula as one of Spot's; shared parts stay shared."""
    build = load_spot().formula
    made: dict[int, Any] = {}
    for node in formula.distinct_nodes():
        operands = [made[id(operand)] for operand in node.operands]
        match node.operator:
            case "ap":
                value = build.ap(node.name)
            case "0" | "1":
                value = build.tt() if node.operator == "1" else build.ff()
            case "!":
                value = build.Not(*operands)
            case "&":
                value = build.And(operands)
            case "|":
                value = build.Or(operands)
            case "^":
                value = build.Xor(*operands)
            case "->":
                value = build.Implies(*operands)
            case "<->":
                value = build.Equiv(*operands)
            case _:
                value = getattr(build, node.operator)(*operands)
        made[id(node)] = value
    return made[id(formula)]
