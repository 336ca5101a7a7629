"""The tasks that are shipped keep all laws; a task that breaks one is told which, with a counterexample."""

import re
import sys
from itertools import count
from pathlib import Path

import pytest
import yaml

from hf_symbinv.tasks import TaskError, check_task, contract, load_task, new_task

ROOT = Path(__file__).resolve().parents[2]
FAULTY = count()
LAWS = [
    "tokens", "sizes", "symbols", "seed", "answers", "wrong answers", "renaming", "new symbols", "notations", "junk",
]  # fmt: skip
BROKEN = yaml.safe_load(Path(__file__).with_name("broken_laws.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """`broken(*lines)`: the task to start from with a class body that has these lines instead."""
    monkeypatch.setattr(sys, "path", sys.path.copy())

    def make(*lines):
        path = tmp_path / f"broken_{next(FAULTY)}.py"
        new_task(path)
        usual, _ = path.read_text().split("\nTASK = ")
        kind = re.search(r"class (\w+)", usual)[1]
        body = "".join(f"    {line}\n" for line in lines)
        path.write_text(f'{usual}\nclass Broken({kind}):\n    """Broken."""\n\n{body}\n\nTASK = Broken()\n')
        return load_task(path)

    return make


@pytest.mark.parametrize(
    "task", ["ltl", "ltl-operators", "prop", "tseitin", "examples/graph_colouring.py", "papers/shapes/three_address.py"]
)
def test_the_tasks_that_are_shipped_keep_all_laws(task, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path.copy())
    laws = check_task(load_task(ROOT / task if task.endswith(".py") else task), questions=15)
    assert [law.name for law in laws] == LAWS
    assert [f"{law.name}: {law.message}" for law in laws if not law.ok] == []


def test_the_task_to_start_from_is_short_and_keeps_all_laws(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path.copy())
    path = tmp_path / "first_of_mine.py"
    assert new_task(path) == "first_of_mine"
    text = path.read_text()
    assert len(text.splitlines()) < 60 and "class FirstOfMineTask(SymbolTask):" in text and f"task check {path}" in text
    task = load_task(path)
    assert task.name == "first_of_mine" and task.judge("baca", "a") == ("correct", "")
    assert all(law.ok for law in check_task(task, num_symbols=3, min_size=2, max_size=6, questions=10, seed=1))
    with pytest.raises(TaskError, match=r"first_of_mine\.py: there is such a file; choose another name"):
        new_task(path)
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["mine.txt", "my-task.py", "class.py", "2nd.py", "mine"])
def test_a_task_to_start_from_is_a_module(name, tmp_path):
    with pytest.raises(
        TaskError, match=r"is no name of a module; use letters a to z, digits and _, and end it in \.py"
    ):
        new_task(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_task_to_start_from_has_no_name_of_python_s_own(tmp_path):
    with pytest.raises(TaskError, match=r"random\.py: Python has a module called 'random'; choose another name"):
        new_task(tmp_path / "random.py")


def test_the_tests_own_way_to_break_a_task_breaks_nothing_by_itself(broken):
    assert all(law.ok for law in check_task(broken("columns = ('one', 'other')"), questions=12))


@pytest.mark.parametrize(
    ("law", "lines", "message"), [(law, lines, said) for law, own in BROKEN.items() for *lines, said in own]
)
def test_a_broken_law_is_named_with_a_counterexample(law, lines, message, broken, monkeypatch):
    monkeypatch.setattr(contract, "LAWS", {law: contract.LAWS[law]})
    (found,) = check_task(broken(*lines), questions=12)
    assert found.name == law and not found.ok
    assert re.search(message, found.message), found.message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_symbols": 1}, "num_symbols=1: try 2 to 10"),
        ({"num_symbols": 11}, "num_symbols=11: try 2 to 10"),
        (
            {"min_size": 5, "max_size": 4},
            "min_size=5, max_size=4, questions=40: all are at least 1, the smaller size first",
        ),
        ({"questions": 0}, "questions=0: all are at least 1"),
    ],
)
def test_numbers_out_of_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        check_task(load_task("copy"), **changes)
