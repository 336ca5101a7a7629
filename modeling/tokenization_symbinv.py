"""Tokenizer for prefix notation over base tokens and any number of symbols.

A text has one of two forms. COMPACT, without white space or double quotes: every character is a token and symbols are
single lower-case letters, `&UabXc`. SPACED, every other text: white space separates tokens, and a symbol is an
identifier or a name in double quotes, `& U request grant_1 "next state"`. Decoding writes COMPACT where every token is
a single character and every symbol a lower-case letter. (`hf_symbinv.logic` reads and writes the same two forms; they
are repeated here because this file travels with checkpoints.)

Ids: base tokens 0 … V_n - 1, the symbol with referent r is V_n + r. Read `SymbolTable`, which ties names to referents,
then `SymbolInvariantTokenizer`. With several views, referent r in view v is V_n + r * num_views + v, and the end of a
name says which view it is: with `views=["", "'"]`, f and f' are two views of one symbol.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NoReturn

from .versions_symbinv import AddedToken, BatchEncoding, PaddingStrategy, PythonBackend, TruncationStrategy

# The letters a … z are referents 0 … 25 in every table.
NUM_LETTERS = 26

_IDENTIFIER = re.compile(r"[a-z]|[A-Za-z_][A-Za-z0-9_.]+")
# Our choice: at most four digits, so that no text can ask for an enormous id.
_DEFAULT_NAME = re.compile(r"p([1-9][0-9]{1,3})")
_IS_SPACED = re.compile(r'[\s"]')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACED_TOKEN = re.compile(rf"{_QUOTED.pattern}(?!\S)|\S+", re.DOTALL)
_WORD = re.compile(r"\S+")
_ESCAPE = re.compile(r'\\(["\\])')
_IGNORED_LABEL = -100
# Operators of LTL beyond the base ones, or their first characters.
_REWRITABLE = frozenset({"F", "G", "R", "W", "M", "^", "-", "<", "->", "<->"})
# Arguments of a call that ask for what no formula has.
_REFUSED = {
    "text_pair": "as a text is one formula; encode each text on its own",
    "return_overflowing_tokens": "as texts are never cut; leave it out",
    "stride": "as texts are never cut; leave it out",
}
_lock = threading.Lock()


class TokenizationError(ValueError):
    """A text that the tokenizer cannot encode, or ids that it cannot decode.

    Attributes:
        text: The text, or None if the input was no text.
        position: Index into `text` of the first character that cannot be right, `len(text)` at its end; for a list of
            tokens, the index of the token.
    """

    def __init__(self, reason: str, text: str | list[str] | None = None, position: int = 0) -> None:
        self.reason = reason
        self.text = text
        self.position = position
        if text is None:
            super().__init__(reason)
        else:
            start, stop = max(0, position - 20), position + 20
            excerpt = f"{'...' if start else ''}{text[start:stop]!r}{'...' if stop < len(text) else ''}"
            super().__init__(f"position {position} of {excerpt}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.text, self.position)


def check_max_length(length: Any) -> None:
    """Refuses a `model_max_length` with which transformers would fail at the first text, as a damaged file may have it.

    Raises:
        ValueError: If it is neither None nor a number above 0.
    """
    if length is not None and not (isinstance(length, (int, float)) and not isinstance(length, bool) and length > 0):
        raise ValueError(f"model_max_length={length!r}: must be a number above 0")


class SymbolTable:
    """Which name belongs to which referent; grows when it meets a new name, and never changes an entry.

    The letters a … z are referents 0 … 25. Any other new name gets the lowest referent from 26 on that has no name,
    except that `p26`, `p27`, …, `p9999` get the referent that they count if it is free. A referent that is decoded
    before it has a name gets its default, `p<referent>`, with underscores appended while another symbol has that name.
    So names and referents always correspond one to one. Safe to share between threads.

    Args:
        names: Name → referent, as `to_dict` returns it.

    Raises:
        TokenizationError: If a name or referent is not valid, or two names share a referent.
    """

    def __init__(self, names: Mapping[str, int] | None = None) -> None:
        self._referents: dict[str, int] = {chr(ord("a") + i): i for i in range(NUM_LETTERS)}
        self._names: dict[int, str] = {referent: name for name, referent in self._referents.items()}
        self._next = NUM_LETTERS
        for name, referent in (names or {}).items():
            _check_name(name)
            _check_referent(referent)
            if self._referents.get(name, referent) != referent or self._names.get(referent, name) != name:
                raise TokenizationError(
                    f"symbol {name!r}: referent {referent} contradicts another entry; names and referents correspond "
                    "one to one, and a … z are 0 … 25"
                )
            self._add(name, referent)

    def referent(self, name: str) -> int:
        """The referent of `name`, which is added if it is new.

        Raises:
            TokenizationError: If `name` is not a non-empty string of printable characters.
        """
        referent = self._referents.get(name) if isinstance(name, str) else None
        if referent is not None:
            return referent
        _check_name(name)
        with _lock:
            if name in self._referents:
                return self._referents[name]
            default = _DEFAULT_NAME.fullmatch(name)
            referent = int(default[1]) if default else 0
            if referent in self._names or referent < NUM_LETTERS:
                while self._next in self._names:
                    self._next += 1
                referent = self._next
            self._add(name, referent)
            return referent

    def name(self, referent: int) -> str:
        """The name of `referent`, which gets its default name if it has none.

        Raises:
            TokenizationError: If `referent` is not an int of at least 0.
        """
        name = self._names.get(referent)
        if name is not None:
            return name
        _check_referent(referent)
        with _lock:
            if referent not in self._names:
                name = f"p{referent}"
                while name in self._referents:
                    name += "_"
                self._add(name, referent)
            return self._names[referent]

    def _add(self, name: str, referent: int) -> None:
        self._names[referent] = name
        self._referents[name] = referent

    def to_dict(self) -> dict[str, int]:
        """Name → referent of every entry besides the letters, in the order in which they were added."""
        return {name: referent for name, referent in list(self._referents.items()) if referent >= NUM_LETTERS}

    def __contains__(self, name: object) -> bool:
        return name in self._referents

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._referents))

    def __len__(self) -> int:
        return len(self._referents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolTable) and self._referents == other._referents

    def __repr__(self) -> str:
        return f"SymbolTable({self.to_dict()})"


class _Starts(Sequence[int]):
    """Where the words of a text begin; found when they are asked for, which a valid text seldom is."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _starts(self) -> list[int]:
        return [match.start() for match in _WORD.finditer(self._text)]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: Any) -> Any:
        return self._starts[index]


