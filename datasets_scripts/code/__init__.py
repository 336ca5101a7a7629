"""Functions of Python with bugs that were put into them."""

__all__ = ["bug_finding"]
