"""Propositional logic: given a formula, find a partial assignment that makes it true whatever the other symbols are.

Questions are formulas in the operators 0 1 & | ! ^ <-> once they reach a model; users may write -> too. Answers are
assignments in prefix notation (`a1b0`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from hf_symbinv.errors import in_short
from hf_symbinv.logic import (
    Assignment,
    Formula,
    FormulaSyntaxError,
    Worlds,
    assignment_to_infix,
    assignment_to_prefix,
    parse_assignment,
    parse_lbt,
    parse_prefix,
    read_assignment,
    to_prefix,
)
from hf_symbinv.logic.notation import is_spaced
from hf_symbinv.solvers.prop import (
    MOST_IN_TABLE,
    check_propositional,
    find_assignment,
    judge,
    load_aiger,
    normalized_assignment,
    solver_version,
)
from hf_symbinv.tasks.formulas import FormulaTask, Notation, random_formulas

# ITE, appendix G.1: negation, conjunction and disjunction have equal weight, the derived operators half of it.
PRIORITIES = "false=1,true=1,not=1,F=0,G=0,X=0,equiv=.5,implies=0,xor=.5,R=0,U=0,W=0,M=0,and=1,or=1"
# Our choice: the largest tree drawn, in multiples of the longest formula wanted. Spot folds so much of propositional
# trees that of 37 nodes with 5 symbols 0.1 % keep 35; of trees of 35 to 70 nodes 2 % do.
STRETCH = 2

_TOKEN_OF_RELEASES = re.compile(r"xor|<->|->|.", re.DOTALL)
_IMPLICATION = re.compile(r"(?<!<)->")


def parse_prefix_of_releases(text: str) -> Formula:
    """Read a formula in prefix notation, or as earlier releases write it: xor and <-> between letters without blanks.

    No text is a formula in both: where `xor` counts as three symbols, there is one operator less and three operands
    more.

    Raises:
        FormulaSyntaxError: If the text is neither.
    """
    try:
        return parse_prefix(text)
    except FormulaSyntaxError:
        words = [] if is_spaced(text) else _TOKEN_OF_RELEASES.findall(text)
        if not {"xor", "<->", "->"} & set(words):
            raise
    return parse_prefix(" ".join("^" if word == "xor" else word for word in words))


@cache
def _truth_tables(symbols: int) -> Worlds:
    return Worlds([(1 << symbols, 0, 1)], symbols)


class PropTask(FormulaTask):
    """A propositional formula asks for a partial assignment that makes it true."""

    name = "prop"
    # SIT Table 6's parameter counts imply that there are 10; the order is our choice, that of LTL as far as it goes.
    base_tokens: tuple[str, ...] = ("<s>", "<pad>", "</s>", "0", "1", "&", "|", "!", "^", "<->")
    token_arity = {"0": 0, "1": 0, "&": 2, "|": 2, "!": 1, "^": 2, "<->": 2}
    columns = ("formula", "assignment")
    grammar: Mapping[str, Any] | None = {
        "name": "assignment",
        "values": [base_tokens.index("0"), base_tokens.index("1")],
    }
    metric: str | None = "prop_assignment"
    description = (
        "A question is a propositional formula, drawn by the recipe of DeepLTL with `spot.randltl`. Its assignment "
        "gives values to some of its symbols, `a1b0`, and makes it true whatever the others are."
    )
    parsers = {**FormulaTask.parsers, "prefix": parse_prefix_of_releases}
    answers: ClassVar[Notation] = (parse_assignment, read_assignment, assignment_to_infix, assignment_to_prefix)

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random formulas by DeepLTL's recipe: `spot.randltl` with Boolean operators only, operands in Spot's order.

        Valid formulas are left out, because they ask for no assignment; `0` is the only formula without symbols that
        remains. Spot orders operands by when it first saw them, among all formulas that are alive: only in a process
        without other formulas is the result a function of the arguments. Names play no part in it.
        """
        from hf_symbinv.solvers.ltl import load_spot

        spot = load_spot()
        names = {f"p{place}": symbol for place, symbol in enumerate(symbols)}
        formulas = random_formulas(PRIORITIES, list(names), (smallest, self.largest_tree(largest)), seed, count)
        dictionary = spot.make_bdd_dict()
        owner = spot.make_twa_graph(dictionary)
        valid = spot.formula_to_bdd(spot.formula.tt(), dictionary, owner)
        questions = []
        for formula in list(formulas):
            text = formula.to_str("lbt")
            is_wanted = smallest <= text.count(" ") + 1 <= largest
            if is_wanted and spot.formula_to_bdd(formula, dictionary, owner) != valid:
                questions.append(to_prefix(parse_lbt(text).rename(names)))
        return questions

    def largest_tree(self, largest: int) -> int:
        """Nodes of the largest tree that is drawn for formulas of at most `largest` nodes."""
        return STRETCH * largest

    prepare, solver_version = staticmethod(load_aiger), staticmethod(solver_version)

    def solve(self, question: str) -> str | None:
        return find_assignment(question)

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        return judge(question, answer)

    def normalized(self, answer: str) -> str:
        return normalized_assignment(answer)

    def ordered(self, question: str, answer: str) -> str:
        """The assignment in the order in which the formula names its symbols."""
        return assignment_to_prefix(parse_assignment(answer).in_order(self.symbols(question)))

    def completed(self, question: str, generator: random.Random) -> str:
        """A value for each symbol, in the order in which the formula names them; a formula that is false has none.

        Raises:
            ValueError: If there are more than 16 symbols, whose truth table would be too long.
        """
        symbols = self.symbols(question)
        if len(symbols) > MOST_IN_TABLE:
            raise ValueError(
                f"{in_short(question)}: has {len(symbols)} symbols, and answers are drawn from truth tables of at most "
                f"{MOST_IN_TABLE}; leave such questions out with --max-symbols {MOST_IN_TABLE}"
            )
        numbers = {name: number for number, name in enumerate(symbols)}
        words = [word if name is None else numbers[name] for _, word, name in self.words(self.prompt(question))]
        whole = _truth_tables(len(symbols)).truth(words)[0]
        true = [world for world in range(1 << len(symbols)) if whole >> world & 1]
        if not true:
            raise ValueError(f"{in_short(question)}: is false whatever its symbols are, and has no answer")
        world = generator.choice(true)
        return assignment_to_prefix(
            Assignment(tuple((name, bool(world >> number & 1)) for name, number in numbers.items()))
        )

    def worlds(self, symbols: int) -> Worlds:
        """The truth table of six symbols, with random values of the others."""
        return Worlds([(64, 0, 1)], symbols)

    def prompt(self, question: str) -> str:
        """The formula without ->."""
        if not _IMPLICATION.search(question):
            return question
        return to_prefix(parse_prefix(question).without_implications())

    def read_question(self, text: str, notation: str) -> str:
        """A propositional formula in prefix notation.

        Prefix text of earlier releases, `<->xorab!c`, is read too.

        Raises:
            FormulaSyntaxError: If `text` is no formula in this notation.
            ValueError: If it has temporal operators, or `notation` is unknown.
        """
        self._known(notation)
        return to_prefix(check_propositional(self.parsers[notation](text)))


class DeepLTLPropTask(PropTask):
    """Identical to PropTask except: trees and lengths are those of DeepLTL's release.

    For who makes a paper's tables again. Trees have at most two nodes more than the longest formula, and a length has
    at most as many rows as lengths from 12 nodes up would have if the shorter ones shared 9.5 % of them.

    Source: the release of Hahn et al. 2021, its program for propositional data and the command that made its `prop-35`.
    """

    uniform_from = 12
    short_share = 0.095

    def largest_tree(self, largest: int) -> int:
        return largest + 2


PROP = PropTask()
PROP_LIKE_DEEPLTL = DeepLTLPropTask()

__all__ = ["PROP", "PROP_LIKE_DEEPLTL", "DeepLTLPropTask", "PropTask"]
