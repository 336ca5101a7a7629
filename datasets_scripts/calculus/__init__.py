"""Expressions in prefix notation and their derivatives, by sympy and of functions that have names only."""

__all__ = ["derivatives", "expressions", "named_functions"]
