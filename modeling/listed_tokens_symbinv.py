"""What tokenizers share whose base tokens are a list: prefix notation, texts by a rule, words of a table.

Read `numbering_symbinv.py` first. A subclass says how to cut a text, `_cut`, and how to write one, `_join`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from .numbering_symbinv import Names, Span, SymbolEncoding, SymbolNumbering, TokenizationError, as_list
from .versions_symbinv import AddedToken, BatchEncoding, PaddingStrategy, PythonBackend, TruncationStrategy

# Options of a call that `prepare_for_model` takes, and those that `pad` takes.
_PREPARING = (
    "add_special_tokens", "max_length", "stride", "return_token_type_ids", "return_overflowing_tokens", "return_length",
    "verbose",
)  # fmt: skip
_PADDING = ("max_length", "pad_to_multiple_of", "padding_side", "return_attention_mask")


class ListedTokens(SymbolNumbering, PythonBackend):
    """A tokenizer whose base tokens are a list.

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
    # Of a subclass: start and end of each token of a text, with a base id or the name of a symbol; the text of tokens.
    _cut: Callable[[str], Iterator[tuple[int, int, int | str]]]
    _join: Callable[[list[str]], str]

    def __init__(
        self,
        base_tokens: Iterable[str] | None = None,
        views: Sequence[str] = ("",),
        bos_token: str | AddedToken = "<s>",
        pad_token: str | AddedToken = "<pad>",
        eos_token: str | AddedToken = "</s>",
        **kwargs: Any,
    ) -> None:
        self.views = list(views)
        if not views or views[0] != "":
            raise ValueError(f"views={self.views}: the first must be '', a name as it is listed in symbols")
        for end in self.views[1:]:
            if not isinstance(end, str) or not end.isprintable() or re.search(r'[\s"]', end):
                raise ValueError(f"views={self.views}: {end!r} must be printable, without white space and quotes")
            if sum(isinstance(other, str) and other.endswith(end) for other in self.views[1:]) > 1 or not end:
                raise ValueError(f"views={self.views}: {end!r} ends two of the views; every end must tell one view")
        if base_tokens is None:
            raise ValueError("base_tokens are missing; list the tokens of fixed identity, or load a saved tokenizer")
        special, listed = [str(bos_token), str(pad_token), str(eos_token)], list(base_tokens)
        if not set(special) & set(listed):
            listed = [*dict.fromkeys(special), *listed]
        for token in listed:
            if token not in special and (not isinstance(token, str) or not token or self._no_base_token.search(token)):
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
        self._plain_ids = {token: index for token, index in self._ids.items() if token not in special}  # as texts have
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

    def _is_base(self, token: str) -> bool:
        return token in self._ids

    def _view(self, name: str) -> int:
        """The view that the end of a symbol's name tells."""
        ends = [view for view, end in enumerate(self.views) if end and name.endswith(end) and len(name) > len(end)]
        return ends[0] if ends else 0

    def _parts(self, name: str) -> tuple[str, int]:
        view = self._view(name)
        stem = name.removesuffix(self.views[view])
        if view and self._view(stem):
            raise TokenizationError(f"symbol name {name!r}: ends twice as a view does; views={self.views} end it once")
        return stem, view

    def _named(self, stem: str, view: int) -> str:
        if self._view(stem):
            raise TokenizationError(
                f"symbol name {stem!r}: ends as a view does, views={self.views}; give the name of the first view"
            )
        return stem + self.views[view]

    def _scan(self, text: str) -> list[int | str]:
        """The tokens of a text."""
        return [token for _, _, token in self._cut(text)]

    def _spans(self, text: str) -> list[Span]:
        """Where each token begins and ends in its text."""
        return [(start, end) for start, end, _ in self._cut(text)]

    def _scan_word(self, word: str) -> list[int | str]:
        """The tokens of a word of a text that was cut before."""
        return self._scan(word)

    def _check(self, tokens: list[int | str], text: str | list[str], is_target: bool) -> None:
        """Refuse a text for what its tokens say together."""

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
        known = {*_PREPARING, *_PADDING, "split_special_tokens", "sanitize_control_tokens"}
        columns, is_batch, numberings = self._examples(text, text_pair, is_split_into_words, symbols, kwargs, known)
        if return_offsets_mapping and len(columns) == 2:
            raise TokenizationError("return_offsets_mapping is not supported for pairs of texts; encode each alone")
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
        data = self._prepared(rows, preparing)
        padding = {name: kwargs[name] for name in _PADDING if name in kwargs}
        if padding_strategy != PaddingStrategy.DO_NOT_PAD:
            data = dict(super().pad(data, padding=padding_strategy.value, **padding))
        elif padding.get("return_attention_mask") is not False:
            data["attention_mask"] = [[1] * len(row) for row in data["input_ids"]]
        if return_offsets_mapping:
            masks = data["special_tokens_mask"] if return_special_tokens_mask else data.pop("special_tokens_mask")
            spans = [self._spans_of(one, is_split_into_words) for one in columns[0]]
            data["offset_mapping"] = [self._offsets(*row) for row in zip(spans, masks, strict=True)]
        found = SymbolEncoding(
            data if is_batch else {key: values[0] for key, values in data.items()},
            tensor_type=return_tensors,
            prepend_batch_axis=not is_batch,
        )
        listed = [names.listed if self._fixed is None else list(names.listed) for names in numberings]
        found.symbols = listed if is_batch or return_tensors is not None else listed[0]
        return found

    def _prepared(self, rows: list[list[list[int]]], options: dict[str, Any]) -> dict[str, list[Any]]:
        """Columns of rows with special tokens, by `prepare_for_model` where something is cut or asked for."""
        longest = max(rows, key=lambda row: len(row[0]))
        first = self.prepare_for_model(*longest, **options)  # which warns of what is too long for the model
        frame = self.build_inputs_with_special_tokens([-1]) if options.get("add_special_tokens", True) else [-1]
        is_whole = len(first["input_ids"]) == len(longest[0]) + len(frame) - 1
        if set(first) == {"input_ids"} and is_whole and all(len(row) == 1 for row in rows):
            place = frame.index(-1)
            return {"input_ids": [[*frame[:place], *ids, *frame[place + 1 :]] for (ids,) in rows]}
        each = [self.prepare_for_model(*row, **options) for row in rows]
        return {key: [row[key] for row in each if key in row] for key in dict.fromkeys(chain(*each))}

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
        each = (self._spans(word) if len(self._scan_word(word)) > 1 else [(0, len(word))] for word in text)
        return [*chain.from_iterable(each)]

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

    def _written(self, ids: list[int], skips: bool, symbols: Sequence[str], new_names: Sequence[str]) -> str:
        skipped = set(self.all_special_ids) if skips else ()
        return self._join([self._token(index, symbols, new_names) for index in ids if index not in skipped])

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of `tokens`, in the form that decoding would give it."""
        return self._join(tokens)
