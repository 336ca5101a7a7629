"""Streams may trade places, and rows of canonical names may not: the measurement tells them apart."""

import json

import pytest
from datasets import Dataset

from papers.streams.permuted_slots import main

FORMULAS = [("&aXb", "a;b;{1}"), ("U!ab", "b;{1}"), ("&aX!b", "a;!b;{1}"), ("|a&bXc", "a;{1}"), ("XXc", "1;1;c;{1}")]


@pytest.fixture
def data(tmp_path):
    rows = [dict(zip(("formula", "witness"), pair, strict=True)) for pair in FORMULAS]
    (tmp_path / "data").mkdir()
    Dataset.from_list(rows).to_parquet(tmp_path / "data" / "test-00000-of-00001.parquet")
    return str(tmp_path)


def test_answers_of_streams_stay_and_those_of_canonical_names_change(data, capsys):
    assert main(["ltl-small", "ltl-canonical", "--data", data, "--rows", "5", "--orders", "3"]) == 0
    streams, canonical = map(json.loads, capsys.readouterr().out.splitlines())
    assert (streams["model"], streams["questions"], streams["orders"]) == ("ltl-small", 4, 3)  # one has one symbol
    assert streams["changed"] == 0 and 0 < streams["score_difference"] < 1e-5
    assert canonical["changed"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--rows", "0"], "--rows 0: must be at least 1"), (["--orders", "0"], "--orders 0: must be at least 1")],
)
def test_bad_usage_is_refused_with_a_sentence(arguments, message, data, capsys):
    with pytest.raises(SystemExit):
        main(["ltl-small", "--data", data, *arguments])
    assert message in capsys.readouterr().err
