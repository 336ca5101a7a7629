"""The portfolio's first member, Spot: a formula's automaton has an accepting run, which is a witness, or it is empty.

Everything here may hang inside Spot; `portfolio.py` calls it in other processes.
"""

from __future__ import annotations

from hf_symbinv.answers.finding import Finding, settled
from hf_symbinv.answers.specification import conjunction
from hf_symbinv.logic import Formula, Trace, read_trace, to_prefix, trace_to_prefix
from hf_symbinv.solvers.ltl import judge, load_spot, spot_formula


def find(conjuncts: tuple[Formula, ...]) -> Finding:
    """A witness or a proof of emptiness, by the automaton of all conjuncts, translated with the least effort."""
    spot = load_spot()
    try:
        automaton = spot.translate(spot_formula(conjunction(conjuncts)), "low", "any")
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
    return bool(load_spot().translate(spot_formula(conjunction(conjuncts)), "low", "any").is_empty())


def judge_each(conjuncts: tuple[Formula, ...], trace: Trace) -> tuple[str, str]:
    """Verdict and message of `judge` on all conjuncts, without the automaton of all, which may be too large."""
    for formula in conjuncts:
        verdict, message = judge(to_prefix(formula), trace_to_prefix(trace))
        if verdict != "correct":
            return verdict, message
    return "correct", ""
