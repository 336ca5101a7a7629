"""Random embeddings in evaluation: one session of them, chosen to stand for the average."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hf_symbinv.evaluation.answers import Question
from hf_symbinv.evaluation.checkpoints import Checkpoint

# ITE, Appendix E.4.
SESSIONS = 10


def is_random(checkpoint: Checkpoint) -> bool:
    """Whether the model draws a part of every symbol's embedding, once per session."""
    return bool(checkpoint.model.config.symbol_embedding == "random")


def start_session(checkpoint: Checkpoint, seed: int) -> None:
    """Draw the random embeddings of a model with `seed`."""
    checkpoint.model.model.embedding.start_session(seed)


def median_session(
    checkpoint: Checkpoint,
    questions: Sequence[Question],
    *,
    seeds: Iterable[int] = range(SESSIONS),
    batch_size: int = 100,
) -> int:
    """Of ten sessions, start that whose cross-entropy on the references is the median, and return its seed.

    Of an even number of sessions, the worse one of the two in the middle. Questions without references are left out.

    Raises:
        ValueError: If no question has a reference.

    Source: ITE, Appendix E.4.
    """
    from hf_symbinv.training.decoding import cross_entropy  # torch only where it is needed

    known = [(question.prompt, question.reference) for question in questions if question.reference is not None]
    if not known:
        raise ValueError("no question has a reference, so sessions cannot be compared; choose one by its seed")
    losses = {}
    for seed in seeds:
        start_session(checkpoint, seed)
        losses[seed] = cross_entropy(checkpoint.model, checkpoint.tokenizer, known, batch_size)
    ranked = sorted(losses, key=lambda seed: losses[seed])
    chosen = ranked[len(ranked) // 2]
    start_session(checkpoint, chosen)
    return chosen
