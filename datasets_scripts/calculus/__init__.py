"""Expressions in prefix notation and their derivatives, by sympy."""
