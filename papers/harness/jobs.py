"""Work of minutes or hours, such as trainings: one job after the other here, or all on the machines of a Ray cluster.

    records = run_jobs([partial(train_one, seed) for seed in range(5)], Cluster("127.0.0.1:6379"))

A job is a function that leaves what it does in folders, and goes on there when it is called again. Ray hands out the
jobs, and calls those of a machine that is gone once more on another one. So the working folder of this process, and the
folders of the jobs, are the same on all machines: they lie on a file system that all of them have, under one path.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hf_symbinv.errors import InUseError, explain, first_line
from hf_symbinv.solvers.cluster import LOOK_SECONDS, Cluster, ClusterError
from hf_symbinv.solvers.pool import PREPARE_SECONDS

Result = TypeVar("Result")
DONE, IN_USE = "done", "in use"
# Until a job is tried again whose folder is in use: by another job, or by the rest of one on a machine that is gone.
AGAIN_SECONDS = 5.0
# Variables of this process that jobs have too: they say where a user's texts lie.
VARIABLES = "HF_SYMBINV_"
CHECKOUT = str(Path(__file__).resolve().parents[2])


def run_jobs(
    jobs: Sequence[Callable[[], Result]],
    cluster: Cluster | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """What jobs return, in their order.

    On a cluster each takes as many cores as `OMP_NUM_THREADS` says, one without it, and a GPU if the cluster has some.

    Args:
        jobs: Functions without arguments that Ray can send, such as `functools.partial` of one of a module.
        cluster: Where they are called; None for this process, one after the other.
        say: Takes lines on what is done on a cluster.

    Raises:
        ClusterError: If the cluster cannot be used, or has no machine for a job.
        Exception: What a job raises; the others are ended.
    """
    return [job() for job in jobs] if cluster is None else _Jobs(cluster, say).run(jobs)


class _Jobs:
    """Jobs on a cluster; arguments and errors are those of `run_jobs`."""

    def __init__(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        self.cluster, self.say = cluster, say
        self.ray = cluster.connect()
        threads = os.environ.get("OMP_NUM_THREADS", "")
        self.cores = int(threads) if threads.isdecimal() and int(threads) else 1
        self.machine_seen = -PREPARE_SECONDS

    def run(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        self._look_for_machine()
        own = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        attempt = self.ray.remote(
            num_cpus=self.cores,
            num_gpus=min(self.ray.cluster_resources().get("GPU", 0), 1),
            max_retries=-1,  # where a machine is gone; an error is raised here
            runtime_env={
                "env_vars": {
                    **own,
                    "HF_SYMBINV_LIGHT": "",  # the solvers' processes do without transformers
                    "PYTHONPATH": CHECKOUT,  # the papers are not installed
                }
            },
        )(_attempt)
        results: dict[int, Any] = {}
        next_try = dict.fromkeys(range(len(jobs)), 0.0)  # job → when it is handed out
        under_way: dict[Any, int] = {}
        try:
            while len(results) < len(jobs):
                for number in [number for number, when in next_try.items() if when <= time.monotonic()]:
                    del next_try[number]
                    under_way[attempt.remote(jobs[number], os.getcwd())] = number
                for reference in self._finished(list(under_way)):
                    number = under_way.pop(reference)
                    state, value, machine = self._get(reference)
                    if state == IN_USE:
                        next_try[number] = time.monotonic() + AGAIN_SECONDS
                        continue
                    results[number] = value
                    self.say(f"{len(results)} of {len(jobs)} are done, the last one on {machine}")
        finally:
            for reference in under_way:
                self.ray.cancel(reference, force=True)  # ends the process that it runs in
        return [results[number] for number in range(len(jobs))]

    def _finished(self, references: list[Any]) -> list[Any]:
        """One that is finished; none if none is within a second."""
        if not references:
            time.sleep(LOOK_SECONDS)
            return []
        ready: list[Any] = self.ray.wait(references, num_returns=1, timeout=LOOK_SECONDS)[0]
        if not ready:
            self._look_for_machine()
        return ready

    def _look_for_machine(self) -> None:
        """Makes sure that the cluster has a machine with enough cores, or had one in the last minutes."""
        now = time.monotonic()
        if any(one["Alive"] and one["Resources"].get("CPU", 0) >= self.cores for one in self.ray.nodes()):
            self.machine_seen = now
        elif now - self.machine_seen > PREPARE_SECONDS:
            cores = "a core" if self.cores == 1 else f"{self.cores} cores, which OMP_NUM_THREADS asks for"
            raise ClusterError(
                f"{self.cluster}: has no machine with {cores}; add one with `ray start --address`, and repeat the "
                "command"
            )

    def _get(self, reference: Any) -> tuple[str, Any, str]:
        try:
            outcome: tuple[str, Any, str] = self.ray.get(reference)
            return outcome
        except self.ray.exceptions.RayTaskError as error:
            if error.cause is not None and explain(error.cause) is not None:
                raise error.cause from None
            raise
        except self.ray.exceptions.RayError as error:
            raise ClusterError(f"{self.cluster}: {first_line(error)}; repeat the command") from error


def _attempt(job: Callable[[], Any], folder: str) -> tuple[str, Any, str]:
    """A task of Ray: whether a job is done, what it returned or why it could not begin, and the machine."""
    machine = platform.node()
    try:
        os.chdir(folder)
    except OSError as error:
        raise ClusterError(
            f"{folder}: {error.strerror} on {machine}; start the command in a folder that all machines have"
        ) from None
    try:
        return DONE, job(), machine
    except InUseError as error:
        return IN_USE, str(error), machine
