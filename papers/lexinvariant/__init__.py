"""Lexinvariant language models."""
