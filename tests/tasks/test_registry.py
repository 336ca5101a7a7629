"""A task is found by name, by its file, or by its base tokens; anything else is refused with the remedy."""

import os
import pickle
import subprocess
import sys

import pytest

from hf_symbinv.tasks import TASKS, TaskError, load_task, symbol_names, task_of, task_of_tokenizer

ECHO = """
from hf_symbinv.tasks import SymbolTask

class Echo(SymbolTask):
    name = "echo"
    base_tokens = ("<s>", "<pad>", "</s>", "{marker}")
    def draw(self, symbols, smallest, largest, seed, count):
        return [symbols[0] * smallest] * count
    def solve(self, question):
        return question
    def judge(self, question, answer):
        return ("correct", "") if answer == question else ("incorrect", "not the same")
"""


@pytest.fixture
def task_file(tmp_path, monkeypatch):
    """Writes a module under a name that no other test uses."""
    monkeypatch.setattr(sys, "path", sys.path.copy())

    def write(name: str, text: str):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_the_tasks_of_the_package_go_by_name():
    assert {name: TASKS[name].name for name in TASKS} == {
        name: name for name in ("ltl", "ltl-operators", "prop", "copy", "tseitin")
    }
    assert load_task("ltl") is TASKS["ltl"]


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_a_value(name):
    again = pickle.loads(pickle.dumps(TASKS[name]))
    assert again == TASKS[name] and hash(again) == hash(TASKS[name])


def test_a_tokenizer_whose_caller_says_what_symbols_are_has_no_task():
    with pytest.raises(TaskError):
        task_of_tokenizer({"symbol_pattern": None, "base_tokens": ()})


def test_importing_the_room_imports_no_task():
    code = "import sys, hf_symbinv.tasks; print({'torch', 'spot', 'hf_symbinv.tasks.ltl'} & set(sys.modules))"
    light = {**os.environ, "HF_SYMBINV_LIGHT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=light, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_file_s_task_works_in_worker_processes(task_file):
    path = task_file("echo_one.py", ECHO.replace("{marker}", "#1") + "TASK = Echo()\nSAME = TASK\n")
    task = load_task(path)
    assert task.name == "echo" and load_task(f"{path}:TASK") is task
    with task.checker(workers=1) as checker:
        assert [result.verdict for result in checker.check([("ab", "ab"), ("ab", "b")], ["ab", None])] == [
            "exact",
            "incorrect",
        ]
    assert task_of(task.base_tokens) is task


def test_one_of_several_tasks_is_named(task_file):
    path = task_file("echo_two.py", ECHO.replace("{marker}", "#2") + "FIRST = Echo()\nSECOND = Echo()\n")
    assert load_task(f"{path}:SECOND") is sys.modules["echo_two"].SECOND
    with pytest.raises(TaskError, match=r"echo_two.py': the file defines several tasks; name one, such as .*:FIRST"):
        load_task(path)
    with pytest.raises(TaskError, match="the file defines no task of this name; it has FIRST, SECOND"):
        load_task(f"{path}:THIRD")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("echo_none.py", ECHO, "the file defines no task; make an instance of its class, as TASK = MyTask()"),
        ("echo_other.py", "from hf_symbinv.tasks.ltl import LTL", "the file defines no task"),
        ("echo_broken.py", "1 / 0", r"the file cannot be imported \(line 1, ZeroDivisionError: division by zero\)"),
        ("echo-dash.py", ECHO, "the file's name is no name of a module; use letters a to z, digits and _"),
        ("json.py", ECHO, "another module is called 'json', .*; give the file another name"),
    ],
)
def test_a_file_without_one_task_is_refused(task_file, name, text, message):
    with pytest.raises(TaskError, match=message):
        load_task(task_file(name, text))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sat", "task='sat': unknown; use one of ltl, ltl-operators, prop, copy, tseitin, or a file"),
        ("", "task='': unknown"),
        ("nowhere/mine.py", "task='nowhere/mine.py': no such file"),
        ("nowhere/mine.py:TASK", "task='nowhere/mine.py:TASK': no such file"),
    ],
)
def test_an_unknown_task_is_refused(name, message):
    with pytest.raises(TaskError, match=message):
        load_task(name)


def test_base_tokens_find_their_task():
    assert task_of(list(TASKS["ltl"].base_tokens)) is TASKS["ltl"]
    with pytest.raises(TaskError, match="base tokens <s> x: no task has these; name the file that defines it"):
        task_of(["<s>", "x"])


def test_symbols_beyond_the_letters_have_their_numbers_as_names():
    names = symbol_names(30)
    assert names[:2] == ("a", "b") and names[25:28] == ("z", "p26", "p27")
