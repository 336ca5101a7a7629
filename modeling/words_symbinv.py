"""Tokenizer for any text that regular expressions cut into words of a table: code, expressions, characters.

Names that are views of one symbol corefer, as the registers `%rax` and `%eax` do, whatever they are called.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .listed_tokens_symbinv import ListedTokens
from .numbering_symbinv import TokenizationError
from .text_symbinv import compiled, composed, cut, nearest


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
        self._table = {name: (number, view) for name, (number, view) in (symbols or {}).items()}
        self._by_parts = {parts: name for name, parts in self._table.items()}
        # What a symbol is called: its name in the first view that has one.
        first = {number: self._by_parts[number, view] for number, view in sorted(self._by_parts, reverse=True)}
        self._stems = [first[number] for number in sorted(first)]
        self._numbers = {stem: number for number, stem in first.items()}
        for name, (number, view) in self._table.items():
            if name in base_tokens:
                raise ValueError(f"symbol {name!r}: is a base token too; give it a name of its own")
            if number < 0 or not 0 <= view < num_views:
                said = f"symbol {name!r}: number {number} and view {view} must be at least 0"
                raise ValueError(f"{said}, and the view below num_views={num_views}")
        if len(self._by_parts) < len(self._table):
            raise ValueError("symbols: two names have the same number and view; give each another")
        numbers = sorted(first)
        if numbers != list(range(len(numbers))):
            raise ValueError(f"symbols: have the numbers {numbers}; number them 0, 1, ... without a gap")
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


SymbolInvariantWordTokenizer.register_for_auto_class()
