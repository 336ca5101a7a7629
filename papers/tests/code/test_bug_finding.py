"""A data set of bugs: no file is in two splits, half of the functions have a bug, and what is refused."""

import random

import pytest
from transformers import AutoTokenizer

from papers.code.bug_finding import (
    BugFindingConfig,
    CodeError,
    load_bugs,
    prepare,
    python_files,
    spans,
)

FUNCTION = """
def {name}({a}, {b}):
    {c} = {first}({a}.{second}, {b}.{third})
    for {d} in {c}:
        {a}.{fourth}({d}, {b})
    return {fifth}({c})
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder with 60 files of two functions each, and one that is not Python."""
    folder, draw = tmp_path_factory.mktemp("sources"), random.Random(0)
    words = [
        first + second for first in ("get", "set", "run", "make") for second in ("Row", "Key", "Box", "Tag", "Pin")
    ]
    for index in range(60):
        names = dict(zip("abcd", draw.sample(["x", "y", "items", "total", "one", "row"], 4), strict=True))
        functions = []
        for place in range(2):
            called = dict(zip(("first", "second", "third", "fourth", "fifth"), draw.sample(words, 5), strict=True))
            functions.append(FUNCTION.format(name=f"f{index}x{place}", **names, **called))
        (folder / f"{index:02d}.py").write_text("".join(functions), encoding="utf-8")
    (folder / "bad.py").write_text("def f(:\n", encoding="utf-8")
    (folder / "locals.py").write_text("def f(x, y): return locals()\n", encoding="utf-8")
    (folder / "one.py").write_text("def f(x): return x\n", encoding="utf-8")
    (folder / "end.py").write_text("def f(x, y): return x, y, '</s>'\n", encoding="utf-8")
    (folder / "notes.txt").write_text("def f(x): return x\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["misuse", "exchange"])
def made(source, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "data"
    config = BugFindingConfig(source=str(source), bug=request.param, vocab_size=300)
    return config, folder, prepare(config, folder)


def is_buggy(row) -> bool:
    return row["wrong"] >= 0 if "wrong" in row else bool(row["label"])


def test_half_of_each_split_has_a_bug_and_no_file_is_in_two(made):
    _, folder, _ = made
    files = {}
    for split, rows in load_bugs(folder).items():
        assert sum(map(is_buggy, rows)) == len(rows) // 2 > 0
        files[split] = set(rows["file"])
    assert list(files) == ["train", "validation", "test"]
    assert sum(map(len, files.values())) == len(set().union(*files.values())) == 60


def test_what_was_left_out_is_counted(made):
    _, folder, said = made
    lines = said.splitlines()
    assert lines[:2] == ["64 files", "123 functions"]
    assert "1 left out, as the file is not Python of this version" in lines
    assert "1 left out, as locals, eval, exec, vars, dir or f_locals may read variables by name" in lines
    assert "1 left out, with fewer than 2 variables" in lines
    assert "1 left out, with a text that the tokenizer reserves, as '<s>'" in lines
    assert "4 variables in a function (median), 4 (95 %)" in lines
    assert sum(len(rows) for rows in load_bugs(folder).values()) == 120
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"- {line}" in card for line in lines if not line.startswith(str(folder)))
    assert "Strings of the code may name people." in card and "nothing about people" not in card


def test_the_tokenizer_beside_the_rows_gives_their_texts_back(made):
    _, folder, _ = made
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for row in load_bugs(folder)["train"]:
        found = tokenizer(row["text"], spans=spans(row["symbols"]), return_offsets_mapping=True)
        assert tokenizer.decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True) == row["text"]
        places = {tuple(place) for place in found["offset_mapping"]}
        assert {(symbol["start"], symbol["end"]) for symbol in row["symbols"]} <= places


def test_a_data_set_is_a_function_of_its_options(made, tmp_path):
    config, folder, _ = made
    before = {path.name: path.read_bytes() for path in (folder / "data").iterdir()}
    prepare(config, tmp_path / "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again" / "data").iterdir()} == before
    prepare(BugFindingConfig(config.source, config.bug, vocab_size=300, seed=1), tmp_path / "other")
    assert {path.name: path.read_bytes() for path in (tmp_path / "other" / "data").iterdir()} != before


def test_of_a_folder_files_of_python_are_read_and_of_a_file_all_documents(source, tmp_path):
    assert "notes.txt" not in dict(python_files(str(source))) and len(dict(python_files(str(source)))) == 64
    marked = tmp_path / "code.txt"
    marked.write_text("\x01a.py\nx = 1\n\x01b\ny = 2\n", encoding="utf-8")
    assert dict(python_files(str(marked))) == {"a.py": "x = 1\n", "b": "y = 2\n"}


def test_a_source_with_too_few_functions_leaves_no_trace(source, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CodeError, match="0 files leave no function for train; give more Python files"):
        prepare(BugFindingConfig(source=str(tmp_path / "empty")), tmp_path / "made")
    with pytest.raises(
        CodeError, match="leave 0 functions for train, which needs 2; give more Python files, or a larg"
    ):
        prepare(BugFindingConfig(source=str(source), max_tokens=9), tmp_path / "made")
    assert not (tmp_path / "made").exists()
