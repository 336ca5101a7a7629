"""Copying with an extendable vocabulary: given a string of symbols, write it again.

The smallest task there is: every token of a question is a symbol, so a model that copies with more symbols than it was
trained with has learned what a symbol is, and nothing else. `COPY` is the object that other rooms need.

Source: Interchangeable Token Embeddings, section 5.1 and Appendix E.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import zip_longest

from hf_symbinv.logic.notation import SYMBOL, Token, write_prefix
from hf_symbinv.tasks.base import SymbolTask


class CopyTask(SymbolTask):
    """Strings of symbols, `abca` or `p3 p27 p3`, and their copies."""

    name = "copy"
    base_tokens = ("<s>", "<pad>", "</s>")
    columns = ("string", "copy")
    metric = "edit_distance"
    description = "A question is a string of symbols; its answer is the same string."
    # Our choice, because copies cost nothing, and few short strings exist.
    shard = 8192
    drought = 5_000

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random strings whose lengths are uniform in [smallest, largest].

        The number of distinct symbols is uniform too, between 1 and as many as there are symbols and places: our
        choice, because independent symbols would use nearly all of them in every string.

        Raises:
            ValueError: If there are no symbols, or no lengths between `smallest` and `largest`.
        """
        if not symbols or not 1 <= smallest <= largest:
            raise ValueError(
                f"{len(symbols)} symbols, lengths {smallest} to {largest}: a string needs at least one symbol, and "
                "lengths are at least 1 and in ascending order"
            )
        generator, tokens, strings = random.Random(seed), [Token(-1, SYMBOL, name) for name in symbols], []
        for _ in range(count):
            length = generator.randint(smallest, largest)
            distinct = generator.sample(tokens, generator.randint(1, min(length, len(tokens))))
            string = distinct + generator.choices(distinct, k=length - len(distinct))
            generator.shuffle(string)
            strings.append(write_prefix(string))
        return strings

    def solve(self, question: str) -> str:
        """The string itself."""
        return question

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        """`correct` if the answer has the same symbols in the same places, COMPACT or SPACED.

        Raises:
            ValueError: If `question` is no string of symbols.
        """
        wanted = self._names(question)
        try:
            copied = self._names(answer)
        except ValueError as error:
            return "invalid", str(error)
        for place, (want, got) in enumerate(zip_longest(wanted, copied), start=1):
            if got is None:
                return "incorrect", f"the copy ends after {len(copied)} of {len(wanted)} symbols"
            if want is None:
                return "incorrect", f"the copy goes on after the string's {len(wanted)} symbols, with {got}"
            if want != got:
                return "incorrect", f"symbol {place} is {got} and should be {want}"
        return "correct", ""

    def normalized(self, answer: str) -> str:
        """The copy as this package writes it: COMPACT where that is possible."""
        return write_prefix(self.words(answer))

    def read_question(self, text: str, notation: str) -> str:
        """A string of symbols that a user wrote; ValueError for another word, or none."""
        self._names(super().read_question(text, notation))
        return self.normalized(text)

    def read_answer(self, text: str) -> str:
        """A copy that a user wrote; ValueError for a word that is no symbol, or none."""
        self._names(text)
        return self.normalized(text)

    def _names(self, text: str) -> list[str]:
        names = []
        for position, word, name in self.words(text):
            if name is None:
                raise ValueError(
                    f"position {position}: {word!r} is no symbol; write lower-case letters, or names with blanks "
                    "between them: of two or more characters, or in double quotes"
                )
            names.append(name)
        if not names:
            raise ValueError("no symbols: a string has at least one")
        return names


COPY = CopyTask()

__all__ = ["COPY", "CopyTask"]
