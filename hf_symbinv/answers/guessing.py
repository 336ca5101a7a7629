"""The portfolio's third member, a model: of its guesses, those that the package's own checker finds right.

A question is made easier before the model reads it: conjuncts that share no proposition are questions of their own,
because their witnesses can be laid over each other, and Spot simplifies each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from hf_symbinv.answers.finding import Finding, settled
from hf_symbinv.answers.specification import conjunction
from hf_symbinv.logic import Formula, FormulaSyntaxError, Trace, parse_infix, parse_trace, to_infix, to_prefix
from hf_symbinv.solvers.lasso import EmptyStepError
from hf_symbinv.solvers.ltl import load_spot

if TYPE_CHECKING:
    from hf_symbinv.evaluation import Checkpoint

# Our choice: as many guesses as one decoding gives at little more than the price of one.
GUESSES = 8
LONGEST_GUESS = 100
# Steps of a witness, at most, that is laid together from those of parts; a longer one says little to a reader.
MOST_STEPS = 1_000


@cache
def load_model() -> Checkpoint:
    """The model for formulas that people write; torch is imported here, and draws no bars."""
    from transformers.utils import logging

    from hf_symbinv.evaluation import default_checkpoint, load_checkpoint
    from hf_symbinv.tasks import LTL_OPERATORS

    logging.disable_progress_bar()
    return load_checkpoint(default_checkpoint(LTL_OPERATORS), None, LTL_OPERATORS)


def find(conjuncts: tuple[Formula, ...]) -> Finding:
    """A witness made of the first of the model's best guesses for each part that is right."""
    from hf_symbinv.evaluation import QuestionSizeError, answer_questions, read_question
    from hf_symbinv.tasks import LTL_OPERATORS

    parts = independent(conjuncts)
    try:
        questions = [read_question(LTL_OPERATORS, to_prefix(simplified(part))) for part in parts]
    except QuestionSizeError as error:
        return Finding(None, False, None, str(error))
    generation: dict[str, Any] = {"num_beams": GUESSES, "max_new_tokens": LONGEST_GUESS}
    answers = answer_questions(load_model(), questions, None, num_candidates=GUESSES, **generation)
    guesses = sum(len(answer.candidates) for answer in answers)
    found = [_first_right(part, answer.candidates) for part, answer in zip(parts, answers, strict=True)]
    traces, places = [trace for trace, _ in found if trace], [place for _, place in found]
    how = f"{guesses} guesses" if len(parts) == 1 else f"{guesses} guesses at {len(parts)} parts"
    if len(traces) < len(parts):
        return Finding(None, False, None, f"{how}, all wrong" if not traces else f"{how}, none right for some")
    trace = laid_together(traces)
    witness = None if trace is None else settled(conjunction(conjuncts), trace)
    if witness is None:
        return Finding(None, False, None, f"{how}, whose cycles have over {MOST_STEPS:,} steps together")
    return Finding(witness, False, None, f"guess {max(places)} of {GUESSES}" if len(parts) == 1 else how)


def _first_right(part: Formula, candidates: Sequence[Any]) -> tuple[Trace | None, int]:
    """The first candidate that is a witness of a part, and its place among them, from 1."""
    for place, candidate in enumerate(candidates, start=1):
        try:
            witness = settled(part, parse_trace(candidate.text))
        except (FormulaSyntaxError, EmptyStepError):
            continue
        if witness is not None:
            return witness, place
    return None, 0


def independent(conjuncts: Sequence[Formula]) -> list[Formula]:
    """Formulas that share no proposition and together say what the conjuncts say; `G(a & b)` is `G a` and `G b`."""
    parts: list[tuple[set[str], Formula]] = []
    for formula in _split(conjuncts):
        names = set(formula.symbols())
        touched = [part for part in parts if part[0] & names]
        parts = [part for part in parts if not part[0] & names]
        together = [part for _, part in touched] + [formula]
        parts.append((names.union(*(part[0] for part in touched)), reduce(and_, together)))
    return [part for _, part in parts]


def _split(conjuncts: Sequence[Formula]) -> list[Formula]:
    found, stack = [], list(reversed(conjuncts))
    while stack:
        node = stack.pop()
        inner = node.operands[0] if node.operator == "G" else node
        if inner.operator == "&":
            operands = [Formula("G", (operand,)) if node.operator == "G" else operand for operand in inner.operands]
            stack += reversed(operands)
        else:
            found.append(node)
    return found


def simplified(formula: Formula) -> Formula:
    """What Spot's rewriting makes of a formula, if that is shorter."""
    shorter = parse_infix(str(load_spot().formula(to_infix(formula)).simplify()))
    return shorter if shorter.size < formula.size else formula


def laid_together(traces: Sequence[Trace]) -> Trace | None:
    """A trace on whose every word all hold that have one of these traces each; None if it is too long."""
    before, cycle = max(len(trace.prefix) for trace in traces), math.lcm(*(len(trace.cycle) for trace in traces))
    return None if before + cycle > MOST_STEPS else reduce(and_, traces)
