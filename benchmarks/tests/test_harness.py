"""Benchmarks take turns, say what they measured, and keep it; how fast anything is, is no matter of tests."""

import ctypes
import importlib
import json
import re

import pytest


@pytest.fixture
def harness():
    import harness

    return harness


@pytest.fixture
def run(capsys):
    """`run(*arguments)`: exit code, output and errors of the command."""

    def call(*arguments):
        from run import main

        try:
            code = main(list(arguments))
        except SystemExit as exit:
            code = exit.code
        return code, *capsys.readouterr()

    return call


def row(harness, sense="at least", goal=2.0, ours=(1.0, 2.0, 4.0), theirs=(4.0, 4.0, 4.0), unit="s"):
    return harness.Row("name", "what", "peer", unit, sense, goal, ours, theirs)


def test_ours_and_peer_take_turns_after_one_that_does_not_count(harness):
    calls = []
    values = harness.in_turn(harness.Setting(repeats=2), lambda: calls.append("A"), lambda: calls.append("B") or 7.0)
    assert calls == ["A", "B"] * 3
    assert len(values[0]) == 2 and all(value > 0 for value in values[0])
    assert values[1] == [7.0, 7.0]


def test_the_ratio_is_how_many_times_better_or_how_many_times_as_much(harness):
    assert row(harness).ratios == [4.0, 2.0, 1.0]
    assert row(harness, "at most").ratios == [0.25, 0.5, 1.0]
    assert row(harness, unit="/s").ratios == [0.25, 0.5, 1.0]
    assert row(harness, "at most", theirs=()).ratios == [1.0, 2.0, 4.0]


def test_a_goal_is_met_by_the_median(harness):
    assert row(harness, goal=2.0).met and not row(harness, goal=2.1).met
    assert row(harness, "at most", 0.5).met and not row(harness, "at most", 0.4).met


def test_a_table_has_a_row_for_each_claim_and_says_where_it_was_measured(harness):
    report = {"environment": harness.environment(harness.Setting()), "rows": [row(harness).to_dict()]}
    head, _, *lines = harness.table(json.loads(json.dumps(report))).splitlines()
    assert "torch" in head and "commit" in head
    assert lines[-1] == "| what | peer | 2 (1-4) | ≥ 2 | met | 2 s | 4 s |"


@pytest.mark.slow
def test_a_function_runs_in_a_process_of_its_own_and_its_failure_is_shown(harness):
    setting = harness.Setting(tiny=True)
    found = harness.in_own_process("memory", "train", setting, symbols=5, transcribed=False)
    assert found["peak"] >= found["above"] > 0
    with pytest.raises(RuntimeError, match=r"(?s)harness.peak_memory\{'held': None\}.*TypeError"):
        harness.in_own_process("harness", "peak_memory", setting, held=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no NAME: use `all` or some of starting"),
        (("nothing",), "nothing: use `all` or some of starting"),
        (("starting", "--repeats", "4"), "--repeats 4: a median needs at least 5"),
        (("starting", "--threads", "0"), "--threads 0: torch needs at least 1"),
    ],
)
def test_bad_arguments_are_refused_with_a_reason(run, arguments, message):
    code, _, errors = run(*arguments)
    assert code == 2 and message in errors


def test_every_benchmark_of_the_page_exists_and_the_other_way_round(run, scripts):
    _, listed, _ = run("--list")
    page = (scripts / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, flags=re.MULTILINE)) == set(listed.split())


NAMES = [
    "training-step", "training-two-processes", "decoding-no-cache", "decoding-finished",
    "decoding-bart", "decoding-10-symbols", "decoding-top-25", "decoding-one-at-a-time",
    "forward-linear", "alpha-covariance", "memory", "forward-many-symbols", "spot", "spot-all-cores",
    "starting", "tokenizing", "visitors",
]  # fmt: skip


def in_this_process(module, function, setting, **arguments):
    """What `in_own_process` returns, but for the memory, which is that of a process that has done other things."""
    # Returns what earlier calls left in the heap; with that at hand, a call might need no more memory than is held.
    ctypes.CDLL(None).malloc_trim(0)
    job = json.loads(json.dumps(arguments))
    return json.loads(json.dumps(getattr(importlib.import_module(module), function)(setting, **job)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_runs_at_toy_size_and_leaves_a_report(run, tmp_path, monkeypatch, name):
    """Ten processes that import torch would take most of the time; `spot` starts its own, as the test of that does."""
    for module in ("memory", "scaling"):
        monkeypatch.setattr(f"{module}.in_own_process", in_this_process)
    out = tmp_path / "results" / "report.json"
    code, printed, _ = run(name, "--tiny", "--repeats", "1", "--threads", "1", "--device", "cpu", "--out", str(out))
    report = json.loads(out.read_text(encoding="utf-8"))
    assert code == 0 and report["rows"] and report["tiny"] is True and list(report["seconds"]) == [name]
    names = [row["name"] for row in report["rows"]]
    assert len(set(names)) == len(names)
    assert {"cpu", "cores", "memory_GB", "threads", "packages", "commit"} <= set(report["environment"])
    for measured in report["rows"]:
        assert re.search(rf"^{measured['name']} +[0-9.]", printed, flags=re.MULTILINE)
        assert len(measured["ours"]) == 1 and measured["ratio"]["min"] > 0
    assert out.with_suffix(".md").read_text(encoding="utf-8").count("\n| ") == len(names) + 1


def test_two_processes_are_left_out_where_they_would_share_a_core(run, harness, monkeypatch):
    import processes

    monkeypatch.setattr(processes, "available_cores", lambda: 1)
    code, printed, errors = run("training-two-processes", "--threads", "1")
    assert code == 0 and len(printed.splitlines()) == 1
    assert "training-two-processes: left out, two processes need two cores" in errors


@pytest.mark.slow
def test_a_training_that_fails_is_no_measurement(harness, tmp_path):
    import processes

    with pytest.raises(RuntimeError, match=r"(?s)1 processes: the training failed:.*nowhere"):
        processes.rows_per_second(1, tmp_path / "nowhere", 16, harness.Setting(tiny=True))


def test_a_training_by_another_number_of_processes_is_no_measurement(scripts):
    import processes

    record = {"processes": 1, "results": {"train_samples_per_second": 7.5}}
    assert processes.rate(record, 1) == 7.5
    with pytest.raises(RuntimeError, match="2 processes were asked for and 1 trained"):
        processes.rate(record, 2)
