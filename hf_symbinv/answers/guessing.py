"""The portfolio's third member, a model: of its guesses, those that the package's own checker finds right."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from hf_symbinv.answers.finding import Finding, settled
from hf_symbinv.answers.specification import conjunction
from hf_symbinv.logic import Formula, FormulaSyntaxError, parse_trace, to_prefix
from hf_symbinv.solvers.lasso import EmptyStepError

if TYPE_CHECKING:
    from hf_symbinv.evaluation import Checkpoint

# Our choice: as many guesses as one decoding gives at little more than the price of one.
GUESSES = 8
LONGEST_GUESS = 100


@cache
def load_model() -> Checkpoint:
    """The model for formulas that comes with the package; torch is imported here, and draws no bars."""
    from transformers.utils import logging

    from hf_symbinv.evaluation import default_checkpoint, load_checkpoint
    from hf_symbinv.tasks import LTL

    logging.disable_progress_bar()
    return load_checkpoint(default_checkpoint(LTL), None, LTL)


def find(conjuncts: tuple[Formula, ...]) -> Finding:
    """The first of the model's best guesses that is right."""
    from hf_symbinv.evaluation import QuestionSizeError, answer_questions, read_question
    from hf_symbinv.tasks import LTL

    formula = conjunction(conjuncts)
    try:
        question = read_question(LTL, to_prefix(formula))
    except QuestionSizeError as error:
        return Finding(None, False, None, str(error))
    generation: dict[str, Any] = {"num_beams": GUESSES, "max_new_tokens": LONGEST_GUESS}
    (answer,) = answer_questions(load_model(), [question], None, num_candidates=GUESSES, **generation)
    for place, candidate in enumerate(answer.candidates, start=1):
        try:
            witness = settled(formula, parse_trace(candidate.text))
        except (FormulaSyntaxError, EmptyStepError):
            continue
        if witness is not None:
            return Finding(witness, False, None, f"guess {place} of {len(answer.candidates)}")
    return Finding(None, False, None, f"{len(answer.candidates)} guesses, all wrong")
