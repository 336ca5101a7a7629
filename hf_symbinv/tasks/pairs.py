"""A user's own pairs of texts as a task: no generator, no solver and no judge, but a rule for what a symbol is.

`hf_symbinv.datasets_scripts.pairs` reads the data and learns the base words. An answer is right if it has the words of
the data's own answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from hf_symbinv.errors import UserError
from hf_symbinv.logic.notation import SYMBOL, Token
from hf_symbinv.solvers import CheckResult
from hf_symbinv.tasks.base import SymbolTask

if TYPE_CHECKING:
    from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
    from hf_symbinv.modeling.text_symbinv import SymbolInvariantTextTokenizer, TextRule

# What recipes call the task, before its data give it base words.
PAIRS = "pairs"
SPECIAL = ("<s>", "<pad>", "</s>")
# Embeddings with a row for each symbol: a name in the data needs one.
_WITH_ROWS = ("learned", "renamed")


class PairsTask(SymbolTask):
    """Pairs of a user's texts, in which a regular expression says what a symbol is.

    Args:
        base_tokens: The special tokens and the base words, in the order of their ids.
        symbol_pattern, base_words, spaced: As `SymbolInvariantTextTokenizer` takes them.
        data: What is known of the data: `columns`, the names of question and answer; `example`, a question; and `seed`,
            of the split.
        names: Of the symbols in training, the most frequent first.
        max_symbols, max_new_tokens: Symbols of a training question and tokens of an answer, at most.

    Raises:
        ValueError: As `TextRule`.
    """

    name = PAIRS
    notations = ("text",)
    judges = False

    def __init__(
        self,
        base_tokens: Sequence[str],
        symbol_pattern: str,
        base_words: Sequence[str] = (),
        spaced: bool = True,
        data: Mapping[str, Any] | None = None,
        names: Sequence[str] = (),
        max_symbols: int = 5,
        max_new_tokens: int = 100,
    ) -> None:
        from hf_symbinv.modeling.text_symbinv import TextRule  # transformers only where it is needed

        self.base_tokens, self.names, self.max_symbols = tuple(base_tokens), tuple(names), max_symbols
        self.rule: TextRule = TextRule(symbol_pattern, base_words)
        self.spaced, self.data, self.max_new_tokens = spaced, dict(data or {}), max_new_tokens
        columns = self.data.get("columns") or ("question", "answer")
        self.columns = (columns[0], columns[1])
        self.description = (
            f"Questions and answers are texts, the columns {self.columns[0]} and {self.columns[1]}. A symbol is what "
            f"the regular expression `{symbol_pattern}` matches"
            + (f", but for {', '.join(f'`{word}`' for word in base_words)}." if base_words else ".")
        )

    @classmethod
    def of_tokenizer(cls, settings: Mapping[str, Any]) -> PairsTask:
        """The task of a saved tokenizer, from its arguments as `tokenizer_config.json` has them."""
        known = ("base_tokens", "symbol_pattern", "base_words", "spaced", "data")
        return cls(**{name: settings[name] for name in known if name in settings})

    # What cannot be drawn, solved and judged

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> NoReturn:
        """There are the questions of the data, and no others."""
        raise UserError("task pairs: its questions are those of the data and cannot be drawn; use `symbinv train`")

    def solve(self, question: str) -> NoReturn:
        """There are the answers of the data, and no others."""
        raise UserError("task pairs: it has no solver; ask a model that was trained on pairs, with `symbinv solve`")

    def judge(self, question: str, answer: str) -> NoReturn:
        """Nothing but the data says what is right."""
        raise UserError(
            "task pairs: it has no judge, so answers cannot be verified; compare them with known ones by "
            "`symbinv evaluate`"
        )

    def checker(self, **options: Any) -> Any:
        """What compares answers with those of the data; `options` of other checkers mean nothing here."""
        return ExactMatch(self)

    def solver_version(self) -> str:
        """How answers are checked."""
        return "comparison with the data's answers, word by word"

    def example(self) -> str:
        """A question of the data."""
        return str(self.data.get("example", "a"))

    # Texts

    def words(self, text: str) -> Iterator[Token]:
        """The words of a text; `name` is None for everything that is no symbol."""
        for position, word, is_symbol in self.rule.words(text):
            yield Token(position, SYMBOL, word) if is_symbol else Token(position, word, None)

    def write(self, words: Iterable[Token]) -> str:
        return self.rule.join([word if name is None else name for _, word, name in words], self.spaced)

    def write_words(self, words: Iterable[str]) -> str:
        return self.rule.join(list(words), self.spaced)

    def symbols(self, text: str) -> tuple[str, ...]:
        """The symbols of a text, in the order of their first appearance."""
        return tuple(dict.fromkeys(word for _, word, is_symbol in self.rule.words(text) if is_symbol))

    def size(self, question: str) -> int:
        """The number of words."""
        return sum(1 for _ in self.rule.words(question))

    def rename(self, text: str, renaming: Mapping[str, str]) -> str:
        """A text with its symbols renamed; symbols that `renaming` does not have stay.

        Raises:
            UserError: If a new name is no symbol by the rule.
        """
        for name in renaming.values():
            if [found[1:] for found in self.rule.words(name)] != [(name, True)]:
                raise UserError(
                    f"new name {name!r}: is no symbol by the rule {self.rule.symbol_pattern!r}, or a base word; choose "
                    "another name"
                )
        words = ((name and renaming.get(name, name)) or word for _, word, name in self.words(text))
        return self.write_words(words)

    def alpha_class(self, question: str) -> str:
        """A text that questions share if and only if they are alpha-equivalent."""
        places: dict[str, int] = {}
        words = self.rule.words(question)
        # No word holds white space, so a symbol's number with a line break before it is no base word.
        parts = (f"\n{places.setdefault(word, len(places))}" if is_symbol else word for _, word, is_symbol in words)
        return " ".join(parts)

    def normalized(self, answer: str) -> str:
        """The words of an answer, with blanks between them."""
        return " ".join(word for _, word, _ in self.rule.words(answer))

    def read_question(self, text: str, notation: str) -> str:
        """A question that a user wrote, which stays as it is.

        Raises:
            ValueError: If it has no words, or a base word that training did not have; or `notation` is unknown.
        """
        super().read_question(text, notation)
        self._reader(text)
        return text

    @cached_property
    def _reader(self) -> SymbolInvariantTextTokenizer:
        return self.tokenizer()

    def tokenizer(self, config: SymbolInvariantConfig | None = None) -> SymbolInvariantTextTokenizer:
        """A new tokenizer for questions and answers; with `config`, of a model with this configuration."""
        from hf_symbinv.modeling.text_symbinv import SymbolInvariantTextTokenizer

        return SymbolInvariantTextTokenizer(
            list(self.base_tokens),
            symbol_pattern=self.rule.symbol_pattern,
            base_words=self.rule.base_words,
            spaced=self.spaced,
            data=self.data,
            fixed_names=None if config is None else self.fixed_names(config),
        )

    def fixed_names(self, config: SymbolInvariantConfig) -> tuple[str, ...] | None:
        """Those of training, if the model has rows for names."""
        return None if super().fixed_names(config) is None else self.names[: config.num_symbols]

    def config(self, **fields: Any) -> SymbolInvariantConfig:
        """The configuration of a model for this task; one with a row for each symbol gets rows for all `names`.

        Raises:
            ValueError: As `SymbolInvariantConfig`.
        """
        with_rows = fields.get("symbol_embedding") in _WITH_ROWS
        rows = len(self.names) if with_rows else self.max_symbols
        return super().config(**{"num_symbols": max(rows, 1), **fields})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairsTask) and self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash((self.base_tokens, self.rule.symbol_pattern))

    def _settings(self) -> tuple[Any, ...]:
        return self.base_tokens, self.rule.symbol_pattern, self.rule.base_words, self.spaced, self.columns

    def __repr__(self) -> str:
        return f"PairsTask({len(self.base_tokens) - len(SPECIAL)} base words, symbols {self.rule.symbol_pattern!r})"


class ExactMatch:
    """Compares answers with known ones, word by word; with the methods of `Checker`."""

    def __init__(self, task: PairsTask) -> None:
        self.task = task

    def __enter__(self) -> ExactMatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing has to end."""

    def complaint(self) -> None:
        """There is no judge that could have raised exceptions."""

    def check(
        self, pairs: Iterable[tuple[str, str]], references: Iterable[str | None] | None = None, progress: bool = False
    ) -> Iterator[CheckResult]:
        """`exact` or `incorrect` for every pair, and `invalid` for an empty answer.

        Raises:
            UserError: If there is no reference.
        """
        for (question, answer), reference in zip(pairs, references or (), strict=True):
            if reference is None:
                self.task.judge(question, answer)
            else:
                yield self._result(self.task.normalized(answer), self.task.normalized(reference))

    def _result(self, answer: str, reference: str) -> CheckResult:
        if not answer:
            return CheckResult("invalid", 0.0, "the answer is empty")
        if answer == reference:
            return CheckResult("exact", 0.0, "")
        place, pairs = 0, list(zip(answer.split(), reference.split(), strict=False))
        while place < len(pairs) and pairs[place][0] == pairs[place][1]:
            place += 1
        got, known = ((text.split()[place:] or ["the end"])[0] for text in (answer, reference))
        return CheckResult("incorrect", 0.0, f"word {place + 1} is {got}, and {known} in the data's answer")


__all__ = ["PAIRS", "ExactMatch", "PairsTask"]
