"""A real Ray cluster of several nodes on this machine does what the pool of processes does."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter

import pytest

from hf_symbinv.cli.__main__ import main
from hf_symbinv.solvers import Checker, Cluster, ClusterError, PoolError, ProcessPool, RayPool, open_pool

pytest.importorskip("ray", reason="the cluster needs Ray")


@pytest.fixture
def cluster(nodes):
    return Cluster.parse(f"ray:{nodes.address}")


def without_seconds(outcomes):
    return [(one.status, one.value) for one in outcomes]


ORDERS = [
    *(("return", number) for number in range(200)),
    ("raise", "no"), ("sleep", 30), ("die", signal.SIGKILL), ("allocate", 3 * 10**9), ("return", "last"),
]  # fmt: skip


def test_outcomes_are_those_of_the_pool_of_processes(functions, cluster):
    with ProcessPool(functions.behave, workers=1, timeout=1.0, memory=1.0) as pool:
        expected = without_seconds(pool.map(ORDERS))
    with open_pool(functions.behave, workers=cluster, timeout=1.0, memory=1.0) as pool:
        assert isinstance(pool, RayPool)
        assert without_seconds(pool.map(ORDERS)) == expected
        assert without_seconds(pool.map([])) == []
    assert [status for status, _ in expected[200:]] == ["error", "timeout", "error", "error", "done"]


def test_a_run_sees_nothing_of_another(functions, cluster):
    with open_pool(functions.count_calls, workers=cluster, timeout=5.0, isolate=3) as pool:
        assert [one.value for one in pool.map(range(8))] == [1, 2, 3, 1, 2, 3, 1, 2]


def test_an_iterator_that_is_dropped_frees_the_cluster(functions, cluster):
    with open_pool(functions.behave, workers=cluster, timeout=60.0) as pool:
        outcomes = pool.map(("return" if number < 3 else "sleep", 50) for number in range(9))
        assert next(outcomes).value == 50
        with pytest.raises(RuntimeError, match="exhaust or close the iterator"):
            next(pool.map([("return", 1)]))
        outcomes.close()
        [one] = pool.map([("return", 2)])
        assert one.value == 2


def test_processes_that_cannot_start_are_named(functions, cluster):
    with (
        open_pool(functions.behave, workers=cluster, timeout=5.0, initializer=functions.warm_up_and_fail) as pool,
        pytest.raises(PoolError, match=r"(?s)ray:.*no solver here"),
    ):
        list(pool.map([("return", 1)]))


def test_answers_are_checked_on_a_cluster(cluster):
    pairs = [("Uab", "a;{b}"), ("Uab", "{a}"), ("Uab", "{b}")]
    with Checker(workers=cluster) as there, Checker(workers=1) as here:
        assert [one.verdict for one in there.check(pairs)] == [one.verdict for one in here.check(pairs)]


def test_verify_takes_a_cluster(cluster, capsys):
    assert main(["verify", "a U b", "a; cycle{b}", "--executor", str(cluster)]) == 0
    assert "correct" in capsys.readouterr().out


def sums(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def data(folder, *where):
    """The command that makes a data set of some seconds of work."""
    return [
        *(sys.executable, "-m", "symbinv", "data", "--task", "ltl", "--rows", "1600", "--max-size", "25", "--seed"),
        *("3", "--output", str(folder), *where),
    ]


def test_a_data_set_has_the_same_bytes_though_a_node_dies_and_another_joins(nodes, join, cluster, tmp_path):
    subprocess.run(data(tmp_path / "here", "--workers", "1"), check=True, capture_output=True)
    doomed = join()
    with (
        open(tmp_path / "said", "w+", encoding="utf-8") as said,
        subprocess.Popen(data(tmp_path / "there", "--executor", str(cluster)), stdout=said, stderr=said) as run,
    ):
        wait_for_shards(tmp_path / "there" / ".work", run, 2)
        nodes.remove_node(doomed, allow_graceful=False)
        join()
        assert run.wait() == 0, (tmp_path / "said").read_text(encoding="utf-8")
    assert sums(tmp_path / "there") == sums(tmp_path / "here")


def wait_for_shards(work, run, count):
    while run.poll() is None and len(list(work.glob("*.json"))) < count:
        time.sleep(0.01)
    assert run.poll() is None, "the run was too quick to disturb it"


NOTING = """
import time
from pathlib import Path

from hf_symbinv.tasks.copying import CopyTask


