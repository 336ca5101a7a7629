"""A task's own methods have limits in every command, and what they say is looked at."""

import time

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


class TestPrepare:
    @pytest.mark.parametrize(
        "command",
        [["verify", "ab", "ab", "--task"], ["task", "check"], ["data", *SIZES, "--output", "made", "--task"]],
    )
    def test_that_never_ends_is_stopped(self, command, strange, symbinv, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("hf_symbinv.solvers.pool.PREPARE_SECONDS", 1.0)
        result = symbinv(*command, strange("prepare", "time.sleep(10**6)"))
        assert result.code == 2 and result.err.splitlines()[-1].endswith(
            ": a worker was not ready after 1 s; load in `prepare` only what `draw`, `solve` and `judge` need"
        )

    def test_that_takes_all_memory_is_stopped(self, strange, symbinv):
        body = "held = []\n        while True: held.append(b'x' * 10**7)"
        result = symbinv("verify", "ab", "ab", "--task", strange("prepare", body), "--memory", "0.5")
        assert result.code == 2
        assert ": a worker took more than 0.5 GB of memory before it was ready;" in result.err.splitlines()[-1]

    def test_that_raises_is_one_sentence(self, strange, symbinv):
        result = symbinv("task", "check", strange("prepare", "raise ValueError('no such table')"))
        assert result.code == 2 and result.err.splitlines()[-1].endswith(
            ": a worker could not start: ValueError: no such table; mend `prepare` and what is imported, whose "
            "traceback is above"
        )

    def test_that_misses_a_library_says_which(self, strange, symbinv):
        path = strange("prepare", "raise ImportError('strange needs sat; pip install sat')")
        result = symbinv("verify", "ab", "ab", "--task", path)
        assert result.code == 2 and result.err.splitlines()[-1].endswith(": strange needs sat; pip install sat")


def test_data_are_made_within_the_memory_that_is_allowed(strange, symbinv, tmp_path):
    path = strange("draw", "held = bytearray(10**9)\n        return super().draw(*arguments)")
    made = tmp_path / "made"
    result = symbinv("data", *SIZES, "--task", path, "--output", made, "--memory", "3")
    assert result.code == 0, result.err
    other = symbinv("data", *SIZES, "--task", path, "--output", tmp_path / "other", "--memory", "0.5")
    assert other.code == 2 and "stopped at the limit of 0.5 GB of memory" in other.err


LARGE = """
    def judge(self, question, answer):
        import mmap

        held = mmap.mmap(-1, 5 * 10**9)  # the default is 4 GB; address space counts, and filling it takes seconds
        return super().judge(question, answer)

    def checker(self, **options):
        return super().checker(**{"memory": 6.0, **options})
"""


def test_a_task_says_what_its_judge_may_take_where_commands_have_no_option_for_it(strange, tmp_path):
    from hf_symbinv.tasks import load_task

    path = strange("size", "return len(arguments[0])")
    path.write_text(path.read_text().replace("\n\nTASK =", f"{LARGE}\n\nTASK ="))
    task = load_task(path)
    with task.checker(workers=1) as checker:
        assert [one.verdict for one in checker.check([("ab", "ab")])] == ["correct"]
    with task.checker(workers=1, memory=1.0) as checker:  # as `evaluate --memory 1` asks
        assert [one.verdict for one in checker.check([("ab", "ab")])] == ["error"]


@pytest.mark.parametrize("option", [["--memory", "0"], ["--memory", "nan"], ["--workers", "0"]])
def test_limits_that_cannot_be_are_refused(option, symbinv, tmp_path):
    result = symbinv("data", "--output", tmp_path / "made", *option)
    assert result.code == 2 and result.err.startswith(f"error: {option[0]} {option[1]}: must be ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("method", "value", "rule"),
    [
        ("size", "-1", "a whole number of at least 0"), ("size", "True", "a whole number of at least 0"),
        ("size", "10**30", "a whole number of at least 0"), ("symbols", "'ab'", "a tuple of different names"),
        ("symbols", "[1]", "a tuple of different names"), ("symbols", "('a', 'a')", "a tuple of different names"),
    ],
)  # fmt: skip
def test_a_size_that_is_none_and_symbols_that_are_no_names_are_refused(method, value, rule, strange, symbinv, tmp_path):
    result = symbinv("data", *SIZES, "--task", strange(method, f"return {value}"), "--output", tmp_path / "made")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith(f"error: task strange: {method}('")
    assert result.err.splitlines()[-1].endswith(
        f") returned {value.replace('10**30', str(10**30))}; return {rule}"
        + (", the tokens of the question" if method == "size" else "")
    )


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
    ("name", "method", "message"),
    [
        ("data", "solve", LONG_LINE), ("data", "size", MANY_LINES), ("verify", "judge", MANY_LINES),
        ("verify", "prepare", LONG_LINE), ("task check", "size", LONG_LINE),
    ],
)  # fmt: skip
def test_what_raises_two_million_characters_shows_some_of_them(
    name, method, message, strange, symbinv, tmp_path, caplog
):
    command = {
        "data": ["data", *SIZES, "--output", tmp_path / "made", "--task"],
        "verify": ["verify", "ab", "ab", "--task"],
        "task check": ["task", "check", "--questions", "5"],
    }[name]
    path = strange(method, f"raise ValueError({message})")
    result = symbinv(*command, path)
    shown = result.err + caplog.text
    assert result.code == (1 if (name, method) in (("verify", "judge"), ("task check", "size")) else 2)
    assert len(shown) < 16_000
    assert max(map(len, result.out.splitlines()), default=0) < 2_500
    if (name, method) == ("task check", "size"):
        assert "; but size (line 11) raised ValueError: x" in result.out
    else:
        assert f'File "{path}", line 11, in {method}\n' in shown and "\nValueError: x" in shown
