"""Languages: windows of characters, a random Markov language, puzzles, small programs, and subwords."""

__all__ = ["characters", "programs", "puzzles", "subwords"]
