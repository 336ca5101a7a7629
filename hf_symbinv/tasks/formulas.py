"""What tasks share whose questions are formulas: notations, random formulas of Spot, and which lengths are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from hf_symbinv.logic import (
    Formula,
    FormulaSyntaxError,
    parse_infix,
    parse_lbt,
    parse_prefix,
    to_infix,
    to_lbt,
    to_prefix,
)
from hf_symbinv.tasks.base import SymbolTask

_WRITERS = {"infix": to_infix, "lbt": to_lbt, "prefix": to_prefix}
# Of answers: what reads prefix notation, what reads any, and what writes infix and prefix notation.
Notation = tuple[Callable[[str], Any], Callable[[str], Any], Callable[[Any], str], Callable[[Any], str]]


class FormulaTask(SymbolTask):
    """A formula asks for something that makes it true, which has an infix and a prefix notation.

    Attributes:
        parsers: Notation of questions → what reads it.
        answers: How answers are read and written.
    """

    parsers: ClassVar[dict[str, Callable[[str], Formula]]] = {
        "infix": parse_infix, "lbt": parse_lbt, "prefix": parse_prefix,
    }  # fmt: skip
    answers: ClassVar[Notation]
    notations = tuple(_WRITERS)
    # DeepLTL's gate: lengths from 10 nodes up are equally frequent, the shorter ones share 11.2 % of the rows.
    uniform_from = 10
    short_share = 0.112

    def read_question(self, text: str, notation: str) -> str:
        """A formula in prefix notation.

        Raises:
            FormulaSyntaxError: If `text` is no formula in this notation.
            ValueError: If `notation` is unknown.
        """
        self._known(notation)
        return to_prefix(self.parsers[notation](text))

    def write_question(self, question: str, notation: str) -> str:
        self._known(notation)
        return _WRITERS[notation](parse_prefix(question))

    def read_answer(self, text: str) -> str:
        """An answer in infix or prefix notation, in prefix notation.

        Raises:
            FormulaSyntaxError: If it is neither.
        """
        _, read, _, prefix = self.answers
        return prefix(read(text))

    def write_answer(self, answer: str, notation: str) -> str:
        """An answer in prefix notation for `prefix` and `lbt`, which has none, else as people write it."""
        self._known(notation)
        parse, _, infix, prefix = self.answers
        try:
            value = parse(answer)
        except FormulaSyntaxError:
            return answer
        return infix(value) if notation == "infix" else prefix(value)


def random_formulas(
    priorities: str, symbols: Sequence[str], sizes: tuple[int, int], seed: int, count: int
) -> Iterator[Any]:
    """Random formulas of Spot, of trees of these sizes; it orders operands by all formulas that are alive."""
    from hf_symbinv.solvers.ltl import load_spot

    formulas: Iterator[Any] = load_spot().randltl(
        list(symbols),
        n=count,
        seed=seed,
        tree_size=sizes,
        simplify=0,
        allow_dups=True,
        ltl_priorities="".join(priorities),  # a new string each time: Spot's parser overwrites it in place
    )
    return formulas
