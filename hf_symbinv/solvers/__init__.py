"""Solvers behind a pool of processes: answers to questions and verdicts on answers, with hard time limits."""

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
