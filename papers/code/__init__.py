"""Bugs in Python: models of code, and what is left of them when variables are renamed."""
