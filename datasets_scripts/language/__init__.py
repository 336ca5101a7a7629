"""Languages: windows of characters, a random Markov language, puzzles, and subwords."""

__all__ = ["characters", "puzzles", "subwords"]
