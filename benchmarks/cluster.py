"""Data generation on a Ray cluster of one-core nodes on this machine, beside as many processes of the pool.

Both make the same shards. A turn starts its processes anew, but the cluster stands, as one of several machines would.
A turn takes about a minute with one process: the start of Ray's processes takes seconds, however long they work then.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness import Row, Setting, in_turn
from spot_ratio import LIMIT, ROWS, SIZE, seconds

from hf_symbinv.datasets_scripts.questions.benchmarks import LtlRandomConfig
from hf_symbinv.datasets_scripts.questions.builder import generate
from hf_symbinv.solvers import Cluster, Workers

NODES = (1, 2, 4)
MEMORY = 80 * 2**20  # of a node's store, in bytes


def rate(workers: Workers, rows: int, size: int) -> float:
    """Pairs per second of wall-clock time."""
    config = LtlRandomConfig(name="benchmark", max_size=size, rows=rows, timeout=LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        return rows / seconds(lambda: generate(config, Path(folder), workers, progress=False))


def nodes_beside_processes(setting: Setting) -> list[Row]:
    """Pairs per second of each number of nodes."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    rows, size = (30, 10) if setting.tiny else (2 * ROWS, SIZE)
    store = {"object_store_memory": MEMORY}
    cluster = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **store})
    found = []
    try:
        there = Cluster(cluster.address)
        for count in NODES[: 1 if setting.tiny else None]:
            while len(cluster.list_all_nodes()) <= count:
                cluster.add_node(num_cpus=1, **store)
            cluster.wait_for_nodes()
            values = in_turn(
                setting,
                lambda: rate(there, rows, size),
                lambda count=count: rate(count, rows, size),
                warm_up=False,
            )
            what, peer = f"data generation on a Ray cluster, nodes: {count}", f"processes: {count}"
            note = f"{rows} pairs up to {size} nodes, wall-clock time"
            found.append(Row(f"cluster-{count}", what, peer, "/s", "at least", 0.9, *values, note))
    finally:
        ray.shutdown()
        cluster.shutdown()
    return found


BENCHMARKS = {"cluster": nodes_beside_processes}
