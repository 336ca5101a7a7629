"""Bugs that are put into functions are where the rows say, and change nothing else."""

import ast
import random
import sysconfig
from pathlib import Path

import pytest

from papers.code.bugs import BUGS, exchangeable, exchanged, misusable, misused
from papers.code.functions import read_functions

LIBRARY = Path(sysconfig.get_path("stdlib"))


@pytest.fixture(scope="module")
def functions():
    return [
        one
        for name in ("argparse.py", "difflib.py", "inspect.py", "shutil.py")
        for one in read_functions((LIBRARY / name).read_text(encoding="utf-8"), name)[0]
    ]


def read(source: str):
    (function,), _ = read_functions(source)
    return function


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_a_function_without_a_bug_is_as_it_is(functions, bug):
    for one in functions:
        row = bug.row(one, None)
        assert row["text"] == one.text
        assert [(s["start"], s["end"], s["name"]) for s in row["symbols"]] == one.spans()
        assert [s["is_use"] for s in row["symbols"]] == [s.is_use for s in one.symbols]
    assert bug.row(functions[0], None).keys() == bug.columns.keys()


def test_a_misused_variable_can_be_named_where_it_stands(functions):
    given = [one for one in functions if misusable(one)]
    assert len(given) > 200
    for one in given:
        row = misused(one, random.Random(one.text))
        wrong, right = row["wrong"], row["right"]
        before = {name: number for number, name in enumerate(one.variables)}
        numbers = [before[symbol["name"]] for symbol in row["symbols"]]
        wanted = [symbol.variable for symbol in one.symbols]
        assert [at for at, pair in enumerate(zip(numbers, wanted, strict=True)) if pair[0] != pair[1]] == [wrong]
        assert row["symbols"][wrong]["is_use"]
        assert right == [at for at, number in enumerate(numbers) if number == wanted[wrong]] and right
        # Read again, the names mean what the row says: the variable is known at that place.
        again = read(row["text"])
        assert [again.variables[symbol.variable] for symbol in again.symbols] == [s["name"] for s in row["symbols"]]
        assert [(s["start"], s["end"], s["name"]) for s in row["symbols"]] == again.spans()


def test_a_misused_variable_has_a_value_when_the_function_runs_straight_on():
    function = read("def f(a):\n    b = a\n    c = b\n    d = [e for e in c if e]\n    return d")
    for seed in range(40):
        row = misused(function, random.Random(seed))
        namespace = {}
        exec(row["text"], namespace)
        namespace["f"](["x"])  # raises NameError if not


def test_exchanged_arguments_are_exchanged_and_nothing_else(functions):
    given = [one for one in functions if exchangeable(one)]
    assert len(given) > 80
    for one in given:
        row = exchanged(one, random.Random(one.text))
        first, second = (row["text"][place["start"] : place["end"]] for place in row["arguments"])
        assert row["label"] == 1 and first != second
        assert sorted(row["text"]) == sorted(one.text)
        assert all(row["text"][s["start"] : s["end"]] == s["name"] for s in row["symbols"])
        assert sorted(s["name"] for s in row["symbols"]) == sorted(name for *_, name in one.spans())
        assert read(row["text"]).spans() == [(s["start"], s["end"], s["name"]) for s in row["symbols"]]
        assert ast.dump(ast.parse(row["text"])) in exchanges(one.text, first, second)


def exchanges(text: str, first: str, second: str) -> set[str]:
    """The trees of a text in which arguments that are written `second` and `first` are exchanged, in one call."""
    found, number = set(), sum(isinstance(node, ast.Call) for node in ast.walk(ast.parse(text)))
    wanted = [ast.dump(ast.parse(one, mode="eval").body) for one in (second, first)]
    for index in range(number):
        tree = ast.parse(text)
        call = [node for node in ast.walk(tree) if isinstance(node, ast.Call)][index]
        written = [ast.dump(argument) for argument in call.args]
        for i in range(len(written)):
            for j in range(i + 1, len(written)):
                if [written[i], written[j]] == wanted:
                    call.args[i], call.args[j] = call.args[j], call.args[i]
                    found.add(ast.dump(tree))
                    call.args[i], call.args[j] = call.args[j], call.args[i]
    return found


def test_arguments_whose_order_means_nothing_are_left_alone():
    function = read("def f(a, b): return max(a, b), g(a, a), h(1, a), k(a, (b, 1), *a, b)")
    assert [[function.text[slice(*place)] for place in pair] for pair in exchangeable(function)] == [["a", "(b, 1)"]]