def checked_table(symbol_table: Any) -> SymbolTable:
    """`symbol_table`, or another object that gives names referents.

    Raises:
        TypeError: If it has no method `referent`.
    """
    if not hasattr(symbol_table, "referent"):
        raise TypeError(f"symbol_table={symbol_table!r}: must be a SymbolTable; build one with SymbolTable(names)")
    return symbol_table


class SymbolInvariantTokenizer(PythonBackend):
    """Turns prefix texts into ids and ids into prefix texts.

    `tokenizer(texts)` ends each text in `</s>`; `tokenizer(texts, text_target=answers)` also encodes the answers, as
    labels. Symbols need no registration: a name is tied to a referent when it is first met, in the tokenizer's own
    `symbol_table`, which is saved with it. A call, `decode` or `batch_decode` with `symbol_table=table` uses that table
    instead and leaves the tokenizer's own alone.

    With arities, a text must be one complete tree. Base tokens without one (`;`, `{`, `}` of traces) separate trees; a
    target without any of them may be several trees in a row. Texts are never truncated, because what is left of a
    formula is no formula: with `truncation`, a text longer than `max_length` is refused.

    Args:
        base_tokens: Tokens of fixed identity in the order of their ids, the special tokens among them.
        token_arity: Base token → number of children. When empty, texts are not checked to be trees.
        symbols: Name → referent of the symbols known from the start, names as they are in the first view.
        views: The end of a symbol's name in each view, for the first view nothing. `["", "()", "'"]` has x, x() and x'
            for one symbol, which is `x` in `symbol_table`. In every view a symbol is a leaf of a tree.
        bos_token, pad_token, eos_token: Special tokens, each a base token.

    Raises:
        ValueError: If the tables contradict each other.
    """

    model_input_names = ["input_ids", "attention_mask"]

    def __init__(
        self,
        base_tokens: list[str] | None = None,
        token_arity: dict[str, int] | None = None,
        symbols: dict[str, int] | None = None,
        views: Sequence[str] = ("",),
        bos_token: str | AddedToken = "<s>",
        pad_token: str | AddedToken = "<pad>",
        eos_token: str | AddedToken = "</s>",
        **kwargs: Any,
    ) -> None:
        self.base_tokens = list(base_tokens or [])
        self.token_arity = dict(token_arity or {})
        self.symbol_table = SymbolTable(symbols)
        special = [str(bos_token), str(pad_token), str(eos_token)]
        if wrong := [token for token in self.base_tokens if not self._is_base_token(token)]:
            raise ValueError(
                f"base_tokens: {wrong[0]!r} must be a string without white space and quotes, and no lower-case letter"
            )
        _check_tokens(self.base_tokens, self.token_arity, special)
        _check_views(views)
        self.views = list(views)
        self._ids = {token: index for index, token in enumerate(self.base_tokens)}
        self._specials = frozenset(special)
        # Without special tokens, which no text has.
        self._plain_ids = {token: index for token, index in self._ids.items() if token not in self._specials}
        children = {index: self.token_arity.get(token) for token, index in self._ids.items()}
        self._growth: dict[int | str, int | None] = {
            index: None if count is None else count - 1 for index, count in children.items()
        }
        # Everything that a COMPACT text may hold.
        self._compact_ids = {token: index for token, index in self._ids.items() if len(token) == 1}
        letters = ((chr(ord("a") + i), len(self._ids) + i * len(self.views)) for i in range(NUM_LETTERS))
        self._compact_ids.update(letters)
        check_max_length(kwargs.get("model_max_length"))
        super().__init__(
            base_tokens=self.base_tokens,
            token_arity=self.token_arity,
            symbols=self.symbols,
            views=self.views,
            bos_token=bos_token,
            pad_token=pad_token,
            eos_token=eos_token,
            **{**kwargs, "special_tokens_pattern": "eos"},
        )

    def _is_base_token(self, token: Any) -> bool:
        is_word = isinstance(token, str) and bool(token) and not _IS_SPACED.search(token)
        return is_word and not (len(token) == 1 and token.islower())

    @property
    def symbols(self) -> dict[str, int]:
        """Name → referent of the symbols in the tokenizer's own table, without the letters."""
        return self.symbol_table.to_dict()

    @property
    def vocab_size(self) -> int:
        """V_n, the number of base tokens."""
        return len(self.base_tokens)

    def __len__(self) -> int:
        """Largest id that has a token, plus one."""
        return self.vocab_size + (1 + max(self.symbols.values(), default=NUM_LETTERS - 1)) * len(self.views)

    def get_vocab(self) -> dict[str, int]:
        """Token → id of the base tokens and of the symbols in the tokenizer's own table."""
        table = self.symbol_table
        names = [name + ending for name in table for ending in self.views]
        return self._ids | {self._word(name): self._symbol_id(name, table) for name in names}

    def add_symbols(self, names: Iterable[str]) -> int:
        """Add symbols to the tokenizer's own table. No weight changes: a model has no row per symbol.

        Returns:
            How many of `names` were new.

        Raises:
            TokenizationError: If a name is not valid; then none is added.
        """
        names = [names] if isinstance(names, str) else list(names)
        stems = [self._parts(_check_name(name))[0] for name in names]
        before = len(self.symbol_table)
        for stem in stems:
            self.symbol_table.referent(stem)
        return len(self.symbol_table) - before

    def _add_tokens(self, new_tokens: list[str] | list[AddedToken], special_tokens: bool = False) -> int:
        # `add_tokens` gives a new token the next id; here the ids from V_n on are symbols.
        special = [token for token in new_tokens if special_tokens or getattr(token, "special", False)]
        for token in special:
            self._check_special(str(token))
        if special:
            super()._add_tokens(special, special_tokens=True)
        return self.add_symbols([str(token) for token in new_tokens if token not in special])

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
                f"special token {token!r}: must be one of the base tokens {' '.join(self.base_tokens)}, since "
                "a model's base tokens are fixed; for a new symbol use add_symbols"
            )

    # Encoding

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Encode one text or a list of texts, see transformers; `symbol_table` is described in the class's docstring.

        Returns:
            input_ids and attention_mask, each (B, L) with padding; labels (B, T) if there are both texts and targets.
            On request offset_mapping (B, L, 2): where a token begins and ends in its text, or in its word if the text
            came in words; (0, 0) for special tokens.

        Raises:
            TokenizationError: If a text has an unknown token, is no complete tree or is longer than `max_length`.
        """
        max_target_length = kwargs.pop("max_target_length", None)
        if text_pair_target is not None:
            raise TokenizationError(f"text_pair_target is not supported, {_REFUSED['text_pair']}")
        if text_target is None:
            return super().__call__(text, text_pair, **kwargs)
        # Source first: its names then get their referents in the order of the source.
        encoding = None if text is None else super().__call__(text, text_pair, **kwargs)
        if max_target_length is not None:
            kwargs["max_length"] = max_target_length
        targets = super().__call__(text_target, is_target=True, **kwargs)
        if encoding is None:
            return targets
        encoding["labels"] = targets["input_ids"]
        return encoding

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: str | None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        split_special_tokens: bool = False,
        verbose: bool = True,
        symbol_table: SymbolTable | None = None,
        is_target: bool = False,
        sanitize_control_tokens: bool = False,  # of apply_chat_template; what stands in a text is text anyway
        **kwargs: Any,
    ) -> BatchEncoding:
        for name, value in kwargs.items():  # other versions of transformers may hand on more options, unset
            if value is not None and value is not False:
                raise TypeError(f"{name}={value!r}: the tokenizer has no such option; leave it out")
        asked = {
            "text_pair": text_pair is not None,
            "return_overflowing_tokens": return_overflowing_tokens,
            "stride": stride,
        }
        for name, value in asked.items():
            if value:
                raise TokenizationError(f"{name} is not supported, {_REFUSED[name]}")
        table = self._table(symbol_table)
        texts = text if isinstance(text, str) else _as_list(text)
        if is_split_into_words:
            is_batch = any(isinstance(item, (list, tuple)) for item in texts)
        else:
            is_batch = not isinstance(texts, str)
        texts = texts if is_batch else [texts]
        limit = None if truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else max_length
        end = self.build_inputs_with_special_tokens([]) if add_special_tokens else []
        found = [self._encode_text(one, table, is_split_into_words, is_target, limit, len(end)) for one in texts]
        if not found:
            return BatchEncoding({"input_ids": [], "attention_mask": []}, tensor_type=return_tensors)
        rows = [ids + end for ids, _ in found]
        # Once for all of them, as it warns of a text that is longer than model_max_length.
        self.prepare_for_model(max(rows, key=len), add_special_tokens=False, verbose=verbose)
        data: dict[str, list[Any]] = {"input_ids": rows}
        if return_token_type_ids:
            data["token_type_ids"] = [[0] * len(row) for row in rows]
        if return_special_tokens_mask:
            data["special_tokens_mask"] = [[0] * len(ids) + [1] * len(end) for ids, _ in found]
        if return_length:
            data["length"] = [len(row) for row in rows]
        if padding_strategy == PaddingStrategy.DO_NOT_PAD:
            if return_attention_mask is not False:
                data["attention_mask"] = [[1] * len(row) for row in rows]
        else:
            data = dict(
                self.pad(
                    data,
                    padding=padding_strategy.value,
                    max_length=max_length,
                    pad_to_multiple_of=pad_to_multiple_of,
                    padding_side=padding_side,
                    return_attention_mask=return_attention_mask,
                )
            )
        if return_offsets_mapping:
            side = padding_side or self.padding_side
            data["offset_mapping"] = [
                [(0, 0)] * (len(row) - len(before) if side == "left" else 0)
                + [*_offsets(text, starts), *[(0, 0)] * len(end)]
                + [(0, 0)] * (0 if side == "left" else len(row) - len(before))
                for text, (_, starts), before, row in zip(texts, found, rows, data["input_ids"], strict=True)
            ]
        return BatchEncoding(
            data if is_batch else {key: values[0] for key, values in data.items()},
            tensor_type=return_tensors,
            prepend_batch_axis=not is_batch,
        )

    def _encode_text(
        self,
        text: Any,
        table: SymbolTable,
        is_split_into_words: bool = False,
        is_target: bool = False,
        limit: int | None = None,
        num_special: int = 0,
    ) -> tuple[list[int], Sequence[int]]:
        """Ids of one text without special tokens, and the position of each.

        Names enter `table` only if nothing is wrong with the text.
        """
        tokens, positions = self._scan(text, is_split_into_words)
        if not tokens:
            raise TokenizationError("the text is empty; write at least one token", text)
        if self.token_arity:
            self._check_trees(tokens, text, positions, is_target)
        length = len(tokens) + num_special
        if limit is not None and length > limit:
            raise TokenizationError(
                f"{length} tokens are more than max_length={limit}, and what is left of a cut text says something "
                "else; raise max_length or leave this text out",
                text,
            )
        names = (token for token in dict.fromkeys(tokens) if isinstance(token, str))
        ids: dict[Any, Any] = {name: self._symbol_id(name, table) for name in names}
        return [ids.get(token, token) for token in tokens], positions

    def _scan(self, text: Any, is_split_into_words: bool) -> tuple[list[int | str], Sequence[int]]:
        """The tokens of a text, each an id or a symbol's name, and the position of each."""
        if is_split_into_words:
            words = _as_list(text)
            return [self._read(word, words, index) for index, word in enumerate(words)], range(len(words))
        if not isinstance(text, str):
            raise TokenizationError(f"{text!r} is a {type(text).__name__}; pass a string or a list of strings")
        if not _IS_SPACED.search(text):
            ids: list[int | str] = [self._compact_ids.get(character, -1) for character in text]
            if -1 in ids:
                self._refuse(text[ids.index(-1)], text, ids.index(-1))
            return ids, range(len(ids))
        if '"' not in text:
            tokens = [self._plain_ids.get(word, word) for word in text.split()]
            if all(isinstance(token, int) or _IDENTIFIER.fullmatch(token) for token in set(tokens)):
                return tokens, _Starts(text)
        matches = list(_SPACED_TOKEN.finditer(text))
        return [self._read(match.group(), text, match.start()) for match in matches], [m.start() for m in matches]

    def _read(self, word: Any, text: str | list[str], position: int) -> int | str:
        """The id of a base token, or the name of a symbol."""
        if isinstance(word, str):
            if word in self._ids and word not in self._specials:
                return self._ids[word]
            try:
                if _IDENTIFIER.fullmatch(self._parts(word)[0]):
                    return word
                if _QUOTED.fullmatch(word):
                    name = _check_name(_ESCAPE.sub(r"\1", word[1:-1]))
                    self._parts(name)
                    return name
            except TokenizationError as error:
                raise TokenizationError(error.reason, text, position) from None
        self._refuse(word, text, position)

    def _refuse(self, word: Any, text: str | list[str], position: int) -> NoReturn:
        rest = text[position:] if isinstance(text, str) else word
        if not isinstance(word, str):
            reason = f"{word!r} is a {type(word).__name__}; tokens are strings"
        elif rest.startswith(tuple(self._specials)):
            reason = "the tokenizer adds special tokens itself; decode with skip_special_tokens=True"
        elif word.startswith('"'):
            reason = "a quoted name must end in a double quote and a blank"
        else:
            base = " ".join(token for token in self.base_tokens if token not in self._specials)
            reason = (
                f"{word!r} is neither a base token ({base}) nor a symbol (a lower-case letter or, with blanks, "
                "an identifier of two or more characters or a name in double quotes)"
            )
            if word in _REWRITABLE:
                reason += "; rewrite other operators with hf_symbinv.logic: to_prefix(formula.to_base())"
        raise TokenizationError(reason, text, position)

    def _check_trees(
        self, tokens: list[int | str], text: str | list[str], positions: Sequence[int], is_target: bool
    ) -> None:
        """Refuse a text whose parts between separators are not one complete tree each."""
        growth = [self._growth.get(token, -1) for token in tokens]  # of the missing trees; None for separators
        if None not in growth:
            left = list(accumulate(growth, initial=1))
            if left[-1] == 0 and left.index(0) == len(growth):
                return
        may_repeat = is_target and None not in growth
        missing: int | None = None  # trees missing in the part being read; None before its first token
        for index, change in enumerate(growth):
            if change is None:
                if missing:
                    raise TokenizationError(_incomplete(missing), text, positions[index])
                missing = None
            elif missing == 0 and not may_repeat:
                reason = "the formula is complete before this token; expected its end"
                if isinstance(text, str) and _IDENTIFIER.fullmatch(text):
                    reason += f"; without blanks every character is a token, so write the lone symbol {text} in quotes"
                raise TokenizationError(reason, text, positions[index])
            else:
                missing = (missing or 1) + change
        if missing:
            raise TokenizationError(_incomplete(missing), text, len(text))

    def tokenize(self, text: str) -> list[str]:
        """The tokens of `text` as words, `["&", "request", "a"]`; joined by blanks they are its SPACED form."""
        return self.convert_ids_to_tokens(self._encode_text(text, self.symbol_table)[0])

    def _convert_token_to_id(self, token: str) -> int:
        if token in self._ids:
            return self._ids[token]
        name = self._read(token, [token], 0)
        return name if isinstance(name, int) else self._symbol_id(name, self.symbol_table)

    # Decoding

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        symbol_table: SymbolTable | None = None,
    ) -> str:
        # Cleaning up would join " !" to the word before it, which is another text here, so that option does nothing.
        table = self._table(symbol_table)
        num_base = self.vocab_size
        is_compact, words, symbols = True, [], 0
        for index in token_ids if isinstance(token_ids, (list, tuple)) else [token_ids]:
            index = self._check_id(index)
            word = self.base_tokens[index] if index < num_base else self._symbol_name(index, table)
            if index < num_base and word in self._specials:
                if not skip_special_tokens:
                    words.append(word)
                continue
            if index < num_base:
                is_compact = is_compact and len(word) == 1
                words.append(word)
            else:
                is_compact = is_compact and len(word) == 1 and "a" <= word <= "z"
                words.append(self._word(word))
                symbols += 1
        if len(words) == symbols == 1 and not is_compact:  # without quotes it would be COMPACT
            return words[0] if words[0].startswith('"') else _quote(words[0])
        return ("" if is_compact else " ").join(words)

    def _convert_id_to_token(self, index: int) -> str:
        index = self._check_id(index)
        if index < self.vocab_size:
            return self.base_tokens[index]
        return self._word(self._symbol_name(index, self.symbol_table))

    def _check_id(self, index: Any) -> int:
        if not isinstance(index, int) or isinstance(index, bool) or (index < 0 and index != _IGNORED_LABEL):
            raise TokenizationError(
                f"token id {index!r}: must be an integer of at least 0, or {_IGNORED_LABEL} for an ignored label"
            )
        return self._ids[self.pad_token] if index == _IGNORED_LABEL else index

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of `tokens`, in the form that decoding would give it."""
        return self._decode(self.convert_tokens_to_ids(tokens))

    def _word(self, name: str) -> str:
        """A symbol as it stands in a SPACED text."""
        return name if _IDENTIFIER.fullmatch(self._parts(name)[0]) and name not in self._ids else _quote(name)

    # Symbols

    def _view(self, name: str) -> int:
        """The view that the end of a symbol's name tells."""
        ends = [view for view, end in enumerate(self.views) if end and name.endswith(end) and len(name) > len(end)]
        return ends[0] if ends else 0

    def _parts(self, name: str) -> tuple[str, int]:
        """A symbol's name in the first view, and its view."""
        view = self._view(name)
        stem = name.removesuffix(self.views[view])
        if view and self._view(stem):
            raise TokenizationError(
                f"symbol name {name!r}: has the end of a view twice; views={self.views} end a name once"
            )
        return stem, view

    def _symbol_id(self, name: str, table: SymbolTable) -> int:
        stem, view = self._parts(name)
        return self.vocab_size + table.referent(stem) * len(self.views) + view

    def _symbol_name(self, index: int, table: SymbolTable) -> str:
        referent, view = divmod(index - self.vocab_size, len(self.views))
        stem = table.name(referent)
        if self._view(stem):
            raise TokenizationError(
                f"symbol name {stem!r}: ends as a view does, views={self.views}; give it another name in the table"
            )
        return stem + self.views[view]

    def _table(self, symbol_table: SymbolTable | None) -> SymbolTable:
        return self.symbol_table if symbol_table is None else checked_table(symbol_table)


