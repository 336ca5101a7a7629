"""`symbinv ablate` compares component sets, goes on where it stopped, and refuses what names no model."""

import json
import subprocess
import sys
import time

import pytest

from hf_symbinv.cli import BAD_INPUT, DONE, UNFINISHED
from hf_symbinv.cli import main as symbinv

SMALL = ["trainer.max_steps=4", "trainer.eval_strategy=no", "data.rows=400", "test_rows=20"]


@pytest.mark.slow
def test_sets_and_seeds_become_rows_with_intervals_over_all_answers(tmp_path, capsys):
    arguments = ["ablate", "prop-smoke", "EP-DP-CP", "DP-CP", "--seeds", "2", "--output", str(tmp_path), *SMALL]
    assert symbinv([*arguments, "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)
    assert [row["components"] for row in rows] == ["EP-DP-CP", "DP-CP"]
    assert all(row["count"] == 40 and row["seeds"] == 2 for row in rows)
    assert rows[0]["parameters"] > rows[1]["parameters"]
    records = [json.loads((tmp_path / f"DP-CP-seed{seed}" / "run.json").read_text()) for seed in (0, 1)]
    assert rows[1]["correct"] == sum(round(20 * record["results"]["test_accuracy"]) for record in records)
    assert [record["recipe"]["trainer"]["seed"] for record in records] == [0, 1]

    assert symbinv(arguments) == DONE  # what is there is used
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[2].startswith("DP-CP ") and lines[2].endswith(" 40")


@pytest.mark.slow
def test_a_call_without_time_says_how_to_go_on(tmp_path, capsys):
    arguments = ["ablate", "prop-smoke", "EP-DP-CP", "--output", str(tmp_path), "--max-minutes", "0.0001", *SMALL]
    assert symbinv(arguments) == UNFINISHED
    assert "time is up; repeat the command to go on with EP-DP-CP" in capsys.readouterr().err


@pytest.mark.slow
def test_on_a_cluster_a_node_of_which_dies_the_table_is_the_same(nodes, join, tmp_path, capsys):
    """A training on each of two nodes; what the one that dies had begun goes on elsewhere."""
    rows = ["--task", "prop", "--rows", "400", "--max-size", "8"]
    assert symbinv(["data", *rows, "--output", str(tmp_path / "data")]) == DONE
    sizes = ["trainer.max_steps=12", "trainer.save_steps=2", "trainer.eval_strategy=no", "test_rows=20"]
    words = ["ablate", "prop-smoke", "EP-DP-CP", "DP-CP", "--data", str(tmp_path / "data"), *sizes]
    there, here = tmp_path / "there", tmp_path / "here"
    command = [*words, "--output", str(there), "--executor", f"ray:{nodes.address}"]
    doomed = join()
    with (
        open(tmp_path / "said", "w+", encoding="utf-8") as said,
        subprocess.Popen([sys.executable, "-m", "symbinv", *command], stdout=subprocess.PIPE, stderr=said) as run,
    ):
        while run.poll() is None and len({path.parent for path in there.glob("*/checkpoint-*/seconds.json")}) < 2:
            time.sleep(0.01)
        assert run.poll() is None, "the run was too quick to disturb it"
        nodes.remove_node(doomed, allow_graceful=False)
        table = run.communicate()[0].decode()
        said.seek(0)
        assert run.returncode == DONE, said.read()
    capsys.readouterr()
    assert symbinv([*words, "--output", str(here)]) == DONE
    assert capsys.readouterr().out == table and len(table.splitlines()) == 3
    for path in here.glob("*/model.safetensors"):
        assert path.read_bytes() == (there / path.relative_to(here)).read_bytes()

    written = {path: path.stat().st_mtime for path in there.glob("*/run.json")}
    assert symbinv(command) == DONE  # what is there is used
    assert capsys.readouterr().out == table
    assert written == {path: path.stat().st_mtime for path in there.glob("*/run.json")} and len(written) == 2


def test_without_a_cluster_at_the_address_nothing_is_trained(tmp_path, capsys):
    command = ["ablate", "prop-smoke", "EP-DP-CP", "--output", str(tmp_path / "runs"), "--executor", "ray:127.0.0.1:9"]
    assert symbinv(command) == BAD_INPUT
    assert "ray:127.0.0.1:9: no cluster answers there" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["EP-CP"], "the decoder would not see the answer so far"),
        (["EP-DP-CX"], "unknown component 'CX'"),
        (["EP-DP-CP", "model.num_heads=3"], "num_heads=3: unknown field"),
    ],
)
def test_sets_that_name_no_model_are_refused_before_any_training(tmp_path, capsys, words, message):
    assert symbinv(["ablate", "prop-smoke", *words, "--output", str(tmp_path / "runs")]) == BAD_INPUT
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_no_set_at_all_is_a_usage_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        symbinv(["ablate", "prop-smoke", "trainer.max_steps=3", "--output", str(tmp_path)])
    assert "no COMPONENTS" in capsys.readouterr().err
