"""Which extra of this package installs what it can do without."""

from __future__ import annotations

# Package → the extra that installs it. Spot and py-aiger are missed by their checkers, which say so themselves.
EXTRAS = {
    "accelerate": "train",
    "datasets": "data",
    "evaluate": "data",
    "matplotlib": "plot",
    "pyarrow": "data",
    "rapidfuzz": "data",
    "scipy": "train",
    "sympy": "algebra",
    "tensorboard": "train",
    "yaml": "train",
}


def missing_extra(error: ImportError, what: str) -> str | None:
    """The sentence for an import that failed for want of an extra; None if it failed for another reason.

    Args:
        error: What the import raised.
        what: What needs the package, as the sentence begins.
    """
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRAS:
        return None
    return f"{what} needs {package}, which is not installed; in a checkout, run pip install '.[{EXTRAS[package]}]'"
