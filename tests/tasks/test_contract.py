"""The tasks that are shipped keep all laws; a task that breaks one is told which, with a counterexample."""

import re
import sys
from itertools import count
from pathlib import Path

import pytest

from hf_symbinv.tasks import TaskError, check_task, contract, load_task, new_task

ROOT = Path(__file__).resolve().parents[2]
FAULTY = count()
LAWS = [
    "tokens", "sizes", "symbols", "seed", "answers", "wrong answers", "renaming", "new symbols", "notations", "junk",
]  # fmt: skip
HEADS = {
    "draw": "draw(self, symbols, smallest, largest, seed, count)",
    "judge": "judge(self, question, answer)",
    "read_question": "read_question(self, text, notation)",
    "write_question": "write_question(self, question, notation)",
    "write_answer": "write_answer(self, answer, notation)",
    "normalized": "normalized(self, answer)",
}


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
    ("law", "lines", "message"),
    [
        ("tokens", ["base_tokens = ('<s>', '<pad>', '</s>', 'a b')"], "base token 'a b': is empty or has blanks"),
        ("tokens", ["base_tokens = ('<s>', '<pad>', '</s>', ';', ';')"], "base token ';': stands there 2 times"),
        ("tokens", ["def prompt(self, question): return question + '?'"], r"'\w+\?': '\?' is neither a base token nor"),
        (
            "sizes",
            ["def draw(self, symbols, *others): return [symbols[0] * 20, symbols[1] * 30]"],
            "none has a size of 1",
        ),
        ("sizes", ["def draw(self, *arguments): return 'ab'"], "draw.* returned 'ab'; return a list of texts"),
        (
            "symbols",
            [
                f"def {HEADS['draw']}:",
                "    generator = random.Random(seed)",
                "    lengths = [generator.randint(smallest, largest) for _ in range(count)]",
                "    return [''.join(generator.choices(symbols, k=length)) for length in lengths]",
            ],
            "draw got the symbols request, p30, next state, grant_1 and gave .*; write_words writes symbols with any ",
        ),
        (
            "symbols",
            [f"def {HEADS['draw']}: return super().draw('xy', smallest, largest, seed, count)"],
            "draw got the symbols a, b, c, d and gave '[xy]+' with x, y",
        ),
        (
            "seed",
            [f"def {HEADS['draw']}: return super().draw(symbols, smallest, largest, random.getrandbits(30), count)"],
            "two draws with seed 0 differ: question 0 is ",
        ),
        (
            "seed",
            [f"def {HEADS['draw']}: return super().draw(symbols, smallest, largest, 5, count)"],
            "seeds 0 and 1 give the same 300 questions",
        ),
        (
            "answers",
            ["def solve(self, question): return question[0]"],
            r"solve\('\w+'\) is '\w', and judge calls it incor",
        ),
        ("answers", ["def solve(self, question): return 7"], r"solve\('\w+'\) returned 7; return a text or None"),
        (
            "answers",
            ["def solve(self, question): return {}[question]"],
            r"solve\('\w+'\): KeyError: .* \(File .* in solve\)",
        ),
        (
            "wrong answers",
            [f"def {HEADS['judge']}: return 'correct', ''"],
            "correct that were tried, the empty one too",
        ),
        (
            "wrong answers",
            [f"def {HEADS['judge']}: return ('correct' if answer else 'invalid', '' if answer else 'empty')"],
            r"judge calls every answer to another question correct, in \d+ tries",
        ),
        (
            "wrong answers",
            [f"def {HEADS['judge']}: return super().judge(question, answer)[0], ''"],
            r"judge\('\w+', '.*'\) is invalid and does not say why",
        ),
        (
            "renaming",
            [
                f"def {HEADS['judge']}:",
                "    verdict = super().judge(question, answer)",
                "    return verdict if answer < 'e' else ('incorrect', 'late in the alphabet')",
            ],
            r"is (correct|invalid), and renamed, judge\(.*\) is incorrect",
        ),
        ("renaming", ["def size(self, question): return len(question)"], r"'\w+' has size \d+, and renamed, .*, \d+"),
        (
            "renaming",
            ["def solve(self, question): return None if 'request' in question else super().solve(question)"],
            "solve has no answer to .*, and one to the same question with other names",
        ),
        (
            "new symbols",
            [
                "def solve(self, question): return super().solve(question) and 'new'",
                f"def {HEADS['judge']}: return ('correct' if answer == 'new' else 'incorrect', 'not new')",
            ],
            r"is 'new', with 3 symbols that the question does not have: n, e, w; num_fresh_symbols is 0",
        ),
        (
            "new symbols",
            [
                "num_fresh_symbols = 3",
                "def solve(self, question): return super().solve(question) and 'new'",
                f"def {HEADS['judge']}: return ('correct' if answer == 'new' else 'incorrect', 'not new')",
            ],
            r"judge\('\w+', 'new_0 new_1 new_2'\) is incorrect, and correct with other new symbols",
        ),
        (
            "notations",
            ["notations = ('infix', 'prefix')", f"def {HEADS['write_question']}: return question + 'a'"],
            "read as",
        ),
        (
            "notations",
            [f"def {HEADS['write_answer']}: return answer + 'a'", "def read_answer(self, text): return text"],
            r"answer '\w' is written '\wa' in prefix notation, and read as '\wa'",
        ),
        (
            "notations",
            [f"def {HEADS['read_question']}: return text"],
            r"read_question\('\w+', 'no notation'\) does not raise ValueError",
        ),
        (
            "junk",
            [f"def {HEADS['judge']}:", "    one = answer[0]", "    return super().judge(question, answer)"],
            r"IndexError: string index out of range \(File .*, in judge\)",
        ),
        (
            "junk",
            [f"def {HEADS['normalized']}: return answer[0]"],
            r"normalized \(line \d+\) raised IndexError: string",
        ),
    ],
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
