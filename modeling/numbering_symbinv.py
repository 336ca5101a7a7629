"""Numbers for the symbols of an example, and names for numbers: what all tokenizers share.

The j-th symbol of an example, j = 0, 1, …, has the id V_n + j, and with several views V_n + j * num_views + view; ids
below V_n are base tokens. Each example is numbered anew, in the order of first appearance, first the question and then
the answer, so that texts which are renamings of each other have the same ids, in every process and session. Names are a
part of the example: `batch.symbols` has them, and decoding takes them.

A tokenizer is a way to cut texts beside `SymbolNumbering`: `tokenization_symbinv.py` for prefix notation,
`text_symbinv.py` and `subwords_symbinv.py` for other texts.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from .versions_symbinv import AddedToken, BatchEncoding, PreTrainedTokenizerBase, to_py_obj

IGNORED_LABEL = -100
Span = tuple[int, int]
_PLACEHOLDER = re.compile(r"⟨symbol\d+(\.\d+)?⟩")


class TokenizationError(ValueError):
    """A text that the tokenizer cannot encode, or ids that it cannot decode.

    Attributes:
        text: The text, or None if the input was no text.
        position: Index into `text` of the first character that cannot be right, `len(text)` at its end; for a list of
            tokens, the index of the token.
    """

    def __init__(self, reason: str, text: str | list[str] | None = None, position: int = 0) -> None:
        self.reason, self.text, self.position = reason, text, position
        if text is not None:
            start, stop = max(0, position - 20), position + 20
            excerpt = f"{'...' if start else ''}{text[start:stop]!r}{'...' if stop < len(text) else ''}"
            reason = f"position {position} of {excerpt}: {reason}"
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.text, self.position)


def checked_name(name: object) -> str:
    """A name that a symbol may have; refuses what is no text, or what decoding writes for a missing name."""
    if not isinstance(name, str) or not name:
        raise TokenizationError(f"symbol name {name!r}: must be a non-empty string")
    if _PLACEHOLDER.fullmatch(name):
        raise TokenizationError(f"symbol name {name!r}: stands for a missing name; decode with symbols=batch.symbols")
    return name


def refuse_older(settings: dict[str, Any]) -> None:
    """Refuses the saved arguments of a tokenizer of version 0.1.0, which numbered names for a whole process."""
    if "symbols" in settings:
        raise ValueError(
            "symbols: this tokenizer was saved by an earlier version, whose ids mean something else; make it anew with "
            "its base tokens, and with fixed_names=[...] if its model has a row for each name"
        )


class Names:
    """The symbols of one example, numbered as they come; `listed` has their names, each as it was written first.

    NFC and NFD of a name are one symbol. The names `given` have the numbers 0, 1, …, and if they are closed no other
    gets one. A name that is none, or stands twice among them, is refused.
    """

    __slots__ = ("_is_closed", "_numbers", "listed")

    def __init__(self, given: Iterable[str] = (), is_closed: bool = False) -> None:
        self.listed: list[str] = []
        self._numbers: dict[str, int] = {}
        self._is_closed = False
        for place, name in enumerate(given):
            if self.number(name) < place:
                raise TokenizationError(f"symbols: {name!r} stands twice; list each name once, in the order of numbers")
        self._is_closed = is_closed

    def number(self, name: str) -> int:
        """The number of a symbol, which gets the next one if it is new."""
        key = name if not isinstance(name, str) or name.isascii() else unicodedata.normalize("NFC", name)
        number = self._numbers.get(key)
        if number is None:
            if self._is_closed:
                shown = " ".join(self.listed if len(self.listed) <= 6 else [*self.listed[:5], "...", self.listed[-1]])
                why = f"this tokenizer has a fixed list of names ({shown}), as its model has a row for each"
                raise TokenizationError(f"symbol {name!r}: {why}; use these names, or a model with streams")
            number = self._numbers[key] = len(self.listed)
            self.listed.append(checked_name(name))
        return number


class SymbolEncoding(BatchEncoding):
    """Identical to BatchEncoding except: `symbols` are the names of its symbols, a list for each row of ids.

    They are an attribute, so that `model(**batch)` and `model.generate(**batch)` take the other things alone.
    """

    symbols: list[Any] = []

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "symbols": self.symbols}

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.symbols = state["symbols"]


class SymbolNumbering(PreTrainedTokenizerBase):
    """What all tokenizers of this package share: numbers for symbols and names for numbers.

    `tokenizer(questions, text_target=answers)` numbers the symbols of each question, then those of its answer, which
    is in `labels`. `symbols=names` continues the numbers of an example. `batch.symbols` has the names, as a column on
    request, `return_symbols=True`. Decoding takes them, `decode(ids, symbols=names)`; what has no name is written
    `⟨symbol3⟩`, in view 1 `⟨symbol3.1⟩`, which no text can have as a name, or as one of `new_names`.

    Args:
        fixed_names: For a model with a row for each name (`learned`, `renamed`, `random`): these names have the numbers
            0, 1, … in every example, and others are refused.
        kwargs: Those of the tokenizer of transformers beside it.

    Attributes:
        num_views: Views of a symbol, which a subclass says before it calls this constructor.
    """

    num_views = 1

    def __init__(self, fixed_names: Iterable[str] | None = None, **kwargs: Any) -> None:
        self.fix_names(fixed_names)
        super().__init__(**{"fixed_names": self.fixed_names, **kwargs})

    def fix_names(self, names: Iterable[str] | None) -> None:
        """Set `fixed_names`."""
        self.fixed_names = None if names is None else list(names)
        self._fixed = None if self.fixed_names is None else Names(self.fixed_names, is_closed=True)

    def _parts(self, name: str) -> tuple[str, int]:
        """A symbol's name in the first view, and its view; tokenizers with views override this and the next two."""
        return name, 0

    def _named(self, stem: str, view: int) -> str:
        """The name in a view of a symbol."""
        return stem

    def _word(self, name: str) -> str:
        """A symbol as a token."""
        return name

    def _symbol_id(self, name: str, names: Names) -> int:
        stem, view = self._parts(name)
        return self.vocab_size + names.number(stem) * self.num_views + view

    def _symbol_word(self, index: int, names: Sequence[str], new_names: Sequence[str] = ()) -> str:
        number, view = divmod(index - self.vocab_size, self.num_views)
        if number >= len(names):
            # Names of an example are few, new ones fewer.
            names = [*names, *(name for name in new_names if name not in names)]
        if number >= len(names):
            return f"⟨symbol{number}.{view}⟩" if view else f"⟨symbol{number}⟩"
        return self._word(self._named(names[number], view))

    def __len__(self) -> int:
        """Ids of base tokens, and of fixed names."""
        return self.vocab_size + len(self.fixed_names or ()) * self.num_views

    def _fixed_ids(self) -> dict[str, int]:
        """Token → id of fixed names in all views."""
        tokens = (self._named(name, view) for name in self.fixed_names or () for view in range(self.num_views))
        return {self._word(token): self.vocab_size + place for place, token in enumerate(tokens)}

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> Any:
        """Ids of tokens, whose symbols are numbered as those of a text; a single symbol has number 0."""
        names = self._fixed or Names()
        ids = [self._token_id(token, names) for token in ([tokens] if isinstance(tokens, str) else tokens)]
        return ids[0] if isinstance(tokens, str) else ids

    def convert_ids_to_tokens(
        self, ids: Any, skip_special_tokens: bool = False, symbols: Sequence[str] | None = None
    ) -> Any:
        """Tokens of ids, of which symbols have the names `symbols`; see `decode`."""
        names = self._names_of(symbols, 1)[0]
        if isinstance(ids, int):
            return self._token(self._checked_id(ids), names)
        skipped = set(self.all_special_ids) if skip_special_tokens else ()
        return [self._token(self._checked_id(index), names) for index in ids if index not in skipped]

    def _token(self, index: int, names: Sequence[str], new_names: Sequence[str] = ()) -> str:
        return self._base_token(index) if index < self.vocab_size else self._symbol_word(index, names, new_names)

    def _add_tokens(self, new_tokens: list[str] | list[AddedToken], special_tokens: bool = False) -> int:
        self._require_base(new_tokens)
        return super()._add_tokens(new_tokens, special_tokens)

    def add_special_tokens(self, special_tokens_dict: dict[str, Any], **kwargs: Any) -> int:
        """Give special roles to base tokens; see transformers. For another token a ValueError, and nothing changes."""
        for value in special_tokens_dict.values():
            self._require_base(value if isinstance(value, (list, tuple)) else [value])
        return super().add_special_tokens(special_tokens_dict, **kwargs)

    def _require_base(self, tokens: Iterable[Any]) -> None:
        for token in map(str, tokens):
            if not self._is_base(token):
                why = "a model's base tokens are fixed, and symbols need no registration"
                raise ValueError(f"{token!r}: {why}; make a tokenizer with this token among its base tokens")

    def _checked_id(self, index: Any) -> int:
        if not isinstance(index, int) or isinstance(index, bool) or (index < 0 and index != IGNORED_LABEL):
            raise TokenizationError(
                f"token id {index!r}: must be an integer of at least 0, or {IGNORED_LABEL} for an ignored label"
            )
        return self.pad_token_id if index == IGNORED_LABEL else index

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        *,
        symbols: Sequence[Any] | None = None,
        return_symbols: bool = False,
        max_target_length: int | None = None,
        target_spans: Any = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Encode one text or a list of texts; see transformers, and the class for `symbols`.

        Returns:
            input_ids and attention_mask, each (B, L) with padding; labels (B, T) if there are both texts and targets.
            On request offset_mapping (B, L, 2): where a token begins and ends in its text, or in its word if the text
            came in words; (0, 0) for special tokens. Its attribute `symbols` is a list of names for each row.

        Raises:
            TokenizationError: If a text cannot be encoded, or targets come alone.
        """
        if text_target is None and (text_pair_target is not None or target_spans):
            raise TokenizationError("text_pair_target and target_spans are of a text_target, and there is none")
        found: Any = None
        if text is not None or text_target is None:
            found = super().__call__(text, text_pair, symbols=symbols, **kwargs)
            symbols = found.symbols
        elif symbols is None and self._fixed is None:
            why = "text_target alone: its symbols have the numbers that they have in the text, which is not known"
            remedy = "encode both in one call, tokenizer(texts, text_target=answers), or give symbols=batch.symbols"
            raise TokenizationError(f"{why}; {remedy}")
        if text_target is not None:
            options = {**kwargs, "spans": target_spans, "pair_spans": None, "symbols": symbols, "is_target": True}
            if max_target_length is not None:
                options["max_length"] = max_target_length
            targets = super().__call__(text_target, text_pair_target, **options)
            if found is None:
                found = targets
            else:
                found["labels"], found.symbols = targets["input_ids"], targets.symbols
        if return_symbols:
            found["symbols"] = found.symbols
        return found

    def pad(self, encoded_inputs: Any, *args: Any, **kwargs: Any) -> BatchEncoding:
        """As transformers', where a column `symbols` becomes the result's attribute, as names are no tensor."""
        is_one = not isinstance(encoded_inputs, (list, tuple))
        rows = [encoded_inputs] if is_one else encoded_inputs
        if not rows or "symbols" not in rows[0]:
            return super().pad(encoded_inputs, *args, **kwargs)
        rest = [{key: value for key, value in row.items() if key != "symbols"} for row in rows]
        found = SymbolEncoding(dict(super().pad(rest[0] if is_one else rest, *args, **kwargs)))
        found.symbols = rows[0]["symbols"] if is_one else [row["symbols"] for row in rows]
        return found

    def decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        symbols: Any = None,
        new_names: Sequence[str] = (),
        clean_up_tokenization_spaces: bool | None = None,
    ) -> Any:
        """The text of ids, or the texts of several rows.

        Args:
            token_ids: (L), or rows of them, as lists, arrays or tensors.
            skip_special_tokens: Whether to leave special tokens out.
            symbols: The names: a list, or for rows a list for each example. Of k rows for each example, as
                `num_return_sequences=k` gives them, the first k have the names of the first example, and so on.
            new_names: For symbols that come after `symbols`: the first has the first of these names that is not among
                `symbols`, and so on.
            clean_up_tokenization_spaces: Does nothing: to join " !" to the word before it makes another text here.

        Raises:
            TokenizationError: For what is no id, or if there are not as many lists of names as rows.
        """
        rows = to_py_obj(token_ids)
        if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], (list, tuple)):
            names = self._names_of(symbols, len(rows), may_repeat=True)
            return [self.decode(row, skip_special_tokens, own, new_names) for row, own in zip(rows, names, strict=True)]
        ids = [self._checked_id(index) for index in (rows if isinstance(rows, (list, tuple)) else [rows])]
        return self._written(ids, skip_special_tokens, self._names_of(symbols, 1)[0], new_names)

    def _names_of(self, symbols: Any, count: int, may_repeat: bool = False) -> list[list[str]]:
        """A list of names for each of `count` rows, which all share one that is not nested."""
        given = (self.fixed_names or []) if symbols is None else list(symbols)
        if all(isinstance(name, str) for name in given):
            return [list(given)] * count
        each, rest = divmod(count, len(given))
        if rest or not each or (each > 1 and not may_repeat):
            shown = f"symbols: {len(given)} lists of names for {count} rows"
            raise TokenizationError(f"{shown}; give a list for each example")
        return [list(names) for names in given for _ in range(each)]

    def _examples(
        self, text: Any, text_pair: Any, is_split: bool, symbols: Any, options: dict[str, Any], known: Collection[str]
    ) -> tuple[list[list[Any]], bool, list[Names]]:
        """As `columns_of`, and the names of each example before it is read, of a call with options that must be known.

        Those of other versions of transformers may be unset.
        """
        for name, value in options.items():
            if name not in known and value is not None and value is not False:
                raise TypeError(f"{name}={value!r}: the tokenizer has no such option; leave it out")
        columns, is_batch = columns_of(text, text_pair, is_split)
        count = len(columns[0])
        names = [self._fixed] * count if self._fixed else [Names(given) for given in self._names_of(symbols, count)]
        return columns, is_batch, names


def as_list(value: Any) -> list[Any]:
    """Texts of any iterable."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TokenizationError(f"{value!r} is a {type(value).__name__}; pass a string or a list of strings")
    return list(value)


def columns_of(text: Any, text_pair: Any, is_split: bool) -> tuple[list[list[Any]], bool]:
    """The texts and, if there are any, their pairs, and whether they came as a batch."""
    texts: Any = text if isinstance(text, str) else as_list(text)
    nested = any(isinstance(item, (list, tuple)) for item in texts)
    is_batch = nested if is_split else not isinstance(texts, str)
    if not is_batch:
        return [[texts]] if text_pair is None else [[texts], [text_pair]], False
    kind = (list, tuple) if is_split else str
    are_pairs = (
        isinstance(one, tuple) and len(one) == 2 and all(isinstance(part, kind) for part in one) for one in texts
    )
    if text_pair is None and texts and all(are_pairs):
        return [list(column) for column in zip(*texts, strict=True)], True  # as elsewhere in transformers
    pairs = [] if text_pair is None else [as_list(text_pair)]
    if any(len(pair) != len(texts) for pair in pairs):
        raise TokenizationError(f"{len(texts)} texts and {len(pairs[0])} pairs for them; give one for each")
    return [texts, *pairs], True
