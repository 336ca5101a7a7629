"""A task's own methods have limits in every command, and what they say is looked at."""

import time
from fnmatch import fnmatchcase

import pytest

TASK = """
import time

from hf_symbinv.tasks.copying import CopyTask


class Strange(CopyTask):
    name = "strange"

    def {method}(self, *arguments):
        {body}


TASK = Strange()
"""
LONG_LINE, MANY_LINES = "'x' * 2_000_000", "'x\\n' * 1_000_000"
SIZES = ["--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "20", "--workers", "1"]


@pytest.fixture
def strange(tmp_path, request):
    """`strange(method, body)`: the file of a task with this method; a module is imported once."""

    def write(method, body):
        path = tmp_path / f"strange_{abs(hash(request.node.name))}.py"
        path.write_text(TASK.format(method=method, body=body))
        return path

    return write


@pytest.mark.parametrize(
    ("command", "method", "body", "sentence"),
    [
        (
            ["data", *SIZES, "--output", "made", "--task"], "prepare", "time.sleep(10**6)",
            ": a worker was not ready after 6 s; load in `prepare` only what `draw`, `solve` and `judge` need",
        ),
        (
            ["verify", "ab", "ab", "--memory", "0.5", "--task"], "prepare",
            "held = []\n        while True: held.append(b'x' * 10**7)",
            ": a worker took more than 0.5 GB of memory before it was ready; *",
        ),
        (
            ["task", "check"], "prepare", "raise ValueError('no such table')",
            ": a worker could not start: ValueError: no such table; mend `prepare` and what is imported, whose "
            "traceback is above",
        ),
        (
            ["verify", "ab", "ab", "--task"], "prepare", "raise ImportError('strange needs sat; pip install sat')",
            ": strange needs sat; pip install sat",
        ),
    ],
)  # fmt: skip
def test_a_worker_that_does_not_start_is_one_sentence(
    command, method, body, sentence, strange, symbinv, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hf_symbinv.solvers.pool.PREPARE_SECONDS", 6.0 if "sleep" in body else 60.0)
    result = symbinv(*command, strange(method, body))
    assert result.code == 2 and fnmatchcase(result.err.splitlines()[-1], f"*{sentence}")


def test_data_are_made_within_the_memory_that_is_allowed(strange, symbinv, tmp_path):
    path = strange("draw", "held = bytearray(10**9)\n        return super().draw(*arguments)")
    made = tmp_path / "made"
    result = symbinv("data", *SIZES, "--task", path, "--output", made, "--memory", "3")
    assert result.code == 0, result.err
    other = symbinv("data", *SIZES, "--task", path, "--output", tmp_path / "other", "--memory", "0.5")
    assert other.code == 2 and "stopped at the limit of 0.5 GB of memory" in other.err


@pytest.mark.parametrize(
    ("method", "value", "rule"),
    [
        ("size", "True", "a whole number of at least 0, the tokens of the question"),
        ("size", str(10**30), "a whole number of at least 0, the tokens of the question"),
        ("symbols", "[1]", "a tuple of different names"),
        ("symbols", "('a', 'a')", "a tuple of different names"),
    ],
)
def test_a_size_that_is_none_and_symbols_that_are_no_names_are_refused(method, value, rule, strange, symbinv, tmp_path):
    result = symbinv("data", *SIZES, "--task", strange(method, f"return {value}"), "--output", tmp_path / "made")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith(f"error: task strange: {method}('")
    assert result.err.splitlines()[-1].endswith(f") returned {value}; return {rule}")


def test_an_example_that_is_never_drawn_is_the_letter_a(strange, monkeypatch):
    from hf_symbinv.tasks import load_task

    monkeypatch.setattr("hf_symbinv.tasks.base.EXAMPLE_SECONDS", 0.5)
    start = time.monotonic()
    assert load_task(strange("draw", "time.sleep(10**6)")).example() == "a"
    assert time.monotonic() - start < 60


def test_a_task_whose_solver_hangs_is_told_so_at_the_first_question(strange, symbinv):
    start = time.monotonic()
    result = symbinv("task", "check", strange("solve", "time.sleep(10**6)"), "--timeout", "0.5", "--questions", "5")
    assert result.code == 1 and "stopped at the limit of 0.5 s" in result.out
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("command", "method", "message", "code"),
    [
        (["data", *SIZES, "--output", "made", "--task"], "size", MANY_LINES, 2),
        (["verify", "ab", "ab", "--task"], "judge", MANY_LINES, 1),
        (["verify", "ab", "ab", "--task"], "prepare", LONG_LINE, 2),
    ],
)
def test_what_raises_two_million_characters_shows_some_of_them(
    command, method, message, code, strange, symbinv, tmp_path, caplog, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = strange(method, f"raise ValueError({message})")
    result = symbinv(*command, path)
    shown = result.err + caplog.text
    assert result.code == code and len(shown) < 16_000
    assert max(map(len, result.out.splitlines()), default=0) < 2_500
    assert f'File "{path}", line 11, in {method}\n' in shown and "\nValueError: x" in shown
