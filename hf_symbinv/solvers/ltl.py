"""Spot as the solver of linear temporal logic: formula → witness, (formula, trace) → verdict.

Everything here runs in the calling process and can hang inside Spot for minutes; `Checker` and the data generator call
it through a `ProcessPool`.
"""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from typing import Any

from hf_symbinv.logic import Formula, Trace, parse_infix, parse_prefix, to_lbt, trace_to_prefix

# One letter per token, as a COMPACT formula has it, to Spot's prefix notation.
_LBT_OF_LETTER = {
    **{chr(code): f'"{chr(code)}"' for code in range(ord("a"), ord("z") + 1)},
    **{operator: operator for operator in "!&|XU"},
    "0": "f",
    "1": "t",
}
_COMPACT = re.compile(r"[a-z01!&|XU]+")


class SpotMissingError(ImportError):
    """Spot is not installed."""


@lru_cache(maxsize=1)
def load_spot() -> Any:
    """The module `spot`.

    Raises:
        SpotMissingError: If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module("spot")
    except ImportError as error:
        raise SpotMissingError(
            f"checking and solving LTL needs Spot, which cannot be imported here ({error}); install it with "
            "`pip install 'hf_symbinv[logic]'` (Linux x86-64), elsewhere with `conda install -c conda-forge spot`"
        ) from error


def solver_version() -> str:
    """The solver and its version, such as `spot 2.13`."""
    return f"spot {load_spot().version()}"


def spot_formula(prefix: str) -> Any:
    """Read a formula in prefix notation as one of Spot's.

    Raises:
        FormulaSyntaxError: If the text is not one formula.
    """
    spot = load_spot()
    if _COMPACT.fullmatch(prefix):
        parsed = spot.parse_prefix_ltl(" ".join([_LBT_OF_LETTER[letter] for letter in prefix]))
        if not parsed.errors:
            return parsed.f
    return spot.parse_prefix_ltl(to_lbt(parse_prefix(prefix))).f


def find_witness(formula_prefix: str) -> str | None:
    """A word that satisfies the formula, or None if none does.

    It is the accepting run that Spot finds in the formula's automaton after merging edges, as a word that is not
    simplified: the recipe of DeepLTL, whose conventions the text follows too (`&!a&b!d;a;{1}`, conjunctions nested to
    the right). Spot breaks ties by internal numbers, so among several witnesses its choice depends for 1 % of formulas
    on what the process computed before.

    Args:
        formula_prefix: A formula in prefix notation.

    Returns:
        The witness in prefix notation.

    Raises:
        FormulaSyntaxError: If the text is not one formula.
        SpotMissingError: If Spot is not installed.
    """
    spot = load_spot()
    automaton = spot_formula(formula_prefix).translate()
    automaton.merge_edges()
    run = automaton.accepting_run()
    if run is None:
        return None
    word = spot.twa_word(run)
    dictionary = automaton.get_dict()
    prefix = [_step(spot.bdd_format_formula(dictionary, step)) for step in word.prefix]
    cycle = [_step(spot.bdd_format_formula(dictionary, step)) for step in word.cycle]
    if all(text is not None for _, text in prefix + cycle):
        return "".join(f"{text};" for _, text in prefix) + "{" + ";".join(str(text) for _, text in cycle) + "}"
    return trace_to_prefix(Trace(tuple(step for step, _ in prefix), tuple(step for step, _ in cycle)))


@lru_cache(maxsize=1 << 16)
def _step(infix: str) -> tuple[Formula, str | None]:
    """A step as Spot prints it: as a formula nested to the right, and as text if that is COMPACT."""
    formula = nested_to_the_right(parse_infix(infix))
    text = trace_to_prefix(Trace((), (formula,)))[1:-1]
    return formula, text if _COMPACT.fullmatch(text) else None


def nested_to_the_right(formula: Formula) -> Formula:
    """Turn `(a & b) & c` into `a & (b & c)` everywhere, likewise for `|`."""
    if formula.operator not in ("&", "|"):
        operands = tuple(nested_to_the_right(operand) for operand in formula.operands)
        return Formula(formula.operator, operands, formula.name)
    links, stack = [], [formula]
    while stack:
        link = stack.pop()
        if link.operator == formula.operator:
            stack += reversed(link.operands)
        else:
            links.append(nested_to_the_right(link))
    chain = links.pop()
    while links:
        chain = Formula(formula.operator, (links.pop(), chain), None)
    return chain
