"""What a card has to know of each task and each embedding besides its prose, which stands in `templates`."""

from __future__ import annotations

from dataclasses import dataclass

# Symbol embeddings of the models that answer questions.
EMBEDDINGS = ("streams", "learned", "canonical", "renamed", "random")


@dataclass(frozen=True, slots=True)
class Kind:
    """The models of a task.

    Attributes:
        title: What they give.
        tags: Of the task, on the Hub.
        pipeline: The name of their pipeline.
        example: A question as a user writes it.
    """

    title: str
    tags: tuple[str, ...]
    pipeline: str
    example: str


TASKS = {
    "ltl": Kind(
        "witnesses of formulas of linear temporal logic",
        ("linear-temporal-logic", "formal-methods"),
        "ltl-witness",
        "G(request -> F grant)",
    ),
    "ltl-operators": Kind(
        "witnesses of formulas of linear temporal logic in all operators",
        ("linear-temporal-logic", "formal-methods"),
        "ltl-witness",
        "G(request -> F grant)",
    ),
    "prop": Kind(
        "assignments that satisfy propositional formulas",
        ("propositional-logic", "formal-methods"),
        "prop-assignment",
        "(request | !grant) & busy",
    ),
    "copy": Kind("copies of strings of symbols", ("copying",), "symbol-task", "a b c a"),
    "tseitin": Kind(
        "clauses that stand for propositional formulas",
        ("propositional-logic", "formal-methods"),
        "symbol-task",
        "(request | !grant) & busy",
    ),
}
# Tasks of the papers; the others have no models of a paper's sizes, and no card of a family.
PAPER_TASKS = ("ltl", "prop", "copy")

__all__ = ["EMBEDDINGS", "PAPER_TASKS", "TASKS", "Kind"]
