"""Expressions in prefix notation and their derivatives, by sympy."""

__all__ = ["derivatives", "expressions"]
