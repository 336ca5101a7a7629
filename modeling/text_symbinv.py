"""Tokenizer for texts of any kind, in which a regular expression says what a symbol is.

Read `TextRule`, which cuts a text into words, then `SymbolInvariantTextTokenizer`. Every name that matches the
expression is a symbol, also one that training never had. Every other word is a base word, which a model knows or not.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from .tokenization_symbinv import SymbolInvariantTokenizer, SymbolTable, TokenizationError

# What is neither listed nor a symbol: a run of letters, or one character of any other kind, such as a digit.
_WORD = re.compile(r"[^\W\d_]+|\S")
_GAP = re.compile(r"\s*")


class TextRule:
    """Cuts texts into words. White space separates words; at every other place the first of these is taken:

    1. a base word that is listed, the longest first, unless it ends in the middle of a word, as `if` in `iffy`;
    2. a symbol;
    3. a run of letters, or a single character.

    >>> [word for _, word, _ in TextRule("[a-z][a-z0-9]*", ["let", "->"]).words("let x1=12 -> y")]
    ['let', 'x1', '=', '1', '2', '->', 'y']

    Args:
        symbol_pattern: Regular expression of the names of symbols.
        base_words: Words with a fixed meaning that match it, or that would be cut into several.

    Raises:
        ValueError: If the expression is none or matches the empty text, or a base word has white space.
    """

    def __init__(self, symbol_pattern: str, base_words: Iterable[str] = ()) -> None:
        self.symbol_pattern, self.base_words = symbol_pattern, tuple(base_words)
        try:
            self._symbol = re.compile(symbol_pattern)
        except (re.error, TypeError) as error:
            raise ValueError(f"{symbol_pattern!r} is no regular expression: {error}; see Python's module re") from None
        if self._symbol.match(""):
            raise ValueError(f"{symbol_pattern!r} matches the empty text; ask for a character, as with + instead of *")
        for word in self.base_words:
            if not isinstance(word, str) or not word or re.search(r"\s", word):
                raise ValueError(f"base word {word!r}: must be a text without white space")
        longest_first = sorted(self.base_words, key=len, reverse=True)
        ends = (re.escape(word) + r"(?!\w)" * bool(re.match(r"\w", word[-1])) for word in longest_first)
        self._listed = re.compile("|".join(ends) or "(?!)")

    def words(self, text: str) -> Iterator[tuple[int, str, bool]]:
        """Every word of a text: its position, the word, and whether it is a symbol."""
        place = _end(_GAP.match(text))
        while place < len(text):
            listed = self._listed.match(text, place)
            symbol = None if listed else self._symbol.match(text, place)
            is_symbol = symbol is not None and symbol.end() > place
            end = _end(listed or (symbol if is_symbol else _WORD.match(text, place)))
            yield place, text[place:end], is_symbol
            place = _end(_GAP.match(text, end))

    def join(self, words: Sequence[str], spaced: bool = True) -> str:
        """A text of words: with blanks between all, or if not `spaced`, only where it would be read otherwise."""
        if spaced:
            return " ".join(words)
        parts = [""]
        for word in words:
            last = parts[-1]
            apart = bool(last) and not self._reads(last + word, [last, word])
            parts += [" ", word] if apart else [word]
        closed = "".join(parts)
        return closed if self._reads(closed, words) else " ".join(words)

    def _reads(self, text: str, words: Sequence[str]) -> bool:
        return [word for _, word, _ in self.words(text)] == list(words)


def _end(match: "re.Match[str] | None") -> int:
    assert match is not None  # what is no white space is at least a character
    return match.end()


class SymbolInvariantTextTokenizer(SymbolInvariantTokenizer):
    """Identical to SymbolInvariantTokenizer except: texts are cut by a `TextRule`, and are no prefix notation.

    >>> tokenizer = SymbolInvariantTextTokenizer(["<s>", "<pad>", "</s>", "+", "="], symbol_pattern=r"[a-z_]\\w*")
    >>> tokenizer("total=a + a")["input_ids"]
    [31, 4, 5, 3, 5, 2]
    >>> tokenizer.decode([31, 4, 5, 3, 5, 2], skip_special_tokens=True)
    'total = a + a'

    A base word that is not among `base_tokens` is refused by name and place: no row of the model stands for it. White
    space separates words and has no id, so a text comes back with the same words, and blanks of the tokenizer's own.

    Args:
        base_tokens: Tokens of fixed identity in the order of their ids, the special tokens among them.
        symbol_pattern, listed_words: As `symbol_pattern` and `base_words` of `TextRule`.
        spaced: Whether decoding writes a blank between all words, or only where it must.
        data: What tools want to know of the pairs that the words are from; no part of the tokenizer.
        kwargs: Those of `SymbolInvariantTokenizer`.

    Raises:
        ValueError: If the tables contradict each other, or the expression is none.
    """

    def __init__(
        self,
        base_tokens: list[str] | None = None,
        symbol_pattern: str = r"[A-Za-z_]\w*",
        listed_words: Sequence[str] = (),
        spaced: bool = True,
        data: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.rule, self.spaced, self.data = TextRule(symbol_pattern, listed_words), spaced, dict(data or {})
        kwargs.pop("token_arity", None)  # these texts are no trees
        super().__init__(
            base_tokens,
            **{
                **kwargs,
                "symbol_pattern": symbol_pattern,
                "listed_words": list(listed_words),
                "spaced": spaced,
                "data": self.data,
            },
        )

    def get_vocab(self) -> dict[str, int]:
        """Token → id of the base tokens and of the symbols in the tokenizer's own table; a base token goes first."""
        return super().get_vocab() | self._ids

    def _is_base_token(self, token: Any) -> bool:
        return isinstance(token, str) and bool(token) and not re.search(r"\s", token)

    def _scan(self, text: Any, is_split_into_words: bool) -> tuple[list[int | str], Sequence[int]]:
        if is_split_into_words:
            return super()._scan(text, is_split_into_words)
        if not isinstance(text, str):
            raise TokenizationError(f"{text!r} is a {type(text).__name__}; pass a string or a list of strings")
        tokens: list[int | str] = []
        positions = []
        for position, word, is_symbol in self.rule.words(text):
            if not is_symbol and (word not in self._ids or word in self._specials):
                self._refuse(word, text, position)
            tokens.append(word if is_symbol else self._ids[word])
            positions.append(position)
        return tokens, positions

    def _read(self, word: Any, text: str | list[str], position: int) -> int | str:
        """The id of a base token, or the name of a symbol, for a text that was cut before."""
        cut = list(self.rule.words(word)) if isinstance(word, str) else []
        if len(cut) != 1 or cut[0][1] != word or not (cut[0][2] or word in self._ids):
            self._refuse(word, text, position)
        return word if cut[0][2] else self._ids[word]

    def _refuse(self, word: Any, text: str | list[str], position: int) -> NoReturn:
        if not isinstance(word, str):
            raise TokenizationError(f"{word!r} is a {type(word).__name__}; tokens are strings", text, position)
        known = [token for token in self.base_tokens if token not in self._specials]
        near = difflib.get_close_matches(word, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "train with texts that have it, or write the text without it"
        raise TokenizationError(
            f"{word!r} is no symbol by the rule {self.rule.symbol_pattern!r}, and none of the {len(known)} base words "
            f"of training; {hint}",
            text,
            position,
        )

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        symbol_table: SymbolTable | None = None,
    ) -> str:
        table, words = self._table(symbol_table), []
        has_special = False
        for index in token_ids if isinstance(token_ids, (list, tuple)) else [token_ids]:
            index = self._check_id(index)
            word = self.base_tokens[index] if index < self.vocab_size else self._symbol_name(index, table)
            is_special = index < self.vocab_size and word in self._specials
            has_special |= is_special
            if not (is_special and skip_special_tokens):
                words.append(word)
        return self.rule.join(words, self.spaced or (has_special and not skip_special_tokens))

    def _word(self, name: str) -> str:
        return name


SymbolInvariantTextTokenizer.register_for_auto_class()

__all__ = ["SymbolInvariantTextTokenizer", "TextRule"]
