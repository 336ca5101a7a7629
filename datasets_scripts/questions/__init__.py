"""Questions of any task with answers by its solver: drawn at random or on a grid, changed, read from text."""

__all__ = ["builder", "copying", "grid", "ltl_random", "prop_random", "transforms", "two_line_texts"]
