"""Tokenizer for any text that regular expressions cut into words: code, expressions, characters.

Ids: base tokens 0 … V_n - 1; a symbol with referent r and view v is V_n + r * num_views + v. Names that are views of
one referent corefer, as the registers `%rax` and `%eax` do. (`tokenization_symbinv.py` is for prefix notation, where
symbols have any names and one view.)
"""

import difflib
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .tokenization_symbinv import TokenizationError
from .versions_symbinv import AddedToken, BatchEncoding, PythonBackend


class SymbolInvariantWordTokenizer(PythonBackend):
    """Turns texts into ids by a table of words, and ids into words.

    >>> tokenizer = SymbolInvariantWordTokenizer(
    ...     ["<s>", "<pad>", "</s>", "<number>", "+", "="],
    ...     symbols={"A": [0, 0], "a": [0, 1], "B": [1, 0], "b": [1, 1]},  # two referents, upper and lower case
    ...     num_views=2,
    ...     patterns=[[r"\\d+", "<number>"], [r".", None]],
    ... )
    >>> tokenizer("A = b + 17")["input_ids"]
    [6, 5, 9, 4, 3]

    Args:
        base_tokens: Tokens of fixed identity in the order of their ids, the special tokens among them.
        symbols: Name → [referent, view].
        num_views: Views of a referent.
        patterns: [regular expression, base token] in the order in which they are tried at every place of a text: what
            matches stands for the base token, or, with None in its place, is a base token or the name of a symbol.
        separators: Regular expression of what lies between words and has no id.
        joint: Decoding writes it between words.
        add_bos_token: Whether a text begins with `bos_token`.
        bos_token, pad_token, eos_token: Special tokens, each a base token.

    Raises:
        ValueError: If the tables contradict each other, or a regular expression is none.
    """

    model_input_names = ["input_ids", "attention_mask"]

    def __init__(
        self,
        base_tokens: Sequence[str] = ("<s>", "<pad>", "</s>"),
        symbols: Mapping[str, Sequence[int]] | None = None,
        num_views: int = 1,
        patterns: Sequence[Sequence[str | None]] = ((r"\S+", None),),
        separators: str = r"\s+",
        joint: str = " ",
        add_bos_token: bool = False,
        bos_token: str | AddedToken = "<s>",
        pad_token: str | AddedToken = "<pad>",
        eos_token: str | AddedToken = "</s>",
        **kwargs: Any,
    ) -> None:
        self.base_tokens = list(base_tokens)
        self._ids = {token: index for index, token in enumerate(self.base_tokens)}
        if len(self._ids) < len(self.base_tokens):
            raise ValueError(f"base_tokens {self.base_tokens}: a token is listed twice")
        symbols = {name: list(parts) for name, parts in (symbols or {}).items()}
        for name, (referent, view) in symbols.items():
            if name in self._ids:
                raise ValueError(f"symbol {name!r}: is a base token or another symbol; give it a name of its own")
            if referent < 0 or not 0 <= view < num_views:
                raise ValueError(
                    f"symbol {name!r}: referent {referent} and view {view} must be at least 0, and the view below "
                    f"num_views={num_views}"
                )
            self._ids[name] = len(self.base_tokens) + referent * num_views + view
        self._words = {index: word for word, index in self._ids.items()}
        if len(self._words) < len(self._ids):
            raise ValueError("symbols: two names have the same referent and view; give each another")
        special = [str(bos_token), str(pad_token), str(eos_token)]
        for token in [*special, *(token for _, token in patterns if token is not None)]:
            if token not in self.base_tokens:
                raise ValueError(f"{token!r}: is special or stands for a pattern, and must be one of the base_tokens")
        try:
            self._patterns = [(re.compile(str(pattern)), token) for pattern, token in patterns]
            self._separators = re.compile(separators)
        except re.error as error:
            raise ValueError(f"patterns: {error.pattern!r} is no regular expression: {error}") from error
        self.joint = joint
        super().__init__(
            base_tokens=self.base_tokens,
            symbols=symbols,
            num_views=num_views,
            patterns=[list(pair) for pair in patterns],
            separators=separators,
            joint=joint,
            add_bos_token=add_bos_token,
            bos_token=bos_token,
            pad_token=pad_token,
            eos_token=eos_token,
            **{
                **kwargs,
                "special_tokens_pattern": "bos" if add_bos_token else "none",
                "split_special_tokens": True,  # what stands in a text is text
            },
        )

    @property
    def vocab_size(self) -> int:
        """V_n, the number of base tokens."""
        return len(self.base_tokens)

    def __len__(self) -> int:
        """Largest id that has a word, plus one."""
        return max(self._words) + 1

    def get_vocab(self) -> dict[str, int]:
        """Base token or name of a symbol → id."""
        return dict(self._ids)

    def _add_tokens(self, new_tokens: list[str] | list[AddedToken], special_tokens: bool = False) -> int:
        for token in new_tokens:
            if str(token) not in self._ids:
                raise ValueError(f"{str(token)!r}: a model's words are fixed; make a tokenizer with it among them")
        return super()._add_tokens(new_tokens, special_tokens)

    def _encode_plus(
        self, text: Any, text_pair: Any = None, return_offsets_mapping: bool = False, **kwargs: Any
    ) -> BatchEncoding:
        if return_offsets_mapping:
            raise TokenizationError("return_offsets_mapping is not supported, as a pattern may skip text; leave it out")
        known = {*inspect.signature(super()._encode_plus).parameters, "split_special_tokens", "sanitize_control_tokens"}
        for name, value in kwargs.items():
            if name not in known and value is not None and value is not False:
                raise TypeError(f"{name}={value!r}: the tokenizer has no such option; leave it out")
        return super()._encode_plus(text, text_pair, **kwargs)

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        words, place = [], 0
        while place < len(text):
            gap = self._separators.match(text, place)
            if gap and gap.end() > place:
                place = gap.end()
                continue
            word, end = self._word_at(text, place)
            if word not in self._ids:
                raise TokenizationError(self._unknown(word), text, place)
            words.append(word)
            place = end
        return words

    def _word_at(self, text: str, place: int) -> tuple[str, int]:
        """The word that begins at a place of a text, and where it ends."""
        for pattern, token in self._patterns:
            match = pattern.match(text, place)
            if match and match.end() > place:
                return token or match.group(), match.end()
        raise TokenizationError(f"no word begins with {text[place]!r}", text, place)

    def _unknown(self, word: str) -> str:
        near = difflib.get_close_matches(word, self._ids, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "get_vocab() lists them"
        return f"{word!r} is none of the {len(self._ids)} words; {hint}"

    def _convert_token_to_id(self, token: str) -> int:
        if token not in self._ids:
            raise TokenizationError(self._unknown(token))
        return self._ids[token]

    def _convert_id_to_token(self, index: int) -> str:
        if index not in self._words:
            raise TokenizationError(f"token id {index}: has no word; ids are those of get_vocab()")
        return self._words[index]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The words in a row; a constant that the text had is its kind."""
        return self.joint.join(tokens)


SymbolInvariantWordTokenizer.register_for_auto_class()

__all__ = ["SymbolInvariantWordTokenizer"]
