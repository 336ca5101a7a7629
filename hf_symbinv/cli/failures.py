"""What went wrong, in one sentence that names the value, the rule and the remedy."""

from __future__ import annotations

from hf_symbinv.extras import missing_extra
from hf_symbinv.hub.failures import PushError, hub_failure
from hf_symbinv.solvers import PoolError
from hf_symbinv.tasks import TaskError
from hf_symbinv.training.failures import OtherRunError


class InputError(ValueError):
    """What the user gave cannot be used; the message says why and what to do."""


def explain(error: Exception) -> str | None:
    """The sentence for an error that the user can do something about; None for any other, which is a bug."""
    from hf_symbinv.evaluation import CheckpointError, DataError
    from hf_symbinv.evaluation.cost import CostError

    expected = (InputError, CheckpointError, CostError, DataError, OtherRunError, PoolError, PushError, TaskError)
    if isinstance(error, expected):
        return str(error)
    if isinstance(error, ImportError) and error.name is None:  # a task misses its solver, and says so
        return str(error)
    if isinstance(error, ImportError) and (message := missing_extra(error, "this command")):
        return message
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"reading or writing failed: {error.strerror}"
        return f"{error.filename}: {error.strerror}; check the path and its permissions"
    return hub_failure(error)
