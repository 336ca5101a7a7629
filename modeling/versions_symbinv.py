"""Refuses versions of transformers that this code does not run on.

Every file that transformers loads first from a checkpoint imports this one before anything of transformers that an
older version lacks: a user then reads which version is needed, and not which name is missing.
"""

import re

import transformers

LOWEST, BELOW = (5, 10), (6, 0)


def check_transformers(version: str) -> None:
    """Refuses a version of transformers from before `LOWEST` or from `BELOW` on.

    Args:
        version: as `transformers.__version__`.

    Raises:
        ImportError: naming the version, those that will do, and how to get one.
    """
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if not LOWEST <= found < BELOW:
        wanted = f"transformers>={LOWEST[0]}.{LOWEST[1]},<{BELOW[0]}"
        raise ImportError(
            f'transformers {version}: the symbol-invariant models run on {wanted}; run: pip install "{wanted}"'
        )


check_transformers(transformers.__version__)

__all__ = ["check_transformers"]
