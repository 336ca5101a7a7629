"""Jobs of minutes: in this process or on a real Ray cluster of nodes on this machine."""

import os
import threading
import time

import pytest

from hf_symbinv.errors import InUseError, UserError
from hf_symbinv.solvers import Cluster, ClusterError
from papers.harness.jobs import _attempt, run_jobs

pytest.importorskip("ray", reason="the cluster needs Ray")


@pytest.fixture
def cluster(nodes):
    return Cluster.parse(f"ray:{nodes.address}")


# Local functions travel by value: the nodes cannot import this file.


def test_results_come_in_the_order_of_the_jobs_whose_folder_and_variables_are_those_of_this_process(
    cluster, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_SYMBINV_PROSE", "novels.txt")
    (tmp_path / "here").write_text("")

    def job(number):
        import os

        return number, os.listdir(), os.environ["HF_SYMBINV_PROSE"]

    jobs, said = [lambda number=number: job(number) for number in range(3)], []
    assert run_jobs(jobs, cluster, said.append) == run_jobs(jobs) == [(n, ["here"], "novels.txt") for n in range(3)]
    assert [line.partition(",")[0] for line in said] == ["1 of 3 are done", "2 of 3 are done", "3 of 3 are done"]
    assert run_jobs([], cluster) == run_jobs([]) == []


def test_what_a_user_can_mend_is_raised_here_and_the_others_end(nodes, join, cluster, tmp_path):
    node = join()

    def sleep(path=tmp_path / "pid"):
        import os
        import time

        path.write_text(str(os.getpid()))
        time.sleep(600)

    def refuse(path=tmp_path / "pid"):
        import time

        while not path.exists() or not path.read_text():
            time.sleep(0.05)
        raise UserError("data/ltl: damaged; make it again")

    with pytest.raises(UserError, match=r"^data/ltl: damaged; make it again$"):
        run_jobs([sleep, refuse], cluster)
    process, deadline = f"/proc/{(tmp_path / 'pid').read_text()}", time.monotonic() + 30
    while os.path.exists(process) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not os.path.exists(process)
    nodes.remove_node(node, allow_graceful=False)


def test_a_bug_keeps_the_lines_where_it_is(cluster):
    def fail():
        return {}["missing"]

    with pytest.raises(KeyError, match=r"(?s)in fail.*missing"):
        run_jobs([fail], cluster)


def test_a_job_whose_folder_is_in_use_is_tried_again_after_others(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("papers.harness.jobs.AGAIN_SECONDS", 0.1)

    def first(path=tmp_path / "free"):
        if not path.exists():
            raise InUseError("runs/one: another process is training here")
        return "first"

    def second(path=tmp_path / "free"):
        path.write_text("")
        return "second"

    assert run_jobs([first, second], cluster) == ["first", "second"]


def test_jobs_of_a_node_that_dies_are_done_on_another(nodes, join, cluster, tmp_path):
    doomed, found = join(), []

    def job(number, folder=tmp_path):
        import os
        import time

        (folder / f"{number}-{os.getpid()}").write_text("")
        while not (folder / "go").exists():
            time.sleep(0.05)
        return number

    thread = threading.Thread(
        target=lambda: found.extend(run_jobs([lambda n=n: job(n) for n in range(2)], cluster)), daemon=True
    )
    thread.start()
    deadline = time.monotonic() + 120
    while len(list(tmp_path.iterdir())) < 2:
        assert time.monotonic() < deadline, "Ray started no second process"
        time.sleep(0.05)
    processes = [f"/proc/{path.name.partition('-')[2]}" for path in tmp_path.iterdir()]
    nodes.remove_node(doomed, allow_graceful=False)
    while all(map(os.path.exists, processes)):  # its process sees that the node is gone, and ends
        assert time.monotonic() < deadline, "no process of the node ended"
        time.sleep(0.05)
    (tmp_path / "go").write_text("")
    thread.join(120)
    assert found == [0, 1]
    assert len(list(tmp_path.iterdir())) == 4  # two starts, the one that was repeated, and the sign


def test_a_machine_with_enough_cores_is_missed(cluster, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    with pytest.raises(ClusterError, match="has no machine with 64 cores, which OMP_NUM_THREADS asks for; add one"):
        run_jobs([os.getpid], cluster)


def test_a_machine_without_the_folder_is_named():
    with pytest.raises(ClusterError, match=r"/nowhere: No such file or directory on .*; start the command in a folder"):
        _attempt(os.getpid, "/nowhere")
