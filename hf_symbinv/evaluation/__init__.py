"""Evaluation: checkpoints are loaded with care, answer questions, have the answers checked, and get their tables."""

from hf_symbinv.evaluation.answers import (
    Answer,
    Candidate,
    Question,
    QuestionSizeError,
    answer_questions,
    read_question,
)
from hf_symbinv.evaluation.checkpoints import Checkpoint, CheckpointError, bundled_checkpoints, load_checkpoint
from hf_symbinv.evaluation.report import (
    DataError,
    Evaluation,
    Group,
    evaluate_checkpoint,
    load_questions,
    training_classes,
)

__all__ = [
    "Answer",
    "Candidate",
    "Checkpoint",
    "CheckpointError",
    "DataError",
    "Evaluation",
    "Group",
    "Question",
    "QuestionSizeError",
    "answer_questions",
    "bundled_checkpoints",
    "evaluate_checkpoint",
    "load_checkpoint",
    "load_questions",
    "read_question",
    "training_classes",
]
