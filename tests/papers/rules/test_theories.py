"""Theories about people: the prover agrees with a search of all worlds, and questions are as they are promised."""

import random
import re
from itertools import product

import pytest

from papers.rules.theories import ADJECTIVES, NAMES, OTHERS, Question, Rule, draw_question, prove

DRAWN = [draw_question(random.Random(seed), NAMES, 2, 4) for seed in range(60)]


def true_in_every_world(question):
    """Who is what is asked for in every world in which all that the text says holds, read from the text alone.

    Horn clauses have a least world, so this is who is so in the closed world too. A world gives each person adjectives;
    rules say nothing of two people at once, so people are looked at one by one.
    """
    facts = re.findall(r"([A-Z]\w+) is (\w+)\.", question.text)
    rules = re.findall(r"All (\w+)(?: and (\w+))? people are (\w+)\.", question.text)
    (asked,) = re.findall(r"Who is (\w+)\?", question.text)
    words = sorted({word for _, word in facts} | {word for rule in rules for word in rule if word} | {asked})
    found = set()
    for name in {name for name, _ in facts}:
        own = {word for who, word in facts if who == name}
        worlds = [
            {word for word, holds in zip(words, values, strict=True) if holds}
            for values in product((False, True), repeat=len(words))
        ]
        fitting = [
            world
            for world in worlds
            if own <= world
            and all(not {first, second or first} <= world or last in world for first, second, last in rules)
        ]
        if all(asked in world for world in fitting):
            found.add(name)
    return found


@pytest.mark.parametrize("question", DRAWN[:30], ids=range(30))
def test_the_prover_finds_who_is_so_in_every_world_of_the_text(question):
    assert question.steps.keys() == true_in_every_world(question)


def test_rounds_are_counted_from_facts():
    rules = [Rule(("kind",), "tall"), Rule(("tall", "kind"), "rich"), Rule(("rich",), "kind")]
    found = prove([("Anna", "kind"), ("Bob", "rich")], rules)
    assert found == {
        ("Anna", "kind"): 0, ("Bob", "rich"): 0, ("Anna", "tall"): 1, ("Bob", "kind"): 1, ("Anna", "rich"): 2,
        ("Bob", "tall"): 2,
    }  # fmt: skip


def test_a_text_says_facts_and_rules_in_their_order_and_asks():
    facts, rules = (("Anna", "kind"), ("Bob", "tall")), (Rule(("kind", "tall"), "rich"),)
    question = Question(facts, rules, "rich", (2, 0, 1))
    assert question.text == "All kind and tall people are rich. Anna is kind. Bob is tall. Who is rich?"
    assert question.names == ("Anna", "Bob") and question.steps == {}


def test_somebody_is_proved_by_a_rule_and_somebody_is_not_and_each_has_two_mentions():
    for question in DRAWN:
        assert 2 <= len(question.names) <= 4 and 0 < len(question.steps) < len(question.names)
        assert max(question.steps.values()) > 0
        assert all(len(re.findall(rf"\b{name}\b", question.text)) == 2 for name in question.names)


def test_pools_share_no_name_and_no_name_is_an_adjective():
    assert len({*NAMES, *OTHERS}) == len(NAMES) + len(OTHERS) == 80
    assert not {name.lower() for name in NAMES + OTHERS} & {*ADJECTIVES}


def test_the_same_draw_from_another_pool_is_the_question_under_other_names():
    for seed in range(20):
        one, other = (draw_question(random.Random(seed), pool, 5, 8) for pool in (NAMES, OTHERS))
        names = dict(zip(one.names, other.names, strict=True))
        assert re.sub("|".join(names), lambda match: names[match[0]], one.text) == other.text  # noqa: B023
        assert {names[name]: steps for name, steps in one.steps.items()} == other.steps
