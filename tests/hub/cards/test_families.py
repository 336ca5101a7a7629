"""The cards of families in the repository are what the program writes, and what they say to do can be done."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from hf_symbinv.hub.cards.families import EMBEDDINGS, PAPER_TASKS, TASKS
from hf_symbinv.training import Recipe
from model_cards.write import family_card, write_family_cards

ROOT = Path(__file__).parents[3]
FAMILIES = [(task, embedding) for task in PAPER_TASKS for embedding in EMBEDDINGS]


def test_the_tracked_cards_are_the_programs_own(tmp_path):
    written = {path.name: path.read_text() for path in write_family_cards(tmp_path)}
    tracked = {path.name: path.read_text() for path in (ROOT / "model_cards").glob("*.md")}
    assert tracked == written, "run `python model_cards/write.py`"
    templates = ROOT / "model_cards" / "templates"
    assert templates.is_symlink() and (templates / "model.md.jinja").is_file()


def recipes(task, embedding):
    """Those of the two training commands of a card, the small one's and the paper's."""
    commands = [shlex.split(line) for line in re.findall(r"^symbinv train .*$", family_card(task, embedding), re.M)]
    return [
        Recipe.load(name, {key: yaml.safe_load(value) for key, value in (part.split("=", 1) for part in overrides)})
        for _, _, name, *overrides in commands
    ]


@pytest.mark.parametrize(("task", "embedding"), FAMILIES)
def test_the_training_commands_make_models_of_the_family(task, embedding):
    small, paper = recipes(task, embedding)
    for recipe in (small, paper):
        assert recipe.task == task and recipe.config().symbol_embedding == embedding
    assert small.config().d_model <= paper.config().d_model and small.data["rows"] < paper.data["rows"]


@pytest.mark.parametrize(("task", "embedding"), FAMILIES)
def test_a_card_has_papers_limits_and_an_example(task, embedding):
    card = family_card(task, embedding)
    assert "https://arxiv.org/abs/" in card and "@inproceedings{" in card and " Do not use it " in card
    assert f'pipeline("{TASKS[task].pipeline}"' in card
