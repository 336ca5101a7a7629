"""Builders of the benchmarks' data sets; each is also a command that writes Parquet and a data set card."""

__all__ = ["errors", "loading", "templates"]
