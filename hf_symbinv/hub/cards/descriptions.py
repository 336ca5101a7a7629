"""What holds for all models of a family, one embedding of symbols and one task: sentences that several cards share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Embedding:
    """What a model makes of symbols.

    Attributes:
        title: What such a model is called.
        what: How it works.
        names: What that means for the names of symbols.
    """

    title: str
    what: str
    names: str


@dataclass(frozen=True, slots=True)
class Kind:
    """What a task's models are for.

    Attributes:
        title: What they do.
        tags: Of the task, on the Hub.
        pipeline: The name of their pipeline.
        example: A question as a user writes it.
        use: What they are good for.
        misuse: What they are not good for.
        data: What they are trained on.
        recipe: Name of a recipe that trains such a model, and the paper's.
    """

    title: str
    tags: tuple[str, ...]
    pipeline: str
    example: str
    use: str
    misuse: str
    data: str
    recipes: tuple[str, str]


EMBEDDINGS = {
    "streams": Embedding(
        "Symbol-Invariant Transformer",
        "Every symbol of the question gets a copy of the sequence, its stream, in which its own occurrences carry one "
        "embedding row and all other symbols another. All streams share all weights. No weight belongs to a symbol.",
        "Renaming the symbols of a question renames the answer, bit for bit where batches have the same shape. There "
        "is no largest number of symbols: questions may have more than training had, and time and memory grow in "
        "proportion.",
    ),
    "learned": Embedding(
        "Transformer with a fixed vocabulary",
        "Every symbol has an embedding row of its own, learned like any other: the baseline of the papers.",
        "Answers depend on names. Symbols that training did not have, or that have no row, cannot be used: such "
        "questions count as answered wrongly.",
    ),
    "renamed": Embedding(
        "Transformer trained with alpha-renaming",
        "Every symbol has an embedding row of its own, and the rows are permuted in every step of training, so that "
        "each comes to stand for any symbol: the baseline that augments its data.",
        "Answers depend less on names than those of a fixed vocabulary, but they do depend on them. There are as many "
        "symbols as rows.",
    ),
    "random": Embedding(
        "Transformer with dual-part embeddings",
        "A symbol's embedding has a part that all symbols share, which is learned, and a part that is drawn at random: "
        "anew in every step of training, once per session in use.",
        "Answers depend on the draw, and through it on names. There is no row per symbol, so questions may have more "
        "symbols than training had, as long as there are different random parts for them. Evaluations take the median "
        "of ten draws.",
    ),
}

TASKS = {
    "ltl": Kind(
        "witnesses of formulas of linear temporal logic",
        ("linear-temporal-logic", "formal-methods"),
        "ltl-witness",
        "G(request -> F grant)",
        "proposing witnesses that a checker then verifies, and for studying invariance",
        "to decide satisfiability: an answer that fails the check says nothing about the formula, and formulas without "
        "a witness are answered too",
        "Random formulas by DeepLTL's recipe, all satisfiable. They look random, and specifications that people write "
        "look different.",
        ("ltl-small", "ltl-paper"),
    ),
    "prop": Kind(
        "assignments that satisfy propositional formulas",
        ("propositional-logic", "formal-methods"),
        "prop-assignment",
        "(request | !grant) & busy",
        "proposing assignments that a checker then verifies, and for studying invariance",
        "to decide satisfiability: a SAT solver does that, faster and with certainty",
        "Random formulas, all satisfiable, with partial assignments that leave open what does not matter.",
        ("prop-small", "prop-paper"),
    ),
    "copy": Kind(
        "copies of strings of symbols",
        ("copying",),
        "symbol-task",
        "a b c a",
        "studying how models deal with symbols, and with more of them than they were trained on",
        "for anything else: a copy needs no model",
        "Random strings.",
        ("copy-small", "copy-paper"),
    ),
}


def embedding_of(name: str) -> Embedding:
    """What is known of an embedding; of one that has no family, its name."""
    return EMBEDDINGS.get(name) or Embedding(f"Transformer with {name} embeddings of symbols", "", "")


__all__ = ["EMBEDDINGS", "TASKS", "Embedding", "Kind", "embedding_of"]
