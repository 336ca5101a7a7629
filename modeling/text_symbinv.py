"""Tokenizers for texts of any kind, which regular expressions cut into words.

In `SymbolInvariantTextTokenizer` an expression says what a symbol is: every name that matches it, also one that
training never had. In `SymbolInvariantWordTokenizer`, for code, expressions and characters, a table says it, and names
that are views of one symbol corefer, as the registers `%rax` and `%eax` do, whatever they are called.
"""

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .listed_tokens_symbinv import ListedTokens
from .numbering_symbinv import TokenizationError, refuse_older

# What is neither listed nor a symbol: a run of letters, or one character of any other kind, such as a digit.
_WORD = re.compile(r"[^\W\d_]+|\S")
_GAP = re.compile(r"\s+")
# Zero-width joiners, and the vowels and finals of Hangul, which a composed text has in one character with the first.
_JOINED = re.compile("[\u200c\u200d\u1160-\u11ff]")


def composed(word: str) -> str:
    """A word in Unicode's composed form, NFC, in which words are compared."""
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def compiled(pattern: Any, where: str = "") -> "re.Pattern[str]":
    """A regular expression; refuses what is none, with `where` it was given."""
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"{where}{pattern!r} is no regular expression: {error}; see Python's module re") from None


def skeleton(text: str) -> tuple[str, Sequence[int]]:
    """A text in composed form without combining marks, and where each character of it, and its end, stands in the text.

    Python's expressions see a mark as a character of its own, which is no letter. So expressions are matched without
    marks, and a match has the marks behind each of its characters.
    """
    if text.isascii():
        return text, range(len(text) + 1)
    starts: list[int] = []
    for place, character in enumerate(text):
        is_mark = unicodedata.category(character)[0] == "M" or _JOINED.match(character)
        if not (is_mark and starts and not text[place - 1].isspace()):
            starts.append(place)
    starts.append(len(text))
    return "".join(unicodedata.normalize("NFC", text[a:b])[0] for a, b in pairwise(starts)), starts


def cut(
    text: str, gap: "re.Pattern[str]", patterns: Sequence["re.Pattern[str]"], listed: Collection[str] | None = None
) -> Iterator[tuple[int, int, int]]:
    """Start and end of every word of a text, and which of `patterns` it matches: the first that does at its place.

    The `gap` matches what lies between words, and `listed`, if given, has all words of the first pattern. Where none
    matches, a TokenizationError is raised.
    """
    plain, starts = skeleton(text)
    place = 0
    while place < len(plain):
        if (between := gap.match(plain, place)) and between.end() > place:
            place = between.end()
            continue
        start = starts[place]
        for number, pattern in enumerate(patterns):
            match = pattern.match(plain, place)
            if match and match.end() > place:
                end = starts[match.end()]
                if number or listed is None or composed(text[start:end]) in listed:
                    yield start, end, number
                    place = match.end()
                    break
        else:
            raise TokenizationError(f"no word begins with {text[start]!r}", text, start)


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """What to do about a word that is not known."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


class TextRule:
    """Cuts texts into words. White space separates words; at every other place the first of these is taken:

    1. a base word that is listed, the longest first, unless it ends in the middle of a word, as `if` in `iffy`;
    2. a symbol, which is a base word if it is listed, as `if` in `if1` where names have letters only;
    3. a run of letters, or a single character.

    >>> [word for _, word, _ in TextRule("[a-z][a-z0-9]*", ["let", "->"]).words("let x1=12 -> y")]
    ['let', 'x1', '=', '1', '2', '->', 'y']

    Args:
        symbol_pattern: Regular expression of the names of symbols, for composed texts (NFC) without combining marks; a
            name has the marks of its characters. One that is none or matches the empty text is refused.
        base_words: Words with a fixed meaning that match it, or that would be cut into several; without white space.
    """

    def __init__(self, symbol_pattern: str, base_words: Iterable[str] = ()) -> None:
        self.symbol_pattern, self.base_words = symbol_pattern, tuple(base_words)
        symbol = compiled(symbol_pattern)
        if symbol.match(""):
            raise ValueError(f"{symbol_pattern!r} matches the empty text; ask for a character, as with + instead of *")
        for word in self.base_words:
            if not isinstance(word, str) or not word or re.search(r"\s", word):
                raise ValueError(f"base word {word!r}: must be a text without white space")
        plain = sorted({skeleton(word)[0] for word in self.base_words}, key=lambda word: (-len(word), word))
        ends = (re.escape(word) + r"(?!\w)" * bool(re.match(r"\w", word[-1])) for word in plain)
        self._patterns = (re.compile("|".join(ends) or "(?!)"), symbol, _WORD)
        self._listed = dict.fromkeys(map(composed, self.base_words))

    def cut(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Start and end of every word of a text, and whether it is a symbol."""
        for start, end, number in cut(text, _GAP, self._patterns, self._listed):
            yield start, end, number == 1 and composed(text[start:end]) not in self._listed

    def words(self, text: str) -> Iterator[tuple[int, str, bool]]:
        """Every word of a text: its position, the word in composed form, and whether it is a symbol."""
        return ((start, composed(text[start:end]), is_symbol) for start, end, is_symbol in self.cut(text))

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
        return [word for _, word, _ in self.words(text)] == list(map(composed, words))


