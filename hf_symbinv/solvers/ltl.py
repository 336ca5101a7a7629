"""Spot as the solver of linear temporal logic: formula → witness, (formula, trace) → verdict.

Everything here runs in the calling process and can hang inside Spot for minutes; `Checker` and the data generator call
it through a `ProcessPool`.
"""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from itertools import count
from typing import Any

from hf_symbinv.logic import (
    Formula,
    FormulaSyntaxError,
    Trace,
    nested_to_the_right,
    parse_infix,
    parse_prefix,
    parse_trace,
    to_infix,
    to_lbt,
    trace_to_infix,
    trace_to_prefix,
)

# A COMPACT formula, one letter per token, to Spot's prefix notation.
_LBT_OF_LETTER = str.maketrans(
    {
        **{chr(code): f'"{chr(code)}" ' for code in range(ord("a"), ord("z") + 1)},
        **{operator: f"{operator} " for operator in "!&|XU"},
        "0": "f ",
        "1": "t ",
    }
)
_COMPACT = re.compile(r"[a-z01!&|XU]+")
_WORD_PART = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^";{}])+|[{}]')
_COMPACT_TRACE = re.compile(r"(?P<prefix>(?:[a-z01!&|]+;)*)\{(?P<cycle>[a-z01!&|]+(?:;[a-z01!&|]+)*)\}")


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
            f"drawing formulas, checking and solving LTL needs Spot, which cannot be imported here ({error}); install "
            "it with `pip install 'hf_symbinv[logic]'` (Linux x86-64), or elsewhere with "
            "`conda install -c conda-forge spot`"
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
        parsed = spot.parse_prefix_ltl(prefix.translate(_LBT_OF_LETTER))
        if not parsed.errors:
            return parsed.f
    parsed = spot.parse_prefix_ltl(to_lbt(parse_prefix(prefix)))
    if parsed.errors:
        raise RuntimeError(f"Spot cannot read this formula: {parsed.errors[0].second}")
    return parsed.f


@lru_cache(maxsize=1)
def _dictionary() -> Any:
    """The propositions and their BDD variables, which all automata of a process share."""
    return load_spot().make_bdd_dict()


def _translator(preference: str, level: str) -> Any:
    """What `spot.translate(formula, preference, level)` builds for every formula."""
    spot = load_spot()
    translator = spot.translator(_dictionary())
    translator.set_type(spot.postprocessor.TGBA)
    translator.set_pref(getattr(spot.postprocessor, preference))
    translator.set_level(getattr(spot.postprocessor, level))
    return translator


_quick_translations = count()


def _translate_quickly(formula: Any) -> Any:
    """An automaton of the formula with the least effort.

    Translators are used again, which saves a tenth of the time of a small formula, but not for ever, because they
    remember everything they have seen.
    """
    return _quick_translator(next(_quick_translations) // 50).run(formula)


@lru_cache(maxsize=1)
def _quick_translator(_: int) -> Any:
    return _translator("Any", "Low")


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
    automaton = _translator("Small", "High").run(spot_formula(formula_prefix))
    automaton.merge_edges()
    run = automaton.accepting_run()
    if run is None:
        return None
    # Spot prints `!a & b; d; cycle{1}`, and puts names with other characters than identifiers in quotes.
    texts = _WORD_PART.findall(str(spot.twa_word(run)))
    brace = texts.index("{")
    prefix = [_step(text) for text in texts[: brace - 1]]
    cycle = [_step(text) for text in texts[brace + 1 : -1]]
    if all(text is not None for _, text in prefix + cycle):
        return "".join(f"{text};" for _, text in prefix) + "{" + ";".join(str(text) for _, text in cycle) + "}"
    return trace_to_prefix(Trace(tuple(step for step, _ in prefix), tuple(step for step, _ in cycle)))


@lru_cache(maxsize=1 << 16)
def _step(infix: str) -> tuple[Formula, str | None]:
    """A step as Spot prints it: as a formula nested to the right, and as text if that is COMPACT."""
    formula = nested_to_the_right(parse_infix(infix))
    text = trace_to_prefix(Trace((), (formula,)))[1:-1]
    return formula, text if _COMPACT.fullmatch(text) else None


def judge(formula_prefix: str, trace_prefix: str) -> tuple[str, str]:
    """Whether every word that the trace denotes satisfies the formula.

    A trace stands for all words whose valuations satisfy its steps one after the other; propositions that a step does
    not mention are free. The verdict is `correct` if the automaton of the trace and that of the negated formula have no
    word in common. The negation is translated with the least effort, because its automaton is used once: on 2,000
    formulas of up to 35 nodes this took an eighth of the median time of Spot's default, and no formula took over 3 s.

    Args:
        formula_prefix: A formula in prefix notation.
        trace_prefix: A lasso trace in prefix notation.

    Returns:
        The verdict `correct`, `incorrect` or `invalid` and a message, empty if the verdict is `correct`.

    Raises:
        FormulaSyntaxError: If the formula (not the trace) cannot be read.
        SpotMissingError: If Spot is not installed.
    """
    spot = load_spot()
    formula = spot_formula(formula_prefix)
    try:
        word_text = _word_text(trace_prefix)
    except (FormulaSyntaxError, _EmptyStepError) as error:
        return "invalid", str(error)
    violations = _translate_quickly(spot.formula.Not(formula))
    word = spot.parse_word(word_text, _dictionary()).as_automaton()
    if not violations.intersects(word):
        return "correct", ""
    return "incorrect", f"these words of the trace violate the formula: {violations.intersecting_word(word)}"


class _EmptyStepError(ValueError):
    """A trace that denotes no word, because no valuation satisfies one of its steps."""


def _word_text(trace_prefix: str) -> str:
    """The trace in Spot's syntax for words."""
    match = _COMPACT_TRACE.fullmatch(trace_prefix)
    if match is None:
        trace = parse_trace(trace_prefix)
        steps = [(to_infix(step), _is_empty(to_infix(step))) for step in (*trace.prefix, *trace.cycle)]
        text = trace_to_infix(trace)
    else:
        try:
            prefix = [_read_step(step) for step in match["prefix"].split(";")[:-1]]
            cycle = [_read_step(step) for step in match["cycle"].split(";")]
        except FormulaSyntaxError:
            parse_trace(trace_prefix)  # raises the same with the position in the whole trace
            raise
        steps = prefix + cycle
        text = f"{''.join([f'{step};' for step, _ in prefix])}cycle{{{';'.join([step for step, _ in cycle])}}}"
    for step, empty in steps:
        if empty:
            raise _EmptyStepError(f"no valuation satisfies the step {step}, so the trace denotes no word")
    return text


@lru_cache(maxsize=1 << 16)
def _read_step(step: str) -> tuple[str, bool]:
    """A COMPACT step in infix notation, and whether no valuation satisfies it."""
    infix = to_infix(parse_prefix(step))
    return infix, _is_empty(infix)


def _is_empty(step: str) -> bool:
    return bool(_translate_quickly(load_spot().formula(step)).is_empty())


def normalized_trace(trace_prefix: str) -> str:
    """The trace as this package writes it; a text that is no trace stays as it is."""
    try:
        return trace_to_prefix(parse_trace(trace_prefix))
    except FormulaSyntaxError:
        return trace_prefix
