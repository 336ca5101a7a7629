"""Questions of any task with answers by its solver: drawn at random or on a grid, changed, read from text."""

__all__ = ["benchmarks", "builder", "grid", "transforms", "two_line_texts"]