class SymbolInvariantTextTokenizer(ListedTokens):
    """Turns texts of any kind into ids by a `TextRule`, and ids into texts.

    >>> tokenizer = SymbolInvariantTextTokenizer(["+", "="], symbol_pattern=r"[a-z_]\\w*")
    >>> batch = tokenizer("total=a + a")
    >>> batch["input_ids"], batch.symbols
    ([5, 4, 6, 3, 6, 2], ['total', 'a'])
    >>> tokenizer.decode(batch["input_ids"], skip_special_tokens=True, symbols=batch.symbols)
    'total = a + a'

    A base word that is not among `base_tokens` is refused by name and place: no row of the model stands for it. White
    space separates words and has no id, so a text comes back with the same words, and blanks of the tokenizer's own.

    Args:
        base_tokens, kwargs: Those of `ListedTokens`.
        symbol_pattern, base_words: Those of `TextRule`.
        spaced: Whether decoding writes a blank between all words, or only where it must.
        data: What tools want to know of the pairs that the words are from; no part of the tokenizer.

    Raises:
        ValueError: If the tables contradict each other, or the expression is none.
    """

    def __init__(
        self,
        base_tokens: Iterable[str] | None = None,
        symbol_pattern: str = r"[A-Za-z_]\w*",
        base_words: Sequence[str] = (),
        spaced: bool = True,
        data: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        refuse_older(kwargs)
        self.base_words = list(base_words)
        self.rule, self.spaced, self.data = TextRule(symbol_pattern, self.base_words), spaced, dict(data or {})
        kwargs |= {"symbol_pattern": symbol_pattern, "base_words": self.base_words, "spaced": spaced, "data": self.data}
        super().__init__(base_tokens, **kwargs)
        self._by_word = {composed(token): index for token, index in self._plain_ids.items()}

    def _cut(self, text: str) -> Iterator[tuple[int, int, int | str]]:
        for start, end, is_symbol in self.rule.cut(text):
            word = composed(text[start:end])
            if not is_symbol and word not in self._by_word:
                rule, known = self.rule.symbol_pattern, len(self._by_word)
                remedy = nearest(word, self._by_word, "train with texts that have it, or write it otherwise")
                reason = f"{word!r} is no symbol by the rule {rule}, and none of the {known} base words of training"
                raise TokenizationError(f"{reason}; {remedy}", text, start)
            yield start, end, word if is_symbol else self._by_word[word]

    def _check(self, tokens: list[int | str], text: str | list[str], is_target: bool) -> None:
        if not tokens:
            raise TokenizationError("the text is empty; write at least one token", text)

    def _join(self, words: list[str]) -> str:
        return self.rule.join(words, self.spaced or any(word in self._specials for word in words))


class SymbolInvariantWordTokenizer(ListedTokens):
    """Turns texts into ids by a table of words, and ids into words.

    >>> table = {"A": [0, 0], "a": [0, 1], "B": [1, 0], "b": [1, 1]}  # two symbols, in upper and in lower case
    >>> words = {"symbols": table, "num_views": 2, "patterns": [[r"\\d+", "<number>"], [r".", None]]}
    >>> tokenizer = SymbolInvariantWordTokenizer(["<number>", "+", "="], **words)
    >>> tokenizer("B = a + 17")["input_ids"]
    [8, 5, 7, 4, 3]

    Args:
        base_tokens, kwargs: Those of `ListedTokens`.
        symbols: Name → [number, view]; the numbers are 0, 1, ... without a gap, and the same in every example, so that
            data sets can be arrays of ids.
        num_views: Views of a symbol.
        patterns: [regular expression, base token] in the order in which they are tried at every place of a text: what
            matches stands for the base token, or, with None in its place, is a base token or the name of a symbol.
            They are matched in composed texts (NFC) without combining marks.
        separators: Regular expression of what lies between words and has no id.
        joint: Decoding writes it between words.
        add_bos_token: Whether a text begins with `bos_token`.

    Raises:
        ValueError: If the tables contradict each other, or a regular expression is none.
    """

    def __init__(
        self,
        base_tokens: Sequence[str] = (),
        symbols: Mapping[str, Sequence[int]] | None = None,
        num_views: int = 1,
        patterns: Sequence[Sequence[str | None]] = ((r"\S+", None),),
        separators: str = r"\s+",
        joint: str = " ",
        add_bos_token: bool = False,
        **kwargs: Any,
    ) -> None:
        self._table = {composed(name): (number, view) for name, (number, view) in (symbols or {}).items()}
        self._by_parts = {parts: name for name, parts in self._table.items()}
        # What a symbol is called: its name in the first view that has one.
        first = {number: self._by_parts[number, view] for number, view in sorted(self._by_parts, reverse=True)}
        self._stems = [first[number] for number in sorted(first)]
        self._numbers = {stem: number for number, stem in first.items()}
        if clash := [name for name in self._table if name in base_tokens]:
            raise ValueError(f"symbol {clash[0]!r}: is a base token too; give it a name of its own")
        fits = all(0 <= view < num_views for _, view in self._by_parts) and len(self._by_parts) == len(self._table)
        if not fits or sorted(first) != list(range(len(first))):
            places = f"numbers 0, 1, ... without a gap, views below num_views={num_views}"
            raise ValueError(f"symbols {list(self._table.values())}: {places}, and no two names the same")
        self._patterns = [compiled(str(pattern), "patterns: ") for pattern, _ in patterns]
        self._gap = compiled(separators, "separators: ")
        self._kinds, self.joint = [token for _, token in patterns], joint
        self.num_views = num_views
        kwargs["fixed_names"] = self._stems
        kwargs |= {"symbols": {name: list(parts) for name, parts in self._table.items()}, "num_views": num_views}
        kwargs |= {"patterns": [list(pair) for pair in patterns], "separators": separators, "joint": joint}
        kwargs |= {"add_bos_token": add_bos_token}
        super().__init__(base_tokens, special_tokens_pattern="bos" if add_bos_token else "none", **kwargs)
        for token in self._kinds:
            if token is not None and token not in self._ids:
                raise ValueError(f"{token!r}: stands for a pattern, and must be one of the base_tokens")
        self._by_word = {composed(token): index for token, index in self._ids.items()}

    def _cut(self, text: str) -> Iterator[tuple[int, int, int | str]]:
        for start, end, number in cut(text, self._gap, self._patterns):
            word = composed(text[start:end])
            token = self._kinds[number] or word
            if token not in self._by_word and token not in self._table:
                known = [*self._by_word, *self._table]
                reason = f"{word!r} is none of the {len(known)} words; {nearest(word, known, 'get_vocab() lists them')}"
                raise TokenizationError(reason, text, start)
            yield start, end, self._by_word.get(token, token)

    def _join(self, words: list[str]) -> str:
        return self.joint.join(words)

    def _fixed_ids(self) -> dict[str, int]:
        return {name: self.vocab_size + number * self.num_views + view for name, (number, view) in self._table.items()}

    def _parts(self, name: str) -> tuple[str, int]:
        number, view = self._table[name]
        return self._stems[number], view

    def _named(self, stem: str, view: int) -> str:
        name = self._by_parts.get((self._numbers.get(stem, -1), view))
        if name is None:
            raise TokenizationError(f"symbol {stem!r}: has no name in view {view}; symbols gives each name its view")
        return name


SymbolInvariantTextTokenizer.register_for_auto_class()
SymbolInvariantWordTokenizer.register_for_auto_class()
