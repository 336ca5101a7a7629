"""Clauses with new symbols: given a propositional formula, write clauses that stand for it.

Questions are formulas as in the task `prop`. Answers are clauses in prefix notation, `c!a!b;!ca;!cb;c` for `&ab`, whose
new symbols name the formula's gates, as in Tseitin's transformation: it writes every formula as clauses in linear size,
which takes exponential size without new symbols.

Source: Tseitin 1968, "On the complexity of derivation in propositional calculus".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from hf_symbinv.logic.clauses import clauses_to_infix, clauses_to_prefix, parse_clauses, read_clauses
from hf_symbinv.solvers.clauses import judge, normalized_clauses, tseitin_clauses
from hf_symbinv.tasks.base import SymbolTask
from hf_symbinv.tasks.prop import PropTask


class TseitinTask(PropTask):
    """A propositional formula asks for clauses that stand for it, with a new symbol for each gate."""

    name = "tseitin"
    base_tokens = (*PropTask.base_tokens, ";")
    # Literals and clauses follow each other, each a tree of its own: `;` is one too.
    token_arity = {**PropTask.token_arity, ";": 0}
    columns = ("formula", "clauses")
    grammar = None
    metric = None
    answers = (parse_clauses, read_clauses, clauses_to_infix, clauses_to_prefix)
    description = (
        "A question is a propositional formula, drawn by the recipe of DeepLTL with `spot.randltl`. Its answer is "
        "clauses, `c!a!b;!ca;!cb;c` for `&ab`, with a new symbol for each gate of the formula (Tseitin 1968). Under "
        "every assignment of the formula's symbols, some values of the new ones satisfy the clauses exactly when the "
        "formula is true."
    )
    # Our choice: few formulas have fewer than 5 nodes, and together they get a tenth of the rows.
    uniform_from = 5
    short_share = 0.1
    # Our choice: answers have at most 22 tokens for a gate, and those of formulas up to 12 nodes less than 128.
    max_new_tokens = 128
    # Our choice: the gates of a formula of up to 33 nodes.
    num_fresh_symbols = 16

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random formulas as those of the task `prop`, but for `0`, the only one without symbols."""
        return [text for text in super().draw(symbols, smallest, largest, seed, count) if text != "0"]

    def solve(self, question: str) -> str | None:
        """Tseitin's clauses; None for a formula of more gates than an answer may have new symbols."""
        return tseitin_clauses(question, islice(self.new_names(question), self.num_fresh_symbols))

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        return judge(question, answer, self.num_fresh_symbols)

    def normalized(self, answer: str) -> str:
        return normalized_clauses(answer)

    # Clauses follow the formula's gates, and leave nothing open.
    ordered, completed = SymbolTask.ordered, SymbolTask.completed  # type: ignore[assignment]


TSEITIN = TseitinTask()

__all__ = ["TSEITIN", "TseitinTask"]
