"""Spot as the solver of linear temporal logic: formula → witness, (formula, trace) → verdict.

Everything here runs in the calling process and can hang inside Spot for minutes; `Checker` and the data generator call
it through a `ProcessPool`.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from hf_symbinv.logic import (
    Formula,
    FormulaSyntaxError,
    Trace,
    nested_to_the_right,
    parse_prefix,
    parse_trace,
    read_trace,
    to_infix,
    trace_to_infix,
    trace_to_prefix,
)

# How Spot calls what builds a formula; other operators have one name.
_BUILDERS = {
    "0": "ff", "1": "tt", "!": "Not", "&": "And", "|": "Or", "^": "Xor", "->": "Implies", "<->": "Equiv",
}  # fmt: skip


class SpotMissingError(ImportError):
    """Spot is not installed."""


@lru_cache(maxsize=1)
def load_spot() -> Any:
    """The module `spot`; an error says how it is installed."""
    try:
        return importlib.import_module("spot")
    except ImportError as error:
        raise SpotMissingError(
            f"drawing formulas, checking and solving LTL needs Spot, which cannot be imported here ({error}); install "
            "it with `pip install '.[logic]'` (Linux x86-64), or elsewhere with "
            "`conda install -c conda-forge spot`"
        ) from error


def solver_version() -> str:
    """The solver and its version, such as `spot 2.13`."""
    return f"spot {load_spot().version()}"


def spot_formula(formula: Formula) -> Any:
    """The formula as one of Spot's; shared parts stay shared."""
    build = load_spot().formula
    made: dict[int, Any] = {}
    for node in formula.distinct_nodes():
        operands = [made[id(operand)] for operand in node.operands]
        if node.name is not None:
            made[id(node)] = build.ap(node.name)
        else:
            builder = getattr(build, _BUILDERS.get(node.operator, node.operator))
            made[id(node)] = builder(operands) if node.operator in ("&", "|") else builder(*operands)
    return made[id(formula)]


@lru_cache(maxsize=1)
def _dictionary() -> Any:
    """The propositions and their BDD variables, which all automata of a process share."""
    return load_spot().make_bdd_dict()


def _automaton(formula: Any, preference: str, level: str) -> Any:
    """What `spot.translate(formula, preference, level)` builds for every formula."""
    spot = load_spot()
    translator = spot.translator(_dictionary())
    translator.set_type(spot.postprocessor.TGBA)
    translator.set_pref(getattr(spot.postprocessor, preference))
    translator.set_level(getattr(spot.postprocessor, level))
    return translator.run(formula)


def find_witness(formula_prefix: str) -> str | None:
    """A word that satisfies a formula, or None if none does, both in prefix notation.

    It is the accepting run that Spot finds in the formula's automaton after merging edges, as a word that is not
    simplified: the recipe of DeepLTL, whose conventions the text follows too (`&!a&b!d;a;{1}`, conjunctions nested to
    the right). Spot breaks ties by internal numbers, so among several witnesses its choice depends for 1 % of formulas
    on what the process computed before.

    Raises:
        FormulaSyntaxError: If the text is not one formula.
        SpotMissingError: If Spot is not installed.
    """
    automaton = _automaton(spot_formula(parse_prefix(formula_prefix)), "Small", "High")
    automaton.merge_edges()
    run = automaton.accepting_run()
    if run is None:
        return None
    word = read_trace(str(load_spot().twa_word(run)))
    prefix, cycle = (tuple(map(nested_to_the_right, steps)) for steps in (word.prefix, word.cycle))
    return trace_to_prefix(Trace(prefix, cycle))


def judge(formula_prefix: str, trace_prefix: str) -> tuple[str, str]:
    """The verdict `correct`, `incorrect` or `invalid` on whether every word that the trace denotes satisfies the
    formula, and a message.

    A trace stands for all words whose valuations satisfy its steps one after the other; propositions that a step does
    not mention are free. The verdict is `correct` if the automaton of the trace and that of the negated formula have no
    word in common. The negation is translated with the least effort, because its automaton is used once: on 2,000
    formulas of up to 35 nodes this took an eighth of the median time of Spot's default, and no formula took over 3 s.

    Raises:
        FormulaSyntaxError: If the formula (not the trace) cannot be read.
    """
    spot = load_spot()
    formula = spot_formula(parse_prefix(formula_prefix))
    try:
        trace = parse_trace(trace_prefix)
    except FormulaSyntaxError as error:
        return "invalid", str(error)
    for step in map(to_infix, (*trace.prefix, *trace.cycle)):
        if _is_empty(step):
            return "invalid", f"no valuation satisfies the step {step}, so the trace denotes no word"
    violations = _automaton(spot.formula.Not(formula), "Any", "Low")
    word = spot.parse_word(trace_to_infix(trace), _dictionary()).as_automaton()
    if not violations.intersects(word):
        return "correct", ""
    return "incorrect", f"these words of the trace violate the formula: {violations.intersecting_word(word)}"


@lru_cache(maxsize=1 << 16)
def _is_empty(step: str) -> bool:
    return bool(_automaton(load_spot().formula(step), "Any", "Low").is_empty())


def normalized_trace(trace_prefix: str) -> str:
    """The trace as this package writes it; a text that is no trace stays as it is."""
    try:
        return trace_to_prefix(parse_trace(trace_prefix))
    except FormulaSyntaxError:
        return trace_prefix
