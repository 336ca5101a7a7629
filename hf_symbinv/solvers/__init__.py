"""Solvers behind a pool of processes: answers to questions and verdicts on answers, with hard time limits."""

from hf_symbinv.solvers.checker import Checker, CheckResult, Verdict
from hf_symbinv.solvers.cluster import Cluster, ClusterError, RayPool, Workers, open_pool
from hf_symbinv.solvers.jobs import run_jobs
from hf_symbinv.solvers.ltl import SpotMissingError, find_witness
from hf_symbinv.solvers.pool import Outcome, PoolError, ProcessPool, available_cores
from hf_symbinv.solvers.prop import AigerMissingError

__all__ = [
    "AigerMissingError",
    "CheckResult",
    "Checker",
    "Cluster",
    "ClusterError",
    "Outcome",
    "PoolError",
    "ProcessPool",
    "RayPool",
    "SpotMissingError",
    "Verdict",
    "Workers",
    "available_cores",
    "find_witness",
    "open_pool",
    "run_jobs",
]
