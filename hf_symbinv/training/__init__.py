"""Training: recipes, batches, trainer, and runs that can be resumed and say how they were made."""

from hf_symbinv.training.decoding import generate_answers
from hf_symbinv.training.recipe import Recipe, recipe_names
from hf_symbinv.training.run import train

__all__ = ["Recipe", "generate_answers", "recipe_names", "train"]
