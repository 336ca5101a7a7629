"""Spot behind a pool of processes: witnesses for formulas and verdicts for traces, with hard time limits."""

from hf_symbinv.solvers.ltl import SpotMissingError, find_witness, solver_version
from hf_symbinv.solvers.pool import Outcome, PoolError, ProcessPool

__all__ = [
    "Outcome",
    "PoolError",
    "ProcessPool",
    "SpotMissingError",
    "find_witness",
    "solver_version",
]
