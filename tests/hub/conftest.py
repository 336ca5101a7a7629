"""Fixtures of every test here."""

from .fixtures import hub, server

__all__ = ["hub", "server"]
