"""`symbinv invariance`: models of texts, from a folder, a file or an address, and what the documentation shows."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import hf_symbinv
from hf_symbinv.cli.invariance import load

from ..chat_server import serving
from ..evaluation.small_models import KEEP, MODELS, RULE, bart, saved

PAGE = (Path(__file__).parents[2] / "docs" / "invariance.md").read_text(encoding="utf-8")
TEXTS = ["let x = y", "if foo in bar", "return x", "let a = b + c"]


def file_of_the_page(name):
    return re.search(rf":caption: {name}\n\n(.*?)^```$", PAGE, re.M | re.S)[1]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"question": text, "answer": "LABEL_0"} for text in TEXTS]
    Path("data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return ["--data", "data.jsonl", "--symbols", RULE, "--keep", ",".join(KEEP), "--renamings", "3"]


@pytest.mark.parametrize("task", [*MODELS, "text2text"])
def test_the_architecture_says_the_task(task, tmp_path):
    saved(bart() if task == "text2text" else MODELS[task](), tmp_path)
    model, options = load(str(tmp_path), None, 3)
    assert model.task == task and len(model(TEXTS[:2], **options)) == 2


def test_a_model_of_the_package_is_measured_by_a_process_that_knows_its_classes(tmp_path, symbinv, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("U request grant", "grant ; { 1 }"), ("X X c", "1 ; 1 ; c ; { 1 }")]
    Path("formulas.csv").write_text("".join(f"{row[0]},{row[1]}\n" for row in [("question", "answer"), *rows]))
    asked = ["invariance", "ltl-small", "--data", "formulas.csv", "--json", "--symbols", "[a-z]+"]
    asked += ["--reference", "answer", "--renamings", "3"]
    run = subprocess.run([sys.executable, "-m", "hf_symbinv.cli", *asked], capture_output=True, check=True)
    found = json.loads(run.stdout)
    assert (found["count"], found["changed"], found["worst"], found["minified"]) == (2, 0.0, 1.0, 1.0)
    Path("formulas.csv").write_text("question,answer\nG request,1\n")
    refused = symbinv(*asked)
    assert refused.code == 2
    assert "'G request': ltl-small cannot answer it (position 0 of 'G request': 'G' is neither" in refused.err


def test_tables_pictures_and_json(data, symbinv):
    saved(MODELS["text-classification"](), "model")
    files = ["--output", "names.json", "--output", "names.svg", "--reference", "answer"]
    result = symbinv("invariance", "model", *data, *files)
    assert result.code == 0 and [line.split()[0] for line in result.out.splitlines()] == [
        "all", "texts", "changed", "alpha-covariance", "right", "renamed", "worst", "minified"
    ]  # fmt: skip
    assert result.err.startswith("4 texts with 7 names: x, y, foo, bar, a, b, c")
    found = json.loads(Path("names.json").read_text())
    assert f"{100 * found['changed']:.1f} %" in result.out and "number of symbols" in Path("names.svg").read_text()
    refused = symbinv("invariance", "model", *data, "--output", "names.txt")
    assert refused.code == 2 and "unknown kind of file; end it in .json, .png" in refused.err


def test_a_model_with_two_answers_has_no_small_alpha_covariance(data, symbinv):
    Path("coin.py").write_text("def toss(texts):\n    return [{'label': str(sum(map(ord, t)) % 2)} for t in texts]\n")
    lines = symbinv("invariance", "coin.py:toss", *data[:-2]).out.splitlines()
    assert lines[-1].startswith("alpha-covariance is at least 0.938 here: there are 2 different answers in all")


def test_a_rule_that_is_none_is_refused_before_a_model_is_looked_for(data, symbinv):
    refused = symbinv("invariance", "no/model", *data[:2], "--symbols", "(")
    assert refused.code == 2 and "give a regular expression of names" in refused.err


def test_a_function_that_cannot_be_loaded(data, symbinv):
    Path("ask.py").write_text("def answer(texts):\n    return texts\n")
    for model, reason in (
        ("ask.py:other", "KeyError: 'other'"),
        ("none.py:answer", "FileNotFoundError"),
        ("ask.py", ""),
    ):
        result = symbinv("invariance", model, *data)
        assert result.code == 2 and reason in result.err and result.err.count("\n") == 1, result.err
    unknown = symbinv("invariance", "none/such", *data)
    assert "none/such: no such folder, and offline mode is on; unset HF_HUB_OFFLINE" in unknown.err
    assert unknown.code == 2 and "give a folder, a bundled name, OWNER/NAME on the Hub, or FILE.py:NAME" in unknown.err
    saved(MODELS["text-classification"](), "model")
    assert 'KeyError: "Unknown task other' in symbinv("invariance", "model", *data, "--task", "other").err
    assert "or FILE.py:NAME, a function in it" in symbinv("invariance", "ask.py:other", *data).err
    assert symbinv("invariance", "ask.py:answer", *data).code == 0


@pytest.fixture
def address(monkeypatch):
    """What a server was `asked` and has answered by a word of the text; where it is `busy`, by none after 16."""
    state = SimpleNamespace(asked=[], busy=False)

    def reply(text):
        if state.busy and len(state.asked) >= 16:
            return 503
        state.asked.append(text)
        return min(text.split())

    with serving(reply) as server:
        for name, value in {"ADDRESS": server.url, "MODEL": "toy", "API_KEY": "secret"}.items():
            monkeypatch.setenv(name, value)
        yield state
    assert {(path, key) for path, key, _ in server.asked} == {("/v1/chat/completions", "Bearer secret")}


def test_an_address_is_asked_by_the_ten_lines_of_the_page_and_goes_on_where_it_stopped(data, address, symbinv):
    Path("address.py").write_text(file_of_the_page("address.py"))
    command = ["invariance", "address.py:answer", *data, "--answers", "answers.jsonl"]
    address.busy = True
    stopped = symbinv(*command, "--renamings", "9")
    assert stopped.code == 2 and "HTTP Error 503" in stopped.err and "answers.jsonl keeps 16 answers" in stopped.err
    address.busy, before = False, list(address.asked)
    assert symbinv(*command, "--renamings", "9").code == 0
    assert len(address.asked) == len({*address.asked}) and address.asked[:16] == before
    ask = hf_symbinv.invariant(runpy.run_path("address.py")["answer"], RULE)
    assert ask(["y + x", "a + b"]) == ["+", "+"]


def test_the_first_lines_of_the_page_give_renamings_one_score(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    saved(MODELS["text-classification"](), "alice/bugs")
    program = file_of_the_page("wrapped.py")
    assert len([line for line in program.splitlines() if line]) == 5
    exec(program, {})
    one, other = eval(capsys.readouterr().out)
    assert one == other and 0 < one["score"] < 1
