"""Spot behind a pool of processes: witnesses for formulas and verdicts for traces, with hard time limits."""

from hf_symbinv.solvers.checker import Checker, CheckResult, Verdict
from hf_symbinv.solvers.ltl import SpotMissingError, find_witness, solver_version
from hf_symbinv.solvers.pool import Outcome, PoolError, ProcessPool

__all__ = [
    "CheckResult",
    "Checker",
    "Outcome",
    "PoolError",
    "ProcessPool",
    "SpotMissingError",
    "Verdict",
    "find_witness",
    "solver_version",
]
