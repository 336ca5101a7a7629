"""Tables whose models are trained on a real Ray cluster of nodes on this machine."""

import pytest

from hf_symbinv.solvers import Cluster
from papers.__main__ import UNUSABLE
from papers.__main__ import main as papers
from papers.catalogue import load_scale
from papers.harness.measures import TRIED, Share
from papers.harness.reproduction import reproduce
from papers.harness.searching import finalists
from papers.harness.spreading import spread
from papers.harness.tables import Row, Table, Training
from papers.harness.workspace import Workspace

LEARNED = Training("copy", model="learned")
TABLE = Table(
    "copies", "Copies", "a test", ("model",), (Share(),), unit="Percent",
    rows=(Row(("streams",), Training("copy")), Row(("rows",), LEARNED), Row(("rows again",), LEARNED)),
)  # fmt: skip


@pytest.mark.slow
def test_what_a_cluster_leaves_is_the_table_of_one_machine(nodes, tmp_path):
    """A model is trained once, also where two rows have it."""
    scale, cluster, said = load_scale("smoke"), Cluster(nodes.address), []
    there = Workspace(tmp_path / "there", scale, say=said.append, cluster=cluster)
    spread(there, [TABLE], (0,), cluster)
    assert "2 of 2 are done" in said[-1]
    hurried = Workspace(tmp_path / "there", scale, max_seconds=0.0)  # without time to train or measure
    found, expected = reproduce(hurried, TABLE, (0,)), reproduce(Workspace(tmp_path / "here", scale), TABLE, (0,))
    assert not found.missing
    assert [made.numbers for made in found.rows] == [made.numbers for made in expected.rows]
    said.clear()
    spread(there, [TABLE], (0,), cluster)  # what is there is used
    assert said == []


@pytest.mark.slow
def test_a_cluster_trains_trials_and_those_that_are_not_told_from_the_best_one(nodes, tmp_path):
    trials = tuple(Training("prop", model="learned", learning_rate=rate, trial=True) for rate in (0.001, 0.0011))
    searched = Row(("tuned",), Training("prop", model="learned"), search=trials)
    table = Table("tuned", "Tuning", "a test", ("model",), (Share(),), (searched,), "Percent")
    scale, cluster, said = load_scale("smoke"), Cluster(nodes.address), []
    spread(Workspace(tmp_path, scale, say=said.append, cluster=cluster), [table], (0,), cluster)
    assert not [line for line in said if line.startswith(("run", "measure"))]  # which this process would say
    hurried = Workspace(tmp_path, scale, max_seconds=0.0)
    assert not reproduce(hurried, table, (0,)).missing
    found = finalists(hurried, searched, 0)
    assert len(found) >= 2 and all(hurried.result(one, 0, TRIED.measurement).exists() for one in found)


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("ray", "'ray': unknown; use ray:auto, or ray:HOST:PORT as `ray start --head` prints it"),
        ("ray:127.0.0.1:9", "ray:127.0.0.1:9: no cluster answers there"),
    ],
)
def test_a_cluster_that_there_is_not_is_refused_before_anything_is_made(executor, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        papers(["lexinv-markov", "--output", str(tmp_path / "out"), "--executor", executor])
    assert stopped.value.code == UNUSABLE
    assert f"python -m papers: error: {message}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
