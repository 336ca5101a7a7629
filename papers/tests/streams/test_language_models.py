"""A real server with recorded replies, and a tiny model of transformers, are asked by the papers' prompts."""

import json
import os
from collections import Counter

import pytest
from datasets import Dataset, DatasetDict

from hf_symbinv.tasks import LTL, PROP
from papers.streams.language_models import ANSWERS, RESULTS, main, prompt_for, read_reply
from tests.chat_server import serving

FORMULAS = [("&aXb", "a;b;{1}"), ("U!ab", "b;{1}"), ("&aX!a", "a;!a;{1}"), ("XXc", "1;1;c;{1}")]
# What a model of 3 billion parameters wrote like: a right answer, one with its heading, one in a fence, and talk.
REPLIES = {
    "a & X b": "a; b; cycle{1}",
    "!a U b": "Trace: b; cycle{1}",
    "a & X !a": "```\na; a; cycle{1}\n```",
    "X X c": "The formula says that c holds in two steps.",
}
ASSIGNMENTS = {"a xor b": '{"a": true, "b": false}', "a & b": '{"a": true}', "!a": '{"a": 0}'}


@pytest.fixture
def server():
    """A server with its `replies` to formulas, which is `busy` for some questions."""

    def reply(prompt):
        formula = prompt.split("Formula: ")[-1].splitlines()[0]
        if found.busy:
            found.busy -= 1
            return 503
        return found.replies.get(formula, 404)

    with serving(reply) as found:
        found.replies, found.busy = {**REPLIES, **ASSIGNMENTS}, 0
        yield found


def data(folder, rows, columns):
    names = [dict(zip(columns, row, strict=True)) for row in rows]
    (folder / "data").mkdir(parents=True)
    for split, one in DatasetDict({"test": Dataset.from_list(names)}).items():
        one.to_parquet(folder / "data" / f"{split}-00000-of-00001.parquet")
    return str(folder)


@pytest.fixture
def run(server, tmp_path, capsys):
    def run(*words, task="ltl", rows=FORMULAS):
        folder = tmp_path / task
        if not folder.exists():
            data(folder, rows, {"ltl": LTL, "prop": PROP}[task].columns)
        command = ["--task", task, "--data", str(folder), "--output", str(tmp_path / "made"), "--model", "tiny"]
        main([*command, "--endpoint", server.url, *words])
        return json.loads(capsys.readouterr().out)

    return run


def test_replies_of_a_server_are_read_and_checked_by_spot(run, server, tmp_path):
    found = run()
    assert (found["exact"], found["correct"], found["incorrect"], found["invalid"]) == (0.5, 0.0, 0.25, 0.25)
    assert found["accuracy"] == 0.5 and found["count"] == 4 and found["accuracy_interval"][0] < 0.2
    path, _, asked = server.asked[0]
    assert path == "/v1/chat/completions" and (asked["model"], asked["seed"]) == ("tiny", 42)
    assert "response_format" not in asked and asked["messages"][0]["content"] == prompt_for(LTL, "&aXb")
    assert json.loads((tmp_path / "made" / RESULTS).read_text()) == found
    gpt, llama = found["papers_percent"]
    assert (gpt["model"], gpt["correct"], gpt["alpha-covariance"]["5"]) == ("GPT-5.2", 86.83, 77.56)
    assert (llama["model"], llama["correct"], llama["heat map"]) == ("Llama 3.2 3B", 24.33, 21.70)


def test_assignments_come_as_json_and_have_a_schema(run, server):
    found = run(task="prop", rows=[("^ab", "a1b0"), ("&ab", "a1b1"), ("!a", "a0")])
    assert (found["accuracy"], found["incorrect"], found["invalid"]) == (pytest.approx(1 / 3),) * 3
    form = server.asked[0][2]["response_format"]["json_schema"]["schema"]
    assert form == {"type": "object", "additionalProperties": {"type": "boolean"}}


def test_each_question_is_asked_once_however_often_the_command_is_stopped(run, server, tmp_path):
    run("--rows", "2")
    kept = tmp_path / "made" / ANSWERS
    kept.write_bytes(kept.read_bytes() + b'{"asked": "cut of')
    os.link(kept, tmp_path / "before")
    run("--rows", "4")
    assert (tmp_path / "before").read_bytes().endswith(b"cut of")  # replaced, and not written over
    run("--rows", "4")
    assert max(Counter(json.dumps(one[2]) for one in server.asked).values()) == 1 and len(server.asked) == 4


def test_alpha_covariance_is_that_of_answers_to_renamed_questions(run, server):
    a_first = {"b & X a": "b; a; cycle{1}", "!b U a": "cycle{a}"}
    server.replies |= a_first
    found = run("--rows", "2", "--alpha-covariance", "2")["alpha_covariance"]
    (one,) = found
    assert one["symbols"] == 2 and one["examples"] == 2
    # The first answer is renamed with its question, the second is another one.
    assert one["alpha_covariance"] == pytest.approx(0.5)


def test_a_busy_server_is_asked_again(run, server, monkeypatch):
    monkeypatch.setattr("papers.streams.language_models.PAUSES", (0.01, 0.01))
    server.busy = 2
    assert run("--rows", "1")["accuracy"] == 1.0 and len(server.asked) == 3


def test_a_key_is_sent_and_none_is_printed(run, server, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_SYMBINV_KEY", "secret-of-a-test")
    run("--rows", "1")
    assert server.asked[0][1] == "Bearer secret-of-a-test"
    assert not any("secret" in path.read_text() for path in (tmp_path / "made").iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--endpoint", "http://127.0.0.1:9/v1"], "no answer of 'tiny'"),
        (["--rows", "0"], "--rows 0: must be at least 1"),
        (["--data", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(run, words, sentence, capsys):
    with pytest.raises(SystemExit) as exit_:
        run(*words)
    said = capsys.readouterr().err
    assert exit_.value.code == 2 and sentence in said.splitlines()[-1] and "Traceback" not in said


def test_a_damaged_file_of_answers_is_named(run, tmp_path, capsys):
    run("--rows", "1")
    kept = tmp_path / "made" / ANSWERS
    kept.write_text("no json\n" + kept.read_text())
    with pytest.raises(SystemExit):
        run("--rows", "1")
    assert "answers.jsonl, line 1: damaged; remove this line" in capsys.readouterr().err


@pytest.mark.parametrize(
    "reply", ["", "{", "[]", '{"a": "yes"}', "null", "[" * 100_000, '{"a": true} and more', "```\n```", "\ud800"]
)
def test_talk_is_no_answer_and_breaks_nothing(reply):
    for task in (LTL, PROP):
        answer = read_reply(task, reply)
        assert task.judge("&ab" if task is PROP else "&aXb", answer)[0] == "invalid"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model of transformers with fresh weights, and a tokenizer of bytes."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny"
    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(["<end>", *pieces])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>").save_pretrained(folder)
    config = GPT2Config(vocab_size=257, n_positions=4096, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def test_a_model_of_transformers_is_asked_too(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("papers.streams.language_models.TOKENS", 8)
    folder = data(tmp_path / "rows", FORMULAS[:2], LTL.columns)
    command = ["--task", "ltl", "--data", folder, "--model", str(tiny), "--output"]
    assert main([*command, str(tmp_path / "first")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == 2 and found["invalid"] == 1.0  # fresh weights
    assert main([*command, str(tmp_path / "second")]) == 0
    files = [tmp_path / name / ANSWERS for name in ("first", "second")]
    replies = [[json.loads(line)["reply"] for line in path.read_text().splitlines()] for path in files]
    assert replies[0] == replies[1] and any(replies[0])  # one seed for each question
