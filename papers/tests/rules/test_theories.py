"""Theories about people: the prover agrees with a search of all worlds, and theories are as they are promised."""

import random
import re
from itertools import product

import pytest

from papers.rules.theories import ADJECTIVES, ASKED, NAMES, OTHERS, draw_theory, prove

DRAWN = [draw_theory(random.Random(seed), NAMES, 2, 4) for seed in range(60)]


def true_in_every_world(theory):
    """Who is young in every world in which all that the text says holds, read from the text alone.

    Horn clauses have a least world, so this is who is young in the closed world too. A world gives each person
    adjectives. Rules say nothing of two people at once, so people are looked at one by one.
    """
    facts = re.findall(r"([A-Z]\w+) is (\w+)\.", theory.text)
    rules = re.findall(r"All (\w+) people are (\w+)\.", theory.text)
    found = set()
    for name in {name for name, _ in facts}:
        own = {word for who, word in facts if who == name}
        worlds = [
            {word for word, holds in zip(ADJECTIVES, values, strict=True) if holds}
            for values in product((False, True), repeat=len(ADJECTIVES))
        ]
        fitting = [world for world in worlds if own <= world and all(b in world for a, b in rules if a in world)]
        if all(ASKED in world for world in fitting):
            found.add(name)
    return found


@pytest.mark.parametrize("theory", DRAWN[:30], ids=range(30))
def test_the_prover_finds_who_is_young_in_every_world_of_the_text(theory):
    assert theory.steps.keys() == true_in_every_world(theory)


def test_rounds_are_counted_from_facts():
    found = prove([("Anna", "kind"), ("Bob", "tall")], [("tall", "rich"), ("kind", "tall"), ("rich", "kind")])
    assert found == {
        ("Anna", "kind"): 0, ("Bob", "tall"): 0, ("Anna", "tall"): 1, ("Bob", "rich"): 1, ("Anna", "rich"): 2,
        ("Bob", "kind"): 2,
    }  # fmt: skip


def test_somebody_is_proved_by_a_rule_and_somebody_is_not_and_each_has_two_mentions():
    for theory in DRAWN:
        assert 2 <= len(theory.names) <= 4 and 0 < len(theory.steps) < len(theory.names)
        assert max(theory.steps.values()) > 0
        assert all(len(re.findall(rf"\b{name}\b", theory.text)) == 2 for name in theory.names)


def test_the_same_draw_from_another_pool_is_the_theory_under_other_names():
    for seed in range(20):
        one, other = (draw_theory(random.Random(seed), pool, 5, 8) for pool in (NAMES, OTHERS))
        names = dict(zip(one.names, other.names, strict=True))
        assert re.sub("|".join(names), lambda match: names[match[0]], one.text) == other.text  # noqa: B023
        assert {names[name]: steps for name, steps in one.steps.items()} == other.steps
