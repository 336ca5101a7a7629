"""Bugs in Python: verdicts on answers of models, and the tables from their data to their numbers."""

import json

import pytest
import torch

from hf_symbinv import SymbolInvariantSubwordTokenizer
from papers.__main__ import DONE, main
from papers.code.experiments import EXPERIMENTS
from papers.code.functions import read_functions
from papers.code.models import Answers, Verdict, verdict
from papers.code.reading import PLACE, REMEDY, Reader, marks_of
from papers.code.row_names import minified

TEXT = "def f(a, b):\n    c = a + b\n    return c + a + b"


def row(wrong, right):
    """The function as a row; `a`, `b` and `c` are symbols 0 and 3, 1 and 4, 2 and 5."""
    [function] = read_functions(TEXT)[0]
    symbols = [
        {"start": one.start, "end": one.end, "name": function.variables[one.variable], "is_use": one.is_use}
        for one in function.symbols
    ]
    return {"text": TEXT, "symbols": symbols, "wrong": wrong, "right": right}


@pytest.fixture(scope="module")
def reader():
    tokenizer = SymbolInvariantSubwordTokenizer.train([TEXT], 300, spans=[marks_of(row(-1, []))])
    return Reader(tokenizer, "hidden")


def judged(reader, question, place, remedies):
    """The verdict on scores that point at a symbol, or with -1 at the end, and weigh symbols."""
    [encoded] = reader.encode([question["text"]], [marks_of(question)])
    logits = torch.zeros(len(encoded.ids), 2)
    tokens = [encoded.token(symbol["start"]) for symbol in question["symbols"]]
    logits[tokens[place] if place >= 0 else -1, PLACE] = 5.0
    for symbol, weight in remedies.items():
        logits[tokens[symbol], REMEDY] = weight
    return verdict(question, encoded, logits)


def test_a_function_without_a_bug_is_right_without_an_alarm(reader):
    assert judged(reader, row(-1, []), -1, {}) == Verdict(has_bug=False, place=True, remedy=True)
    assert not judged(reader, row(-1, []), 3, {}).is_right


def test_a_bug_is_right_with_its_place_and_its_variable(reader):
    names = [symbol["name"] for symbol in row(-1, [])["symbols"]]
    use = names.index("c", names.index("c") + 1)
    others = [at for at, name in enumerate(names) if name == "a"]
    question = row(use, others)
    assert judged(reader, question, use, {others[0]: 5.0}).is_right
    assert judged(reader, question, -1, {others[0]: 5.0}) == Verdict(has_bug=True, place=False, remedy=True)
    assert not judged(reader, question, use, {names.index("b"): 5.0}).is_right
    # The wrong variable itself is not asked about, and a variable is as probable as all that stand for it.
    assert judged(reader, question, use, {use: 9.0, others[0]: 5.0}).is_right
    weights = dict.fromkeys(others, 1.0) | {names.index("b"): 1.5}
    assert judged(reader, question, use, weights).is_right


def test_rows_that_look_the_same_are_asked_once(model, reader):
    asked, calls = model(reader), []
    asked.register_forward_pre_hook(lambda *inputs: calls.append(inputs))
    answer = Answers(asked, reader, batch=2)
    rows = [row(-1, []), row(-1, [])]
    assert answer(rows) == answer([minified(one) for one in rows])
    assert len(calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_the_tables_are_made(experiment, only, tmp_path, capsys):
    first, *_, both, off = experiment.rows
    kept = (both, off) if experiment is EXPERIMENTS[-1] else (first, experiment.rows[2])
    only(experiment.name, *(row.labels for row in kept))
    assert main([experiment.name, "--output", str(tmp_path)]) == DONE
    content = json.loads((tmp_path / f"smoke/tables/{experiment.name}.json").read_text())
    assert len(content["rows"]) == len(kept)
    assert content["missing"] == []
    shares = {
        name: number["value"]
        for row in content["rows"]
        for name, number in row["numbers"].items()
        if number is not None
    }
    assert all(0 <= share <= 100 for share in shares.values())
    assert (tmp_path / f"smoke/tables/{experiment.name}.png").stat().st_size > 5000
