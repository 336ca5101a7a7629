"""Tokenizer for prefix notation over base tokens and any number of symbols.

Read `numbering_symbinv.py` first: it says which ids symbols have. Then read `ListedTokens`, for tokenizers whose base
tokens are a list, and `SymbolInvariantTokenizer`.
"""

from .versions_symbinv import check_transformers as check_transformers  # isort: split

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NoReturn

from transformers.tokenization_python import PythonBackend
from transformers.tokenization_utils_base import AddedToken, BatchEncoding, PaddingStrategy, TruncationStrategy

from .numbering_symbinv import (
    Names,
    Span,
    SymbolEncoding,
    SymbolNumbering,
    TokenizationError,
    as_list,
    checked_name,
    columns_of,
    refuse_unknown,
    take_older,
)

_IDENTIFIER = re.compile(r"[a-z]|[A-Za-z_][A-Za-z0-9_.]+")
_IS_SPACED = re.compile(r'[\s"]')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACED_TOKEN = re.compile(rf"{_QUOTED.pattern}(?!\S)|\S+", re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\])')
# Options of a call that `prepare_for_model` takes, and those that `pad` takes.
_PREPARING = (
    "add_special_tokens", "max_length", "stride", "return_token_type_ids", "return_overflowing_tokens", "return_length",
    "verbose",
)  # fmt: skip
_PADDING = ("max_length", "pad_to_multiple_of", "padding_side", "return_attention_mask")
# Operators of LTL beyond the base ones, or their first characters.
_REWRITABLE = frozenset({"F", "G", "R", "W", "M", "^", "-", "<", "->", "<->"})


