"""Training: recipes, batches, trainer, and runs that can be resumed and say how they were made.

Names are imported when they are first used: decoding needs torch and transformers only, training the `train` extra.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_symbinv.training.decoding import generate_answers
    from hf_symbinv.training.recipe import Recipe, recipe_names
    from hf_symbinv.training.recipe_run import train

_HOMES = {"generate_answers": "decoding", "Recipe": "recipe", "recipe_names": "recipe", "train": "recipe_run"}

__all__ = ["Recipe", "generate_answers", "recipe_names", "train"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hf_symbinv.training' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hf_symbinv.training.{_HOMES[name]}"), name)
