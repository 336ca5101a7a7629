"""A task to start from: name a symbol that occurs more than once in a string.

    symbinv task check FILE
    symbinv data --task FILE --num-symbols 5 --min-size 2 --max-size 12 --rows 2000 --output data/NAME
    symbinv verify --task FILE "b a c a" "a"

A question is a string of symbols, `baca`; an answer is one of those that occur again, `a`. `abc` has no answer.
Whatever your task is, keep to this: questions and answers are texts of base tokens and symbols, names of symbols do not
matter, and `judge` takes every right answer, not only the one that `solve` finds.
"""

import random
from collections import Counter
from collections.abc import Sequence

from hf_symbinv.tasks import SymbolTask


class StarterTask(SymbolTask):
    """Strings of symbols, and a symbol that occurs more than once."""

    name = "NAME"
    base_tokens = ("<s>", "<pad>", "</s>")  # add words of your own that are no symbols, such as ";" or "then"
    columns = ("string", "symbol")
    description = "A question is a string of symbols; its answer is one of the symbols that occur more than once."
    uniform_from, short_share = 4, 0.1  # few strings are shorter than 4: together they get a tenth of the rows

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Strings of random lengths; the generator must come from `seed` alone."""
        generator = random.Random(seed)
        lengths = [generator.randint(smallest, largest) for _ in range(count)]
        return [self.write_words(generator.choices(symbols, k=length)) for length in lengths]

    def solve(self, question: str) -> str | None:
        """The first symbol that occurs again, or None if there is none."""
        counts = Counter(self.named(question))
        return next((self.write_words([name]) for name, count in counts.items() if name and count > 1), None)

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        """`correct` if the answer is one symbol that the string has at least twice."""
        names = self.named(answer)
        if len(names) != 1 or names[0] is None:
            return "invalid", "not one symbol"
        count = self.named(question).count(names[0])
        return ("correct", "") if count > 1 else ("incorrect", f"{names[0]} occurs {count} times")

    def named(self, text: str) -> list[str | None]:
        """The name of every symbol of a text, in order; None for every other word."""
        return [name for _, _, name in self.words(text)]


TASK = StarterTask()