class ListedTokens(SymbolNumbering, PythonBackend):
    """A tokenizer whose base tokens are a list. Subclasses cut a text: `_scan`, `_spans`, `_join`.

    Args:
        base_tokens: Tokens of fixed identity in the order of their ids. The special tokens come first if none of them
            is listed.
        views: The end of a symbol's name in each view, for the first view nothing. `["", "()", "'"]` has x, x() and x'
            for one symbol, which is called `x`.
        bos_token, pad_token, eos_token: Special tokens.
        kwargs: Those of `SymbolNumbering`.

    Raises:
        ValueError: If a token is none, or stands twice, or some of the special tokens are listed and others are not.
    """

    model_input_names = ["input_ids", "attention_mask"]
    _no_base_token, _base_rule = re.compile(r"\s"), "a string without white space"

    def __init__(
        self,
        base_tokens: Iterable[str] | None = None,
        views: Sequence[str] = ("",),
        bos_token: str | AddedToken = "<s>",
        pad_token: str | AddedToken = "<pad>",
        eos_token: str | AddedToken = "</s>",
        **kwargs: Any,
    ) -> None:
        _check_views(views)
        self.views = list(views)
        if base_tokens is None:
            raise ValueError("base_tokens are missing; list the tokens of fixed identity, or load a saved tokenizer")
        special, listed = [str(bos_token), str(pad_token), str(eos_token)], list(base_tokens)
        if not set(special) & set(listed):
            listed = [*dict.fromkeys(special), *listed]
        for token in set(listed) - set(special):
            if not isinstance(token, str) or not token or self._no_base_token.search(token):
                raise ValueError(f"base_tokens: {token!r} must be {self._base_rule}")
        if len(set(listed)) != len(listed):
            raise ValueError(f"base_tokens {listed}: a token is listed twice")
        if missing := [token for token in special if token not in listed]:
            raise ValueError(
                f"special token {missing[0]!r}: must be one of the base_tokens {listed}; list all of {special}, or none"
            )
        self.base_tokens = listed
        self.num_views = self.num_views if len(views) == 1 else len(views)
        self._ids = {token: index for index, token in enumerate(listed)}
        self._specials = tuple(special)
        # Without special tokens, which no text has.
        self._plain_ids = {token: index for token, index in self._ids.items() if token not in special}
        options = {"special_tokens_pattern": "eos", "split_special_tokens": True, **kwargs}
        roles = {"bos_token": bos_token, "pad_token": pad_token, "eos_token": eos_token}
        super().__init__(base_tokens=listed, views=self.views, **roles, **options)

    @property
    def vocab_size(self) -> int:
        """V_n, the number of base tokens."""
        return len(self.base_tokens)

    def get_vocab(self) -> dict[str, int]:
        """Token → id of the base tokens, and of fixed names; a base token goes first."""
        return {**self._fixed_ids(), **self._ids}

    def _base_token(self, index: int) -> str:
        return self.base_tokens[index]

    def _token_id(self, token: Any, names: Names) -> int:
        if token in self._ids:
            return self._ids[token]
        tokens = self._scan_word(token)
        if len(tokens) != 1:
            raise TokenizationError(f"{token!r} is {len(tokens)} tokens; give each on its own")
        return tokens[0] if isinstance(tokens[0], int) else self._symbol_id(tokens[0], names)

    def _add_tokens(self, new_tokens: list[str] | list[AddedToken], special_tokens: bool = False) -> int:
        for token in new_tokens:
            self._check_special(str(token))
        return super()._add_tokens(new_tokens, special_tokens)

    def add_special_tokens(self, special_tokens_dict: dict[str, Any], **kwargs: Any) -> int:
        """Give special roles to base tokens; see transformers.

        Raises:
            ValueError: If a token is not a base token; nothing changes then.
        """
        for value in special_tokens_dict.values():
            for token in value if isinstance(value, (list, tuple)) else [value]:
                self._check_special(str(token))
        return super().add_special_tokens(special_tokens_dict, **kwargs)

    def _check_special(self, token: str) -> None:
        if token not in self._ids:
            raise ValueError(
                f"{token!r}: a model's base tokens are fixed, and symbols need no registration; make a tokenizer with "
                "this token among its base_tokens"
            )

    # Views

    def _view(self, name: str) -> int:
        """The view that the end of a symbol's name tells."""
        ends = [view for view, end in enumerate(self.views) if end and name.endswith(end) and len(name) > len(end)]
        return ends[0] if ends else 0

    def _parts(self, name: str) -> tuple[str, int]:
        view = self._view(name)
        stem = name.removesuffix(self.views[view])
        if view and self._view(stem):
            raise TokenizationError(
                f"symbol name {name!r}: has the end of a view twice; views={self.views} end a name once"
            )
        return stem, view

    def _named(self, stem: str, view: int) -> str:
        if self._view(stem):
            raise TokenizationError(
                f"symbol name {stem!r}: ends as a view does, views={self.views}; give the name of the first view"
            )
        return stem + self.views[view]

    # How a subclass cuts a text

    def _cut(self, text: str) -> Iterator[tuple[int, int, int | str]]:
        """Start and end of each token of a text, and the id of a base token or the name of a symbol."""
        raise NotImplementedError

    def _scan(self, text: str) -> list[int | str]:
        """The tokens of a text."""
        return [token for _, _, token in self._cut(text)]

    def _spans(self, text: str) -> list[Span]:
        """Where each token begins and ends in its text."""
        return [(start, end) for start, end, _ in self._cut(text)]

    def _scan_word(self, word: str) -> list[int | str]:
        """The tokens of a word of a text that was cut before."""
        return self._scan(word)

    def _join(self, words: list[str]) -> str:
        """The text of tokens."""
        raise NotImplementedError

    def _check(self, tokens: list[int | str], text: str | list[str], is_target: bool) -> None:
        """Refuse a text for what its tokens say together."""

    # Encoding

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        is_split_into_words: bool = False,
        return_tensors: str | None = None,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        symbols: Any = None,
        is_target: bool = False,
        **kwargs: Any,
    ) -> BatchEncoding:
        # What stands in a text is text, so its special tokens need no care.
        refuse_unknown(kwargs, {*_PREPARING, *_PADDING, "split_special_tokens", "sanitize_control_tokens"})
        columns, is_batch = columns_of(text, text_pair, is_split_into_words)
        if return_offsets_mapping and len(columns) == 2:
            raise TokenizationError("return_offsets_mapping is not supported for pairs of texts; encode each alone")
        numberings = self._numberings(symbols, len(columns[0]))
        rows = [
            [self._ids_of(one, names, is_target, is_split_into_words) for one in texts]
            for *texts, names in zip(*columns, numberings, strict=True)
        ]
        if not rows:
            return SymbolEncoding({"input_ids": [], "attention_mask": []}, tensor_type=return_tensors)
        preparing = {name: kwargs[name] for name in _PREPARING if name in kwargs} | {
            "truncation": truncation_strategy.value,
            "return_attention_mask": False,
            "return_special_tokens_mask": return_special_tokens_mask or return_offsets_mapping,
        }
        each = [self.prepare_for_model(*row, **preparing) for row in rows]
        columns_by_key = {key: [row[key] for row in each if key in row] for key in dict.fromkeys(chain(*each))}
        padding = {name: kwargs[name] for name in _PADDING if name in kwargs}
        data = dict(super().pad(columns_by_key, padding=padding_strategy.value, **padding))
        if return_offsets_mapping:
            masks = data["special_tokens_mask"] if return_special_tokens_mask else data.pop("special_tokens_mask")
            spans = [self._spans_of(one, is_split_into_words) for one in columns[0]]
            data["offset_mapping"] = [self._offsets(*row) for row in zip(spans, masks, strict=True)]
        found = SymbolEncoding(
            data if is_batch else {key: values[0] for key, values in data.items()},
            tensor_type=return_tensors,
            prepend_batch_axis=not is_batch,
        )
        listed = [list(names.listed) for names in numberings]
        found.symbols = listed if is_batch or return_tensors is not None else listed[0]
        return found

    def _ids_of(self, text: Any, names: Names, is_target: bool, is_split: bool) -> list[int]:
        tokens = self._tokens_of(text, is_split)
        self._check(tokens, text, is_target)
        ids = {token: self._symbol_id(token, names) for token in dict.fromkeys(tokens) if isinstance(token, str)}
        return [token if isinstance(token, int) else ids[token] for token in tokens]

    def _tokens_of(self, text: Any, is_split: bool) -> list[int | str]:
        if not is_split:
            if not isinstance(text, str):
                raise TokenizationError(f"{text!r} is a {type(text).__name__}; pass a string or a list of strings")
            return self._scan(text)
        words, tokens = as_list(text), list[int | str]()
        for place, word in enumerate(words):
            if not isinstance(word, str):
                raise TokenizationError(f"{word!r} is a {type(word).__name__}; tokens are strings", words, place)
            try:
                tokens += self._scan_word(word)
            except TokenizationError as error:
                raise TokenizationError(error.reason, words, place) from None
        return tokens

    def _spans_of(self, text: Any, is_split: bool) -> list[Span]:
        if not is_split:
            return self._spans(text)
        return [
            span
            for word in text
            for span in (self._spans(word) if len(self._scan_word(word)) > 1 else [(0, len(word))])
        ]

    def _offsets(self, spans: list[Span], mask: list[int]) -> list[Span]:
        """The spans of a row of tokens, which may have been cut."""
        count = len(mask) - sum(mask)
        left = iter(spans[len(spans) - count :] if self.truncation_side == "left" else spans)
        return [(0, 0) if is_special else next(left) for is_special in mask]

    def symbols_of(self, text: str) -> list[str]:
        """The names of the symbols of a text, in the order of their numbers."""
        names = Names()
        for token in self._tokens_of(text, False):
            if isinstance(token, str):
                names.number(self._parts(token)[0])
        return names.listed

    def tokenize(self, text: str, **kwargs: Any) -> list[str]:
        """The tokens of `text` as words."""
        tokens = self._tokens_of(text, False)
        return [self.base_tokens[token] if isinstance(token, int) else self._word(token) for token in tokens]

    # Decoding

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        symbols: Sequence[str] = (),
        new_names: Sequence[str] = (),
    ) -> str:
        # Cleaning up would join " !" to the word before it, which is another text here, so that option does nothing.
        ids = map(self._checked_id, token_ids if isinstance(token_ids, (list, tuple)) else [token_ids])
        skipped = set(self.all_special_ids) if skip_special_tokens else ()
        return self._join([self._token(index, symbols, new_names) for index in ids if index not in skipped])

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of `tokens`, in the form that decoding would give it."""
        return self._join(tokens)


class SymbolInvariantTokenizer(ListedTokens):
    """Turns prefix texts into ids and ids into prefix texts.

    A text has one of two forms. COMPACT, without white space or double quotes: every character is a token and symbols
    are single lower-case letters, `&UabXc`. SPACED, every other text: white space separates tokens, and a symbol is an
    identifier or a name in double quotes, `& U request grant_1 "next state"`. Decoding writes COMPACT where every token
    is a single character and every symbol a lower-case letter. (`hf_symbinv.logic` reads and writes the same two forms;
    they are repeated here because this file travels with checkpoints.)

    >>> tokenizer = SymbolInvariantTokenizer(["&", "X"], {"&": 2, "X": 1})
    >>> batch = tokenizer("& request X grant")
    >>> batch["input_ids"], batch.symbols
    ([3, 5, 4, 6, 2], ['request', 'grant'])
    >>> tokenizer.decode([4, 6, 2], skip_special_tokens=True, symbols=batch.symbols)
    'X grant'

    With arities, a text must be one complete tree. Base tokens without one (`;`, `{`, `}` of traces) separate trees; a
    target without any of them may be several trees in a row. Texts are never truncated, because what is left of a
    formula is no formula: with `truncation`, a text longer than `max_length` is refused.

    Args:
        base_tokens, kwargs: Those of `ListedTokens`. In every view a symbol is a leaf of a tree.
        token_arity: Base token → number of children. When empty, texts are not checked to be trees.

    Raises:
        ValueError: If the tables contradict each other.
    """

    _no_base_token = re.compile(r'[\s"]|^[a-z]$')
    _base_rule = "a string without white space and quotes, and no lower-case letter"

    def __init__(
        self,
        base_tokens: Iterable[str] | None = None,
        token_arity: dict[str, int] | None = None,
        **kwargs: Any,
    ) -> None:
        self.older_names = take_older(kwargs)
        self.token_arity = dict(token_arity or {})
        super().__init__(base_tokens, token_arity=self.token_arity, **kwargs)
        _check_arity(self.token_arity, self._plain_ids)
        self._growth: dict[int | str, int | None] = dict.fromkeys(self._ids.values())
        self._growth |= {self._ids[token]: count - 1 for token, count in self.token_arity.items()}
        # Everything that a COMPACT text may hold.
        self._compact: dict[str, int | str] = {chr(code): chr(code) for code in range(ord("a"), ord("z") + 1)}
        self._compact |= {token: index for token, index in self._plain_ids.items() if len(token) == 1}

    # Encoding

    def _encode_plus(self, text: Any, text_pair: Any = None, **kwargs: Any) -> BatchEncoding:
        if text_pair is not None:
            raise TokenizationError("text_pair is not supported, as a text is one formula; encode each on its own")
        for name in ("return_overflowing_tokens", "stride"):
            if kwargs.get(name):
                raise TokenizationError(f"{name} is not supported, as texts are never cut; leave it out")
        return super()._encode_plus(text, **kwargs)

    def _scan(self, text: str) -> list[int | str]:
        if not _IS_SPACED.search(text):
            tokens = [self._compact.get(character, -1) for character in text]
            if -1 in tokens:
                self._refuse(text[tokens.index(-1)], text, tokens.index(-1))
            return tokens
        if '"' not in text:
            tokens = [self._plain_ids.get(word, word) for word in text.split()]
            if all(isinstance(token, int) or _IDENTIFIER.fullmatch(token) for token in set(tokens)):
                return tokens
        return [self._read(match.group(), text, match.start()) for match in _SPACED_TOKEN.finditer(text)]

    def _spans(self, text: str) -> list[Span]:
        if _IS_SPACED.search(text):
            return [match.span() for match in _SPACED_TOKEN.finditer(text)]
        return [(place, place + 1) for place in range(len(text))]

    def _scan_word(self, word: str) -> list[int | str]:
        return [self._read(word, word, 0)]

    def _read(self, word: str, text: str, position: int) -> int | str:
        """The id of a base token, or the name of a symbol."""
        if word in self._plain_ids:
            return self._plain_ids[word]
        try:
            if _IDENTIFIER.fullmatch(self._parts(word)[0]):
                return word
            if _QUOTED.fullmatch(word):
                name = checked_name(_ESCAPE.sub(r"\1", word[1:-1]))
                if wrong := [one for one in name if unicodedata.category(one) in ("Cc", "Cs")]:
                    raise TokenizationError(f"symbol name {name!r}: has {wrong[0]!r}; use no control characters")
                self._parts(name)
                return name
        except TokenizationError as error:
            raise TokenizationError(error.reason, text, position) from None
        self._refuse(word, text, position)

    def _refuse(self, word: str, text: str, position: int) -> NoReturn:
        if text[position:].startswith(self._specials):
            reason = "the tokenizer adds special tokens itself; decode with skip_special_tokens=True"
        elif text[position:].startswith("⟨symbol"):
            reason = f"{word!r} stands for a symbol's missing name; decode with symbols=batch.symbols"
        elif word.startswith('"'):
            reason = "a quoted name must end in a double quote and a blank"
        else:
            reason = (
                f"{word!r} is neither a base token ({' '.join(self._plain_ids)}) nor a symbol (a lower-case letter or, "
                "with blanks, an identifier of two or more characters or a name in double quotes)"
            )
            if word in _REWRITABLE:
                reason += "; rewrite other operators with hf_symbinv.logic: to_prefix(formula.to_base())"
        raise TokenizationError(reason, text, position)

    def _check(self, tokens: list[int | str], text: str | list[str], is_target: bool) -> None:
        if not tokens:
            raise TokenizationError("the text is empty; write at least one token", text)
        if not self.token_arity:
            return
        growth = [self._growth.get(token, -1) for token in tokens]  # of the missing trees; None for separators
        if None not in growth:
            left = list(accumulate(growth, initial=1))  # type: ignore[arg-type]
            if left[-1] == 0 and left.index(0) == len(growth):
                return
        may_repeat = is_target and None not in growth
        missing: int | None = None  # trees missing in the part being read; None before its first token
        for index, change in enumerate(growth):
            if change is None:
                if missing:
                    raise TokenizationError(_incomplete(missing), text, self._position(text, index))
                missing = None
            elif missing == 0 and not may_repeat:
                reason = "the formula is complete before this token; expected its end"
                if isinstance(text, str) and _IDENTIFIER.fullmatch(text):
                    reason += f"; without blanks every character is a token, so write the lone symbol {text} in quotes"
                raise TokenizationError(reason, text, self._position(text, index))
            else:
                missing = (missing or 1) + change
        if missing:
            raise TokenizationError(_incomplete(missing), text, len(text))

    def _position(self, text: str | list[str], index: int) -> int:
        return self._spans(text)[index][0] if isinstance(text, str) else index

    def prepare_for_model(self, ids: list[int], *args: Any, **kwargs: Any) -> BatchEncoding:
        """As transformers', but what is too long is refused.

        Raises:
            TokenizationError: With `truncation`, for more than `max_length` tokens.
        """
        found = super().prepare_for_model(ids, *args, **{**kwargs, "truncation": False})
        length, limit = len(found["input_ids"]), kwargs.get("max_length")
        if limit is not None and length > limit and kwargs.get("truncation") not in (None, False, "do_not_truncate"):
            raise TokenizationError(
                f"{length} tokens are more than max_length={limit}, and what is left of a cut text says something "
                "else; raise max_length or leave this text out"
            )
        return found

    # Decoding

    def _join(self, words: list[str]) -> str:
        texts = [word for word in words if word not in self._specials]
        is_compact = all(len(word) == 1 for word in texts)
        if len(words) == 1 and not is_compact and words[0] not in self._ids and words[0][0] not in '"⟨':
            return _quote(words[0])  # without quotes it would be COMPACT
        return ("" if is_compact else " ").join(words)

    def _word(self, name: str) -> str:
        """A symbol as it stands in a SPACED text."""
        return name if _IDENTIFIER.fullmatch(self._parts(name)[0]) and name not in self._ids else _quote(name)


def _incomplete(missing: int) -> str:
    return f"the formula ends too early; expected {missing} more operand{'s' if missing > 1 else ''}"


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check_views(views: Sequence[str]) -> None:
    """Refuse ends of names that do not tell views apart."""
    others = list(views)[1:]
    if not views or views[0] != "":
        raise ValueError(f"views={list(views)}: the first must be '', a name as it is listed in symbols")
    for end in others:
        if not isinstance(end, str) or not end.isprintable() or _IS_SPACED.search(end):
            raise ValueError(f"views={list(views)}: {end!r} must be printable, without white space and quotes")
        if sum(isinstance(other, str) and other.endswith(end) for other in others) > 1 or not end:
            raise ValueError(f"views={list(views)}: {end!r} ends two of the views; every end must tell one view")


def _check_arity(token_arity: dict[str, int], base_tokens: Iterable[str]) -> None:
    """Refuse children of what has none."""
    for token, children in token_arity.items():
        if token not in base_tokens:
            raise ValueError(
                f"token_arity: {token!r} is special or no base token; only other base tokens have children"
            )
        if not isinstance(children, int) or isinstance(children, bool) or children < 0:
            raise ValueError(f"token_arity: {token!r} has {children!r} children; must be an int of at least 0")


SymbolInvariantTokenizer.register_for_auto_class()

__all__ = ["ListedTokens", "SymbolInvariantTokenizer", "TokenizationError"]
