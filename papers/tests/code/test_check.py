"""`python -m papers.code.check`: files in, suspicions out, with the exit codes of a linter."""

import json

import pytest

from hf_symbinv import SymbolInvariantSubwordTokenizer
from papers.code.check import BAD_INPUT, DONE, EXAMPLE, SUSPECTED, main
from papers.code.finding import Finder
from papers.code.functions import read_functions
from papers.code.reading import Reader

from .conftest import small_model

SOURCE = """\
# -*- coding: latin-1 -*-
class Cart:
    def total(self, items, rate):
        # prices of what is left: \u00e9
        prices = [item.price for item in items]
        return sum(prices) * rate


def one(x):
    return x


def reads(names):
    return locals()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finder with fresh weights."""
    functions, _ = read_functions(SOURCE)
    tokenizer = SymbolInvariantSubwordTokenizer.train(
        [one.text for one in functions], 300, spans=[one.spans() for one in functions]
    )
    folder = tmp_path_factory.mktemp("finder")
    Finder(small_model(tokenizer), Reader(tokenizer, "hidden")).save_pretrained(folder)
    return folder


@pytest.fixture
def check(folder, tmp_path, capsys, monkeypatch):
    """Runs the command in a folder with `cart.py`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cart.py").write_bytes(SOURCE.encode("latin-1"))

    def run(*arguments):
        code = main(["--model", str(folder), *arguments])
        return code, *capsys.readouterr()

    return run


def test_a_suspicion_is_one_line_with_its_place_in_the_file(check):
    code, out, err = check("cart.py", "--threshold", "0")
    assert code == SUSPECTED
    [line] = out.splitlines()
    file, row, column, said = line.split(":", 3)
    name, other = said.split("'")[1::2]
    assert file == "cart.py"
    assert SOURCE.splitlines()[int(row) - 1][int(column) - 1 :].startswith(name)
    assert name != other
    assert said.split("'")[2] == " looks like a misuse of "
    assert err == "files: 1, functions: 2, left out: 1, suspected: 1\n"


def test_json_says_the_same(check):
    _, line, _ = check("cart.py", "--threshold", "0")
    code, out, _ = check("cart.py", "--threshold", "0", "--json")
    said = json.loads(out)
    assert code == SUSPECTED
    assert said["function"] == "Cart.total"
    assert line == "{file}:{line}:{column}: {name!r} looks like a misuse of {instead!r} ({probability:.2f})\n".format(
        **said
    )


def test_nothing_is_said_above_the_threshold(check):
    assert check("cart.py", "--threshold", "1") == (DONE, "", "files: 1, functions: 2, left out: 1, suspected: 0\n")


def test_a_folder_is_searched_and_a_file_is_read_once(check, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "more.py").write_text("def f(a, b):\n    return a * b + a\n")
    (tmp_path / "inner" / "notes.txt").write_text("def (")
    _, out, err = check(".", "cart.py", "--threshold", "0")
    assert sorted(line.split(":")[0] for line in out.splitlines()) == ["cart.py", "inner/more.py"]
    assert err.startswith("files: 2, functions: 3")


@pytest.mark.parametrize(
    "content, said",
    [
        (b"def f(:\n", "bad.py:1: the file is not Python of this version"),
        (b"\xff\xfe\x00", "bad.py: "),
        (b"# coding: nonsense\n", "bad.py: unknown encoding"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_and_the_others_are_checked(check, tmp_path, content, said):
    (tmp_path / "bad.py").write_bytes(content)
    code, out, err = check("bad.py", "cart.py", "--threshold", "0")
    assert code == BAD_INPUT
    assert out.startswith("cart.py:")
    assert f"error: {said}" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere.py"], "nowhere.py: there is no such file"),
        (["cart.py", "--threshold", "2"], "'2': must be a number from 0 to 1"),
        (["cart.py", "--threshold", "nan"], "'nan': must be a number from 0 to 1"),
    ],
)
def test_wrong_use_is_refused(check, capsys, arguments, said):
    with pytest.raises(SystemExit) as stop:
        check(*arguments)
    assert stop.value.code == BAD_INPUT
    assert said in capsys.readouterr().err


def test_a_folder_that_is_no_finder_is_refused(check, tmp_path, capsys):
    assert main(["--model", str(tmp_path), "cart.py"]) == BAD_INPUT
    assert "has no finder.json; give a folder that papers.code.train_finder wrote" in capsys.readouterr().err


# A function whose `y2 - x1` should be `y2 - y1`.
MISUSED = """\
def distance(x1, y1, x2, y2):
    dx = x2 - x1
    dy = y2 - x1
    return dx * dx + dy * dy
"""


def test_the_example_in_the_help_shows_what_the_command_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "distance.py").write_text(MISUSED)
    command, *shown = EXAMPLE.splitlines()
    assert main(command.removeprefix("$ python -m papers.code.check ").split()) == SUSPECTED
    assert capsys.readouterr().out.splitlines() == shown
