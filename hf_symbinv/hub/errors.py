"""The error of a push."""

from __future__ import annotations

from hf_symbinv.errors import UserError


class PushError(UserError):
    """A folder that cannot be pushed, or a push that failed; the message says why and what to do."""
