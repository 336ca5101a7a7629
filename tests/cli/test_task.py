"""`symbinv task`: a new task keeps all laws, and a law that is broken is a line with a counterexample."""

import json

import pytest


@pytest.fixture
def started(symbinv, tmp_path, monkeypatch):
    """`started(name)`: the file of a new task, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def start(name):
        result = symbinv("task", "new", name)
        stem = name.removesuffix(".py")
        assert result == (0, f"{name}: the task {stem}; try `symbinv task check {name}`\n", "")
        return tmp_path / name

    return start


def test_a_new_task_keeps_all_laws_and_makes_data(started, symbinv):
    started("again_one.py")
    result = symbinv("task", "check", "again_one.py", "--questions", "10", "--max-size", "6")
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert len(lines) == 11 and all(line.startswith("ok      ") for line in lines[:-1])
    assert lines[-1] == "task again_one: all 10 laws hold"
    asked = ["--task", "again_one.py", "--num-symbols", "3", "--min-size", "2", "--max-size", "5", "--rows", "60"]
    assert symbinv("data", *asked, "--workers", "1", "--output", "made").out.startswith("made: 48 train")


def test_a_broken_law_has_a_counterexample_and_exit_code_one(started, symbinv):
    file = started("again_two.py")
    file.write_text(file.read_text().replace("if name and count > 1)", "if name and count > 0)"))
    result = symbinv("task", "check", "again_two.py")
    failed = [line for line in result.out.splitlines() if line.startswith("failed")]
    assert result.code == 1 and len(failed) == 1 and failed[0].startswith("failed  answers ")
    assert "ordered and completed correct; but solve('" in failed[0] and "occurs 1 times" in failed[0]
    assert result.out.endswith("task again_two: 1 of 10 laws do not hold\n")
    result = symbinv("task", "check", "again_two.py", "--json")
    content = json.loads(result.out)
    assert result.code == 1 and (content["task"], content["ok"]) == ("again_two", False)
    assert [law["name"] for law in content["laws"] if not law["ok"]] == ["answers"]
    assert set(content["laws"][0]) == {"name", "statement", "ok", "message"}
