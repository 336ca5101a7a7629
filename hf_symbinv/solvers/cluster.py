"""The pool of processes of `pool.py` on the machines of a Ray cluster.

    with open_pool(math.factorial, workers=Cluster("127.0.0.1:6379"), timeout=10.0) as pool:
        for outcome in pool.map([10, 100, 1000]):
            print(outcome.status, outcome.value)

Ray (https://docs.ray.io) knows the machines, hands out the work, and repeats what a machine that is gone had begun. A
task of Ray is a run of items, and computes them in a `ProcessPool` of one process on its machine: the limits of an item
hold there too. Machines that join get work at once. Each needs this package, and a user's task file under the same
path.

Not datatrove: its executors run pipelines of text documents in local processes, on Slurm or on Ray, and keep account of
the tasks that are completed, each with a share of the input. Here each item needs a hard limit of its own and the
worker processes that keep it, and of datatrove only Ray would remain.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from hf_symbinv.errors import UserError, first_line
from hf_symbinv.extras import missing_extra
from hf_symbinv.solvers.plan import Plan, no_preparation
from hf_symbinv.solvers.pool import (
    LARGEST_CHUNK,
    MEMORY,
    PREPARE_SECONDS,
    WINDOW_PER_WORKER,
    Outcome,
    PoolError,
    ProcessPool,
)

# Work per task of Ray: a task costs some milliseconds, and a core without one some more.
TASK_SECONDS = 0.2
# Tasks that are handed out, for each core of the cluster, so that the next is there when one is finished.
TASKS_PER_CORE = 2
# How often the cluster is asked for its size.
LOOK_SECONDS = 1.0
CONNECT_SECONDS = 10.0


def _keep_standard_output(ray: Any) -> None:
    """Has Ray tell of dead machines on standard error, in a line, as standard output is for what a command found.

    Ray has no switch for it: a thread of its own prints there, whatever `log_to_driver` says.
    """
    ray_s, name = ray._private.worker, "print_to_stdstream"
    write = getattr(ray_s, name)

    def told(data: dict[str, Any], *arguments: Any, **options: Any) -> None:
        lines = [str(line).partition("\n")[0] for line in data["lines"]]
        write({**data, "lines": lines, "is_err": True}, *arguments, **options)

    setattr(ray_s, name, told)


class ClusterError(UserError):
    """There is no such cluster, or it cannot be used."""


@dataclass(frozen=True)
class Cluster:
    """The machines of a Ray cluster, in the place of a number of processes.

    Attributes:
        address: `HOST:PORT` of its head, as `ray start --head` prints it, or `auto` for the one that runs here.
    """

    address: str

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """The cluster that `ray:ADDRESS` names.

        Raises:
            ClusterError: For another text.
        """
        kind, _, address = text.partition(":")
        if kind != "ray" or not re.fullmatch(r"auto|[\w.-]+:\d+|\[[\da-f:]+\]:\d+", address):
            raise ClusterError(f"{text!r}: unknown; use ray:auto, or ray:HOST:PORT as `ray start --head` prints it")
        return cls(address)

    def __str__(self) -> str:
        return f"ray:{self.address}"

    def connect(self) -> Any:
        """The module `ray`, connected to the cluster.

        Raises:
            ClusterError: If Ray is not installed, or no cluster answers.
        """
        try:
            import ray
        except ImportError as error:
            raise ClusterError(missing_extra(error, f"--executor {self}") or f"{self}: {error}") from error
        self._require_answer()
        if ray.is_initialized():
            there = ray.get_runtime_context().gcs_address
            if self.address != "auto" and not _same_place(self.address, there):
                raise ClusterError(
                    f"{self}: this program uses the cluster at {there}; end that with ray.shutdown() first"
                )
            return ray
        try:
            ray.init(
                self.address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                # Of the processes that take tasks; the solvers' own processes start from a clean one.
                runtime_env={"env_vars": {"HF_SYMBINV_LIGHT": "1"}},
            )
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise ClusterError(f"{self}: cannot be used ({first_line(error)}); {START}") from error
        _keep_standard_output(ray)
        return ray

    def _require_answer(self) -> None:
        """Asks the head once; Ray would ask a head that is not there for a minute, in lines of its own log."""
        import socket

        if self.address == "auto":
            return
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise ClusterError(f"{self}: no cluster answers there ({first_line(error)}); {START}") from error


def _same_place(given: str, known: str) -> bool:
    """Whether the address a user gave is the one Ray knows; a head is known by its address, given also as localhost."""
    import socket

    (host, _, port), (known_host, _, known_port) = given.rpartition(":"), known.rpartition(":")
    found = socket.getaddrinfo(host.strip("[]"), None)[0][4][0]
    return port == known_port and (found in (known_host.strip("[]"), "::1") or str(found).startswith("127."))


START = "start one with `ray start --head`, and give the address that it prints"
Workers = int | Cluster | None


def open_pool(
    function: Callable[[Any], Any],
    *,
    workers: Workers,
    timeout: float,
    initializer: Callable[[], object] = no_preparation,
    isolate: int | None = None,
    memory: float = MEMORY,
    wall: float | None = None,
) -> ProcessPool | RayPool:
    """A pool of processes here, or on a cluster; the arguments and errors are those of `ProcessPool`.

    Raises:
        ClusterError: If the cluster cannot be used.
    """
    if isinstance(workers, Cluster):
        return RayPool(Plan.of(function, timeout, initializer, isolate, memory, wall), workers)
    return ProcessPool(
        function, workers=workers, timeout=timeout, initializer=initializer, isolate=isolate, memory=memory, wall=wall
    )


@dataclass
class _Task:
    """Consecutive items that one task of Ray computes."""

    size: int
    outcomes: list[Outcome] = field(default_factory=list)


class RayPool:
    """`ProcessPool` on the machines of a cluster.

    Args:
        plan: What is computed, within which limits.
        cluster: Where.

    Raises:
        ClusterError: If the cluster cannot be used.
    """

    def __init__(self, plan: Plan, cluster: Cluster) -> None:
        self.cluster, self.timeout = cluster, plan.timeout
        self._ray = cluster.connect()
        self._isolate = plan.isolate
        self._plan = self._ray.put(plan)
        # A machine that is gone is nobody's fault: its tasks are repeated as often as it takes.
        self._compute = self._ray.remote(num_cpus=1, max_retries=-1)(compute)
        self._item_seconds = TASK_SECONDS  # moving average; the first tasks hold one item
        self._cores, self._looked, self._alone_since = 0, -LOOK_SECONDS, time.monotonic()
        self._mapping = False

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def warm_up(self) -> None:
        """Wait until a process is ready on one of the machines; the errors are those of `ProcessPool.warm_up`."""
        self._get(self._compute.remote(self._plan, []))

    def close(self) -> None:
        """Nothing to end: processes on the machines end with the connection of this program."""

    def map(self, items: Iterable[Any], *, window: int | None = None) -> Generator[Outcome, None, None]:
        """As `ProcessPool.map`.

        Raises:
            PoolError: If processes cannot start, or the cluster has had no core for minutes.
        """
        if window is not None and window < 1:
            raise ValueError(f"window={window}: at least one item must be read ahead")
        if self._mapping:
            raise RuntimeError("this pool is busy: exhaust or close the iterator of its other map first")
        self._mapping = True
        under_way: dict[Any, _Task] = {}
        try:
            yield from self._run(iter(items), window, under_way)
        finally:
            self._mapping = False
            for reference in under_way:
                self._ray.cancel(reference, force=True)  # ends the process that computes it

    def _run(self, items: Iterator[Any], window: int | None, under_way: dict[Any, _Task]) -> Iterator[Outcome]:
        order, ahead = deque[_Task](), 0
        while True:
            most = max(window or WINDOW_PER_WORKER * self.cores, self._isolate or 1)
            while len(under_way) < TASKS_PER_CORE * self.cores and ahead < most:
                chunk = list(islice(items, self._isolate or min(self._pace, most - ahead)))
                if not chunk:
                    break
                ahead += len(chunk)
                order.append(_Task(len(chunk)))
                under_way[self._compute.remote(self._plan, chunk)] = order[-1]
            if not order:
                return
            self._receive(under_way, block=not order[0].outcomes)
            while order and order[0].outcomes:
                for outcome in order.popleft().outcomes:
                    ahead -= 1
                    yield outcome

    @property
    def cores(self) -> int:
        """Cores that the cluster has now, at least 1.

        Raises:
            PoolError: If it has had none for minutes.
        """
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._cores, self._looked = int(self._ray.cluster_resources().get("CPU", 0)), now
            if self._cores:
                self._alone_since = now
            elif now - self._alone_since > PREPARE_SECONDS:
                raise PoolError(
                    f"{self.cluster}: has had no core for {PREPARE_SECONDS:g} s; add machines with `ray start "
                    "--address`, and repeat the command"
                )
        return max(self._cores, 1)

    @property
    def _pace(self) -> int:
        """Items of a task."""
        return min(max(int(TASK_SECONDS / self._item_seconds), 1), LARGEST_CHUNK)

    def _receive(self, under_way: dict[Any, _Task], *, block: bool) -> None:
        ready, _ = self._ray.wait(list(under_way), num_returns=1, timeout=LOOK_SECONDS if block else 0)
        for reference in ready:
            task = under_way.pop(reference)
            task.outcomes = self._get(reference)
            mean = sum(outcome.seconds for outcome in task.outcomes) / task.size
            self._item_seconds = max(0.5 * self._item_seconds + 0.5 * mean, 1e-6)

    def _get(self, reference: Any) -> list[Outcome]:
        try:
            return [Outcome(*outcome) for outcome in self._ray.get(reference)]
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause or error
            if isinstance(cause, ImportError):  # of a solver that a machine lacks
                raise ImportError(f"{self.cluster}: {cause}") from None
            raise PoolError(f"{self.cluster}: {cause}") from None
        except self._ray.exceptions.RayError as error:
            raise PoolError(f"{self.cluster}: {first_line(error)}; repeat the command") from error


# Of a process that takes tasks of Ray; such a process serves one program.
_pools: dict[Plan, ProcessPool] = {}


def compute(plan: Plan, items: list[Any]) -> list[tuple[Any, ...]]:
    """A task of Ray: the outcomes of items, in a process beside this one that stays for the next task.

    Without items it ends when that process is ready.
    """
    os.environ.pop("HF_SYMBINV_LIGHT", None)
    if plan not in _pools:
        own = [entry for entry in plan.setup.path if os.path.exists(entry or ".")]
        path = [*own, *(entry for entry in sys.path if entry not in own)]
        _pools[plan] = ProcessPool.of_plan(plan._replace(setup=plan.setup._replace(path=path)), 1)
    if not items:
        _pools[plan].warm_up()
    return [tuple(outcome) for outcome in _pools[plan].map(items)]
