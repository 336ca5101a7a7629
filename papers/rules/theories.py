"""English theories about people, a question about all of them, and a prover that answers it.

    Anna is kind. Bob is tall. All tall people are rich. Bob is smart. All rich people are young. Anna is smart.

Who is young? Bob is. A prover chains forward from the facts, and who is not proved to be young is not: a closed world,
as in Clark, Tafjord, Richardson. Transformers as Soft Reasoners over Language. IJCAI, 2020. There a text ends in a
statement; here the same is asked of each person, so that a model has an answer at each name.
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
ASKED = "young"
ADJECTIVES = ("kind", "quiet", "smart", "tall", "rich", ASKED)
# Who is what.
Fact = tuple[str, str]
# Whoever is the first is the second.
Rule = tuple[str, str]


@dataclass(frozen=True)
class Theory:
    """What is said of some people.

    Attributes:
        facts, rules: Of it.
        order: Of the sentences, facts first.
    """

    facts: tuple[Fact, ...]
    rules: tuple[Rule, ...]
    order: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the people in it."""
        return tuple(dict.fromkeys(name for name, _ in self.facts))

    @property
    def text(self) -> str:
        """All sentences."""
        facts = [f"{name} is {adjective}." for name, adjective in self.facts]
        sentences = [*facts, *(f"All {condition} people are {conclusion}." for condition, conclusion in self.rules)]
        return " ".join(sentences[place] for place in self.order)

    @property
    def steps(self) -> dict[str, int]:
        """For each person who is young, the rounds of forward chaining until that is proved; 0 for a fact."""
        proved = prove(self.facts, self.rules)
        return {name: proved[name, ASKED] for name in self.names if (name, ASKED) in proved}


def prove(facts: Collection[Fact], rules: Sequence[Rule]) -> dict[Fact, int]:
    """All facts that follow, each with the number of rounds of forward chaining after which it is there."""
    found = dict.fromkeys(facts, 0)
    rounds = 0
    while True:
        rounds += 1
        new = [(name, conclusion) for name, word in found for condition, conclusion in rules if word == condition]
        if found.keys() >= {*new}:
            return found
        found = dict.fromkeys(new, rounds) | found


def draw_theory(generator: random.Random, pool: Sequence[str], fewest: int, most: int) -> Theory:
    """A theory of `fewest` to `most` people, with two facts about each and two rules.

    The names are from `pool`. One rule makes people young, and the other may make more of them fit it. Somebody is
    young by a rule, and somebody is not young.
    """
    count = generator.randint(fewest, most)
    while True:
        names = generator.sample(pool, count)
        facts = tuple((name, adjective) for name in names for adjective in generator.sample(ADJECTIVES, 2))
        first, second, third = generator.sample(ADJECTIVES[:-1], 3)
        rules = ((first, ASKED), (second, generator.choice((first, ASKED, third))))
        order = generator.sample(range(len(facts) + len(rules)), len(facts) + len(rules))
        theory = Theory(facts, rules, tuple(order))
        if 0 < len(theory.steps) < count and max(theory.steps.values()) > 0:
            return theory