class Noting(CopyTask):
    name = "noting"
    shard = 20

    def solve(self, question):
        with Path(__file__).with_name("solved").open("a") as file:
            file.write(f"{question}\\n")
        time.sleep(0.01)
        return super().solve(question)


TASK = Noting()
"""


def test_finished_shards_of_a_command_that_was_killed_are_not_solved_again(cluster, tmp_path):
    (tmp_path / "noting.py").write_text(NOTING)
    sizes = ["--num-symbols", "5", "--min-size", "3", "--max-size", "8", "--rows", "300"]
    command = [*(sys.executable, "-m", "symbinv", "data", "--task", str(tmp_path / "noting.py")), *sizes]
    command += ["--output", str(tmp_path / "made"), "--executor", str(cluster)]
    work, solved = tmp_path / "made" / ".work", tmp_path / "solved"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        wait_for_shards(work, run, 3)
        run.kill()
    finished = [question for path in work.glob("*.json") for question, *_ in json.loads(path.read_text())]
    assert 60 <= len(finished) < 300
    subprocess.run(command, check=True, capture_output=True)
    times = Counter(solved.read_text().splitlines())
    assert {times[question] for question in finished} == {1}
    assert len(times) >= 300


def measured(capsys, *words):
    """What `symbinv evaluate --json` finds, without times."""
    capsys.readouterr()
    assert main(["evaluate", "prop-small", "--json", *map(str, words)]) == 0
    return json.loads(capsys.readouterr().out)["groups"]


def test_evaluate_takes_a_cluster(cluster, tmp_path, capsys, monkeypatch):
    sizes = ["--num-symbols", "3", "--max-size", "8", "--rows", "100", "--workers", "1"]
    assert main(["data", "--task", "prop", *sizes, "--output", str(tmp_path / "data")]) == 0
    words = ["--data", tmp_path / "data", "--rows", "10", "--max-new-tokens", "12"]
    asked, usual = [], RayPool.map
    monkeypatch.setattr(
        RayPool, "map", lambda pool, items, **how: asked.append(pool.cluster) or usual(pool, items, **how)
    )
    found = measured(capsys, *words, "--executor", cluster)
    assert set(asked) == {cluster}
    assert found == measured(capsys, *words)


@pytest.mark.parametrize("text", ["ray", "ray:", "ray:host", "slurm:host:1", "ray:a b:1", "127.0.0.1:6379"])
def test_an_executor_that_is_none_is_refused(text, tmp_path, capsys):
    with pytest.raises(ClusterError, match="use ray:auto, or ray:HOST:PORT"):
        Cluster.parse(text)
    assert main(["data", "--output", str(tmp_path / "data"), "--executor", text]) == 2
    assert "ray:HOST:PORT" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", "--data", str(tmp_path / "data"), "--executor", text])
    assert "ray:HOST:PORT" in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_refused_in_one_sentence(tmp_path):
    run = subprocess.run(
        data(tmp_path / "data", "--executor", "ray:127.0.0.1:9"), capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "ray:127.0.0.1:9: no cluster answers there" in run.stderr
    assert "ray start --head" in run.stderr
    assert not (tmp_path / "data").exists()


def test_a_program_that_uses_one_cluster_is_told_so_when_it_names_another(cluster):
    cluster.connect()
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"ray:{address}: this program uses the cluster at .*shutdown"):
            Cluster(address).connect()
    assert Cluster("auto").connect() is cluster.connect()


def test_without_ray_the_package_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"needs ray, .*pip install 'hf_symbinv\[cluster\]'"):
        Cluster("auto").connect()


def test_workers_and_executor_exclude_each_other(tmp_path, capsys):
    command = ["data", "--output", str(tmp_path / "data"), "--workers", "1", "--executor", "ray:auto"]
    assert main(command) == 2
    assert "--workers: not together with --executor" in capsys.readouterr().err


def test_nothing_of_a_killed_program_stays_on_the_cluster(functions, nodes, cluster, tmp_path):
    """The processes of items end with the program that asked for them."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "import pool_functions\n"
        "from hf_symbinv.solvers import Cluster, open_pool\n"
        "pool = open_pool(pool_functions.behave, workers=Cluster(sys.argv[1]), timeout=600.0)\n"
        "outcomes = pool.map([('pid', None), ('sleep', 500)])\n"
        "print(next(outcomes).value, flush=True)\n"
        "next(outcomes)\n"
    )
    command = [sys.executable, "-c", script, nodes.address, os.path.dirname(functions.__file__)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        pid = int(run.stdout.readline())
        run.kill()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{pid}")
