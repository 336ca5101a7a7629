"""English theories about people, a question about all of them, and a prover that answers it.

    Anna is kind. Bob is tall. All kind and tall people are quiet. Bob is kind. Who is quiet?

Bob is. A prover chains forward from the facts, and who is not proved to be quiet is not: a closed world, as in Clark,
Tafjord, Richardson. Transformers as Soft Reasoners over Language. IJCAI, 2020. There a text ends in one statement; here
each person is a statement, so that a model has an answer at each name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

# Names of training, and as many that it never has.
NAMES = re.findall(
    r"\w+",
    """Anna Bob Carl Dora Emma Frank Grace Henry Irene Jack Karen Louis Maria Nick Olga Paul Rosa Sam Tina Victor
    Walter Alice Brian Clara David Ellen Felix Helen Ivan Julia Kevin Laura Martin Nora Oscar Peter Rachel Simon Thomas
    Vera""",
)
OTHERS = re.findall(
    r"\w+",
    """Adam Betty Chris Diana Eric Fiona George Hannah Isaac Jane Keith Linda Marcus Nancy Oliver Philip Quentin Rita
    Steven Ursula Vincent Wendy Albert Bella Daniel Edith Fred Gloria Hugo Ida James Kate Leo Monica Neil Paula Robert
    Susan Toby Yvonne""",
)
ADJECTIVES = ("kind", "young", "quiet", "smart", "tall", "rich", "brave", "happy")
# Who is what.
Fact = tuple[str, str]


@dataclass(frozen=True)
class Rule:
    """Whoever is all of `conditions` is `conclusion`."""

    conditions: tuple[str, ...]
    conclusion: str

    def __str__(self) -> str:
        return f"All {' and '.join(self.conditions)} people are {self.conclusion}."


@dataclass(frozen=True)
class Question:
    """A theory, and who is asked for.

    Attributes:
        facts, rules: What is said.
        asked: The adjective.
        order: Of the sentences, facts first.
    """

    facts: tuple[Fact, ...]
    rules: tuple[Rule, ...]
    asked: str
    order: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the people in it."""
        return tuple(dict.fromkeys(name for name, _ in self.facts))

    @property
    def text(self) -> str:
        """The theory, and the question as its last sentence."""
        sentences = [*(f"{name} is {adjective}." for name, adjective in self.facts), *map(str, self.rules)]
        return " ".join([*(sentences[place] for place in self.order), f"Who is {self.asked}?"])

    @property
    def steps(self) -> dict[str, int]:
        """For each person that is what is asked for, the rounds of forward chaining until it is proved; 0 of a fact."""
        proved = prove(self.facts, self.rules)
        return {name: proved[name, self.asked] for name in self.names if (name, self.asked) in proved}


def prove(facts: Collection[Fact], rules: Sequence[Rule]) -> dict[Fact, int]:
    """All facts that follow, each with the number of rounds of forward chaining after which it is there."""
    found = dict.fromkeys(facts, 0)
    names = list(dict.fromkeys(name for name, _ in facts))
    rounds = 0
    while True:
        rounds += 1
        new = [
            (name, rule.conclusion)
            for name in names
            for rule in rules
            if all((name, condition) in found for condition in rule.conditions)
        ]
        if found.keys() >= {*new}:
            return found
        found = dict.fromkeys(new, rounds) | found


def draw_question(generator: random.Random, pool: Sequence[str], fewest: int, most: int) -> Question:
    """A question about `fewest` to `most` people, with two facts about each and three rules.

    The names are from `pool`. Somebody is what is asked for, by a rule, and somebody is not.
    """
    count = generator.randint(fewest, most)
    while True:
        names, adjectives = generator.sample(pool, count), generator.sample(ADJECTIVES, 5)
        facts = tuple((name, adjective) for name in names for adjective in generator.sample(adjectives, 2))
        rules = tuple(_rule(generator, adjectives) for _ in range(3))
        order = generator.sample(range(len(facts) + len(rules)), len(facts) + len(rules))
        question = Question(facts, rules, generator.choice(adjectives), tuple(order))
        if len({*rules}) == len(rules) and 0 < len(question.steps) < count and max(question.steps.values()) > 0:
            return question


def _rule(generator: random.Random, adjectives: Sequence[str]) -> Rule:
    *conditions, conclusion = generator.sample(adjectives, generator.choice((2, 3)))
    return Rule(tuple(conditions), conclusion)