def _incomplete(missing: int) -> str:
    return f"the formula ends too early; expected {missing} more operand{'s' if missing > 1 else ''}"


def _offsets(text: str | list[str], starts: Sequence[int]) -> list[tuple[int, int]]:
    """First character and end of each token in its text, or in its word if the text came in words."""
    if not isinstance(text, str):
        return [(0, len(word)) for word in text]
    areas = zip(starts, [*starts[1:], len(text)], strict=True)
    return [(start, start + len(text[start:end].rstrip())) for start, end in areas]


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise TokenizationError(f"symbol name {name!r}: must be a non-empty string")
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise TokenizationError(f"symbol name {name!r}: control character {character!r}; use printable characters")
    return name


def _check_referent(referent: object) -> None:
    if not isinstance(referent, int) or isinstance(referent, bool) or referent < 0:
        raise TokenizationError(f"referent {referent!r}: must be an int of at least 0")


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TokenizationError(f"{value!r} is a {type(value).__name__}; pass a string or a list of strings")
    return list(value)


def _check_views(views: Sequence[str]) -> None:
    """Refuse ends of names that do not tell views apart."""
    others = list(views)[1:]
    if not views or views[0] != "":
        raise ValueError(f"views={list(views)}: the first must be '', a name as it stands in a table of symbols")
    for end in others:
        if not isinstance(end, str) or not end.isprintable() or _IS_SPACED.search(end):
            raise ValueError(f"views={list(views)}: {end!r} must be printable, without white space and quotes")
        if sum(isinstance(other, str) and other.endswith(end) for other in others) > 1 or not end:
            raise ValueError(f"views={list(views)}: {end!r} ends two of the views; every end must tell one view")


def _check_tokens(base_tokens: list[str], token_arity: dict[str, int], special: list[str]) -> None:
    """Refuse tables that contradict each other."""
    if not base_tokens:
        raise ValueError("base_tokens is empty; list the tokens of fixed identity, or load a SymbolInvariantTokenizer")
    if len(set(base_tokens)) != len(base_tokens):
        raise ValueError(f"base_tokens {base_tokens}: a token is listed twice")
    for token in special:
        if token not in base_tokens:
            raise ValueError(f"special token {token!r}: must be one of the base_tokens {base_tokens}")
    for token, children in token_arity.items():
        if token not in base_tokens or token in special:
            raise ValueError(
                f"token_arity: {token!r} is special or no base token; only other base tokens have children"
            )
        if not isinstance(children, int) or isinstance(children, bool) or children < 0:
            raise ValueError(f"token_arity: {token!r} has {children!r} children; must be an int of at least 0")


SymbolInvariantTokenizer.register_for_auto_class()

__all__ = ["SymbolInvariantTokenizer", "SymbolTable", "TokenizationError"]
