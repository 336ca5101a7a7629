"""Renamer: basic blocks of x86-64, and derivatives."""
