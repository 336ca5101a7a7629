"""Shapes of models with streams beside their alternatives."""
