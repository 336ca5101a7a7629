"""Linear temporal logic: given a formula, find a lasso trace that satisfies it.

Users may write the operators 0 1 & | ! X U F G R W M -> <-> ^. The models of `ltl` read a formula in the first seven,
as in the papers; those of `ltl-operators` read it as it is written. Answers are traces in prefix notation
(`a;&ab;{b}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from hf_symbinv.logic import (
    Worlds,
    nested_to_the_right,
    parse_lbt,
    parse_prefix,
    parse_trace,
    read_trace,
    to_prefix,
    trace_to_infix,
    trace_to_prefix,
)
from hf_symbinv.solvers.checker import Verdict
from hf_symbinv.solvers.lasso import truth
from hf_symbinv.solvers.ltl import (
    find_witness,
    judge,
    load_spot,
    normalized_trace,
    solver_version,
)
from hf_symbinv.tasks.formulas import FormulaTask, random_formulas

# DeepLTL's LTLRandom35: relative frequency of the operators.
PRIORITIES = "false=1,true=1,not=1,F=0,G=0,X=1,equiv=0,implies=0,xor=0,R=0,U=1,W=0,M=0,and=1,or=0"
# Our choice: all operators are equally frequent.
ALL_PRIORITIES = "false=1,true=1,not=1,F=1,G=1,X=1,equiv=1,implies=1,xor=1,R=1,U=1,W=1,M=1,and=1,or=1"

_COMPACT_IN_BASE_OPERATORS = re.compile(r"[a-z01!&|XU]+")
# 13 with the three special ones: SIT Table 6's parameter counts imply the number; the order is our choice.
_BASE_TOKENS = ("<s>", "<pad>", "</s>", "0", "1", "&", "|", "!", ";", "{", "}", "U", "X")
_ID = {token: index for index, token in enumerate(_BASE_TOKENS)}


class LTLTask(FormulaTask):
    """A formula of linear temporal logic asks for a trace that satisfies it."""

    name = "ltl"
    base_tokens: tuple[str, ...] = _BASE_TOKENS
    token_arity = {"0": 0, "1": 0, "&": 2, "|": 2, "!": 1, "U": 2, "X": 1}
    columns = ("formula", "witness")
    grammar = {
        "name": "lasso",
        "operand": [_ID["0"], _ID["1"]],
        "unary": [_ID["!"]],
        "binary": [_ID["&"], _ID["|"]],
        "separator": _ID[";"],
        "cycle_start": _ID["{"],
        "cycle_end": _ID["}"],
    }
    metric = "ltl_witness"
    description = (
        "A question is a formula of linear temporal logic, drawn by the recipe of DeepLTL with `spot.randltl`. Its "
        "witness is the accepting run of the formula's automaton, a lasso trace: steps joined by `;`, the cycle in "
        "`{}`. Every word that it denotes satisfies the formula."
    )
    answers = (parse_trace, read_trace, trace_to_infix, trace_to_prefix)

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random formulas by DeepLTL's recipe: a uniform tree size, then a random tree of it from `spot.randltl`.

        Spot folds trivialities while it builds the tree (`!!a`, `a & 1`), so that a formula is often shorter than its
        tree is large, and never longer. Trees below the smallest size are left out, which changes no distribution.

        Spot orders the operands of a conjunction by when it first saw them, among all formulas that are alive. Only in
        a process without other formulas is the result a function of the arguments.

        Raises:
            ValueError: For a smallest size below 1, which Spot would not survive.
        """
        # A list of all, because formulas that are alive decide the order of operands.
        texts = [formula.to_str("lbt") for formula in _random(PRIORITIES, symbols, smallest, largest, seed, count)]
        kept = [text for text in texts if smallest <= text.count(" ") + 1 <= largest]
        return [to_prefix(nested_to_the_right(parse_lbt(text))) for text in kept]

    prepare, solver_version = staticmethod(load_spot), staticmethod(solver_version)

    def solve(self, question: str) -> str | None:
        return find_witness(question)

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        return judge(question, answer)

    def normalized(self, answer: str) -> str:
        return normalized_trace(answer)

    def quick_verdict(self, question: str, answer: str) -> Verdict | None:
        """The verdict of the semantics on the lasso itself, for an answer that is surely right or surely wrong.

        Spot translates the formula whatever the answer is, which takes long for many symbols.
        """
        try:
            formula, trace = parse_prefix(question), parse_trace(answer)
            held = truth(formula, trace)
        except ValueError:  # among them a step that is no conjunction of literals
            return None
        return None if held == "open" else "correct" if held == "true" else "incorrect"

    def ordered(self, question: str, answer: str) -> str:
        """The trace with the literals of each step in the order in which the formula names them."""
        if "&" not in answer and "|" not in answer:  # no step has two literals
            return answer
        return trace_to_prefix(parse_trace(answer).in_order(self.symbols(question)))

    def worlds(self, symbols: int) -> Worlds:
        """Random lassos of one to four positions."""
        return Worlds([(8, 0, 1), (8, 0, 2), (8, 1, 3), (8, 2, 4), (8, 3, 4)], symbols)

    def prompt(self, question: str) -> str:
        """The formula in base operators.

        Raises:
            FormulaSizeError: If it would be too long.
        """
        if _COMPACT_IN_BASE_OPERATORS.fullmatch(question):
            return question
        return to_prefix(parse_prefix(question).to_base())


class OperatorsTask(LTLTask):
    """`LTLTask` for models that read all operators, so that a formula is as short for them as it is written."""

    name = "ltl-operators"
    base_tokens = (*_BASE_TOKENS, "F", "G", "R", "W", "M", "^", "->", "<->")
    token_arity = {**LTLTask.token_arity, "F": 1, "G": 1, "R": 2, "W": 2, "M": 2, "^": 2, "->": 2, "<->": 2}
    description = (
        "A question is a formula of linear temporal logic in all its operators, drawn with `spot.randltl`. Its witness "
        "is the accepting run of the formula's automaton, a lasso trace: steps joined by `;`, the cycle in `{}`. Every "
        "word that it denotes satisfies the formula."
    )

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random formulas as those of `LTLTask`, but in all operators, and with operands in Spot's order.

        Raises:
            ValueError: For a smallest size below 1.
        """
        # All of them stay alive until the last is written, because those that are alive decide the order of operands.
        alive = list(_random(ALL_PRIORITIES, symbols, smallest, largest, seed, count))
        formulas = [parse_lbt(formula.to_str("lbt")) for formula in alive]
        return [to_prefix(formula) for formula in formulas if smallest <= formula.size <= largest]

    def prompt(self, question: str) -> str:
        """The formula as it is."""
        return question


def _random(
    priorities: str, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int
) -> Iterator[Any]:
    """Random formulas of Spot."""
    if smallest < 1:
        raise ValueError(f"smallest={smallest}: a formula has at least 1 node")
    return random_formulas(priorities, symbols, (smallest, largest), seed, count)


LTL, LTL_OPERATORS = LTLTask(), OperatorsTask()

__all__ = ["LTL", "LTL_OPERATORS", "LTLTask", "OperatorsTask"]
