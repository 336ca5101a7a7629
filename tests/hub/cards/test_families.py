"""The cards of families in the repository are what the command writes, and what they say to do can be done."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from hf_symbinv.hub.cards.descriptions import EMBEDDINGS, TASKS
from hf_symbinv.hub.cards.families import family_card, write_family_cards
from hf_symbinv.training import Recipe

ROOT = Path(__file__).parents[3]
FAMILIES = [(task, embedding) for task in TASKS for embedding in EMBEDDINGS]


def test_the_tracked_cards_are_the_commands_own(tmp_path):
    written = {path.name: path.read_text() for path in write_family_cards(tmp_path)}
    tracked = {path.name: path.read_text() for path in (ROOT / "model_cards").glob("*.md")}
    assert tracked == written, "run `symbinv card --families model_cards`"
    templates = ROOT / "model_cards" / "templates"
    assert templates.is_symlink() and (templates / "model.md.jinja").is_file()


@pytest.mark.parametrize(("task", "embedding"), FAMILIES)
def test_the_training_command_makes_a_model_of_the_family(task, embedding):
    command = shlex.split(re.search(r"`(symbinv train .*?)`", family_card(task, embedding))[1])
    overrides = dict(part.split("=", 1) for part in command[3:])
    for name in (command[2], TASKS[task].recipes[1]):
        recipe = Recipe.load(name, {key: yaml.safe_load(value) for key, value in overrides.items()})
        assert recipe.task == task and recipe.config().symbol_embedding == embedding


@pytest.mark.parametrize(("task", "embedding"), FAMILIES)
def test_a_card_has_papers_limits_and_an_example(task, embedding):
    card = family_card(task, embedding)
    assert "https://arxiv.org/abs/" in card and "@inproceedings{" in card and "**Do not use it**" in card
    assert f'pipeline("{TASKS[task].pipeline}"' in card
