"""Evaluation: checkpoints are loaded with care, answer questions, have the answers checked, and get their tables."""

from hf_symbinv.evaluation.answers import (
    Answer,
    Candidate,
    Question,
    QuestionSizeError,
    answer_questions,
    read_question,
)
from hf_symbinv.evaluation.checkpoints import (
    Checkpoint,
    CheckpointError,
    checkpoint,
    default_checkpoint,
    load_checkpoint,
)
from hf_symbinv.evaluation.report import (
    DataError,
    Evaluation,
    Group,
    alpha_covariance,
    evaluate_checkpoint,
    load_questions,
    training_classes,
)
from hf_symbinv.evaluation.sessions import median_session, start_session
from hf_symbinv.files import bundled_checkpoints

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
    "alpha_covariance",
    "answer_questions",
    "bundled_checkpoints",
    "checkpoint",
    "default_checkpoint",
    "evaluate_checkpoint",
    "load_checkpoint",
    "load_questions",
    "median_session",
    "read_question",
    "start_session",
    "training_classes",
]
