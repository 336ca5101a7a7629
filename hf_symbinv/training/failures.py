"""What a user can mend about a run; imports nothing that takes long."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from hf_symbinv.errors import UserError


class OtherRunError(UserError):
    """A run's folder holds a run of another recipe, model or arguments."""


@contextmanager
def refusals(parser: argparse.ArgumentParser) -> Iterator[None]:
    """Ends a program as `parser` does for bad usage, in one sentence, where what it was given cannot be used."""
    from huggingface_hub.errors import StrictDataclassError

    try:
        yield
    except StrictDataclassError as error:
        parser.error(f"model: {error.__cause__ or error}")
    except (ValueError, OSError) as error:
        parser.error(str(error))


__all__ = ["OtherRunError", "refusals"]
