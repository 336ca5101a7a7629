"""Numbers of a trainer with which transformers would train nothing, or something else, and say nothing of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hf_symbinv.errors import UserError, in_short

_POSITIVE = (
    "num_train_epochs", "per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps",
)  # fmt: skip
_NOT_NEGATIVE = ("learning_rate", "weight_decay", "warmup_steps", "max_grad_norm", "adam_epsilon")
_SHARES = ("adam_beta1", "adam_beta2", "label_smoothing_factor")


def refuse_out_of_range(arguments: Mapping[str, Any]) -> None:
    """Makes sure that the numbers among a trainer's arguments are in their ranges.

    Args:
        arguments: Of a trainer, by name; values that are no numbers are left to transformers.

    Raises:
        UserError: For a number out of range, or one that is not finite.
    """
    for name, given in arguments.items():
        value = _number(given)
        if value is None:
            continue
        rule = None
        if isinstance(value, int) and abs(value) >= 2**63:
            rule = "must be less than 2**63"
        elif not math.isfinite(value):
            rule = "must be finite"
        elif name == "max_steps" and value < 1 and value != -1:
            rule = "must be at least 1; -1 trains for num_train_epochs"
        elif name in _POSITIVE and value <= 0:
            rule = "must be more than 0"
        elif name in _NOT_NEGATIVE and value < 0:
            rule = "must be at least 0"
        elif name in _SHARES and not 0 <= value < 1:
            rule = "must be at least 0 and less than 1"
        if rule is not None:
            raise UserError(f"trainer.{name}={in_short(given)}: {rule}; correct it")


def _number(value: Any) -> float | None:
    """A value as a number; None if it is none."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


__all__ = ["refuse_out_of_range"]
