"""Tokenizer for natural text and code: the `tokenizers` library cuts base text, and symbols stand beside it.

A symbol of a text is hidden behind noncharacters of Unicode, which take as many places as its name. The library cuts
what is left, so that all offsets are those of the text. Then each symbol gets its id and its name back. Ids: base
tokens 0 … V_n - 1, the symbol with referent r is V_n + r, as in `tokenization_symbinv.py`, whose `SymbolTable` says
which name has which referent. Read `_find`, `_hidden` and `_Encodings`, then `SymbolInvariantSubwordTokenizer`.
"""

import copy
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import repeat
from typing import Any

from tokenizers import Encoding, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from .tokenization_symbinv import SymbolTable, TokenizationError, check_max_length, checked_table
from .versions_symbinv import AddedToken, BatchEncoding, TokenizersBackend

# Unicode keeps these two for the inside of programs: the first stands for a symbol's first character, the other for
# each further one.
_FIRST, _FURTHER = "\ufdd0", "\ufdd1"
_IGNORED_LABEL = -100
# Start in a text → end and name of the symbol there.
_Spans = dict[int, tuple[int, str]]


def _find(
    text: Any, given: Iterable[tuple[int, int, str]] | None, pattern: "re.Pattern[str] | None", kept: Set[str]
) -> _Spans:
    """The symbols of a text in their order: those given, or else the matches of a pattern that are not kept."""
    if not isinstance(text, str):
        raise TokenizationError(f"{text!r} is a {type(text).__name__}; pass a string or a list of strings")
    for mark in (_FIRST, _FURTHER):
        if mark in text:
            raise TokenizationError(
                f"{mark!r} is a noncharacter of Unicode, and marks symbols here; take it out", text, text.index(mark)
            )
    if given is None:
        matches = () if pattern is None else pattern.finditer(text)
        return {m.start(): (m.end(), m.group()) for m in matches if m.group() and m.group() not in kept}
    spans: _Spans = {}
    place = 0
    for start, end, name in sorted(given):
        if not place <= start < end <= len(text):
            raise TokenizationError(
                f"symbol {name!r} at ({start}, {end}): a span must have a character, lie in the text of {len(text)} "
                "characters, and begin where the one before it has ended or later",
                text,
                start,
            )
        spans[start], place = (end, name), end
    return spans


def _between(text: str, spans: _Spans) -> Iterator[str]:
    """What stands between the symbols of a text."""
    place = 0
    for start, (end, _) in spans.items():
        yield text[place:start]
        place = end
    yield text[place:]


def _hidden(text: str, spans: _Spans) -> str:
    """A text whose symbols are noncharacters."""
    marks = [_FIRST + _FURTHER * (end - start - 1) for start, (end, _) in spans.items()]
    return "".join(part for pair in zip(_between(text, spans), [*marks, ""], strict=True) for part in pair)


class _Encodings(Sequence):
    """The library's encodings of a batch, with symbols in place of noncharacters; each is made when it is asked for."""

    def __init__(self, raw: list[Encoding], spans: list[tuple[_Spans, ...]], ids: Mapping[str, int], hidden: int):
        self._raw, self._spans, self._ids, self._hidden = raw, spans, ids, hidden

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self._hidden not in self._raw[index].ids:
            return self._raw[index]
        state = json.loads(self._raw[index].__getstate__())
        self._show(state, self._spans[index])
        encoding = Encoding()
        encoding.__setstate__(json.dumps(state).encode())
        return encoding

    def _show(self, state: dict[str, Any], spans: tuple[_Spans, ...]) -> None:
        for sequence, area in (state["sequence_ranges"] or {"0": {"start": 0, "end": len(state["ids"])}}).items():
            for token in range(area["start"], area["end"]):
                if state["ids"][token] == self._hidden:
                    start = state["offsets"][token][0]
                    end, name = spans[int(sequence)][start]
                    state["ids"][token], state["tokens"][token] = self._ids[name], name
                    state["offsets"][token] = [start, end]
        for cut in state["overflowing"]:
            self._show(cut, spans)


class SymbolInvariantSubwordTokenizer(TokenizersBackend):
    """Identical to transformers' PreTrainedTokenizerFast except: a text has symbols, each of which is one token.

    >>> tokenizer = SymbolInvariantSubwordTokenizer.train(
    ...     ["def double(x):", "    return x + x"],
    ...     vocab_size=280,
    ...     symbol_pattern="[a-z]+",
    ...     base_words=["def", "return"],
    ... )
    >>> batch = tokenizer("    return speed + x", return_offsets_mapping=True)
    >>> batch.tokens()
    ['ĠĠĠ', 'Ġreturn', 'Ġ', 'speed', 'Ġ+', 'Ġ', 'x', '</s>']

    What is a symbol is said by the caller or else by `symbol_pattern`. The caller says it with spans: `tokenizer(text,
    symbols=[(start, end, name), ...])`, where `name` says which symbol stands at `text[start:end]`, so that two
    variables that are both written `x` can be told apart; `symbols` of a list of texts is a list of such lists.
    `pair_symbols` and `target_symbols` are the same for `text_pair` and `text_target`.

    Names get referents in the order in which they stand in the texts, in the tokenizer's own `symbol_table`, which is
    saved with it, or in that of a call, `tokenizer(texts, symbol_table=table)`. A text that is truncated has the ids
    with which the whole text begins. Source and target share a table.

    Args:
        tokenizer_object: A `tokenizers.Tokenizer` for base text, whose ids are 0 … V_n - 1; `train` makes one.
        tokenizer_file: A file of one, if there is no `tokenizer_object`.
        symbol_pattern: Regular expression of Python's for the names of symbols, which are searched in a text from left
            to right; None if the caller says what symbols are.
        base_words: Matches of it that are base text, such as keywords.
        symbols: Name → referent of the symbols known from the start.
        bos_token, pad_token, eos_token: Special tokens, each a token of the base text.

    Raises:
        ValueError: If there is no tokenizer for base text, it lacks a special token or has gaps between its ids, or
            the expression is none.
    """

    model_input_names = ["input_ids", "attention_mask"]

    def __init__(
        self,
        tokenizer_object: Tokenizer | None = None,
        tokenizer_file: str | None = None,
        symbol_pattern: str | None = None,
        base_words: Sequence[str] = (),
        symbols: Mapping[str, int] | None = None,
        bos_token: str | AddedToken = "<s>",
        pad_token: str | AddedToken = "<pad>",
        eos_token: str | AddedToken = "</s>",
        **kwargs: Any,
    ) -> None:
        check_max_length(kwargs.get("model_max_length"))
        if tokenizer_object is not None:
            base = copy.deepcopy(tokenizer_object)
        elif tokenizer_file is not None:
            base = Tokenizer.from_file(tokenizer_file)
        else:
            raise ValueError("there is no tokenizer_object for base text; make a tokenizer with its method train")
        for token in (bos_token, pad_token, eos_token):
            if base.token_to_id(str(token)) is None:
                raise ValueError(f"special token {str(token)!r}: must be a token of the base text's tokenizer")
        removal = normalizers.Replace(_FURTHER, "")
        if base.normalizer is None:
            base.normalizer = removal
        elif base.normalizer.normalize_str(_FURTHER):
            base.normalizer = normalizers.Sequence([removal, base.normalizer])
        ids = {index for token, index in base.get_vocab().items() if token != _FIRST}
        if ids != set(range(len(ids))):
            raise ValueError(
                f"tokenizer_object: has {len(ids)} tokens and ids up to {max(ids)}; base ids must be 0, 1, 2, ..."
            )
        base.add_tokens([AddedToken(_FIRST, normalized=False, special=False)])
        self._num_base = len(ids)
        self.symbol_pattern, self.base_words = symbol_pattern, list(base_words)
        self._kept = frozenset(self.base_words)
        self._symbol = _compiled(symbol_pattern)
        self.symbol_table = SymbolTable(symbols)
        super().__init__(
            tokenizer_object=base,
            symbol_pattern=symbol_pattern,
            base_words=self.base_words,
            symbols=self.symbols,
            bos_token=bos_token,
            pad_token=pad_token,
            eos_token=eos_token,
            **{"clean_up_tokenization_spaces": False, **kwargs},
        )

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """What `from_pretrained` hands to the constructor: the file as it is."""
        return kwargs

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        symbols: Iterable[Sequence[tuple[int, int, str]]] | None = None,
        kind: str = "subwords",
        symbol_pattern: str | None = None,
        base_words: Sequence[str] = (),
        **kwargs: Any,
    ) -> "SymbolInvariantSubwordTokenizer":
        """Learn base tokens from texts, without the symbols in them.

        Args:
            texts: Any number.
            vocab_size: V_n, at most.
            symbols: Their spans, one list a text, if no pattern says what symbols are.
            kind: `subwords` are byte pairs of UTF-8, which write any text; `words` are runs of letters, digits or other
                characters between white space, the most frequent ones, and `<unk>` for all others.
            symbol_pattern, base_words, kwargs: Of the tokenizer; the special tokens among them come first in its ids.

        Raises:
            ValueError: If `kind` is none of the two, or there are not as many lists of spans as texts.
            TokenizationError: If a span is not valid.
        """
        roles = {**_SPECIAL, **{role: token for role, token in kwargs.items() if role.endswith("_token")}}
        named = [token for token in roles.values() if isinstance(token, (str, AddedToken))]
        special = list(dict.fromkeys(map(str, [*named, *kwargs.get("extra_special_tokens", ())])))
        if kind == "subwords":
            base = Tokenizer(models.BPE())
            base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            base.decoder = decoders.ByteLevel()
            trainer: Any = trainers.BpeTrainer(
                vocab_size=vocab_size,
                special_tokens=special,
                initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                show_progress=False,
            )
        elif kind == "words":
            unknown = str(kwargs.setdefault("unk_token", "<unk>"))
            base = Tokenizer(models.WordLevel(unk_token=unknown))
            base.pre_tokenizer = pre_tokenizers.Whitespace()
            trainer = trainers.WordLevelTrainer(
                vocab_size=vocab_size, special_tokens=[*dict.fromkeys([*special, unknown])], show_progress=False
            )
        else:
            raise ValueError(f"kind={kind!r}: must be subwords or words")
        pattern, kept = _compiled(symbol_pattern), frozenset(base_words)
        rows = zip(texts, repeat(None)) if symbols is None else zip(texts, symbols, strict=True)
        parts = (part for text, given in rows for part in _between(text, _find(text, given, pattern, kept)))
        base.train_from_iterator(parts, trainer)
        eos = str(roles["eos_token"])
        base.post_processor = processors.TemplateProcessing(
            single=f"$A {eos}", pair=f"$A {eos} $B:1 {eos}:1", special_tokens=[(eos, base.token_to_id(eos))]
        )
        return cls(base, symbol_pattern=symbol_pattern, base_words=base_words, **kwargs)

    def train_new_from_iterator(
        self,
        text_iterator: Iterable[Sequence[str]],
        vocab_size: int,
        length: int | None = None,
        new_special_tokens: Any = None,
        special_tokens_map: Any = None,
        **kwargs: Any,
    ) -> Any:
        """As transformers', from what stands beside the symbols; only for a tokenizer with a `symbol_pattern`."""
        if self._symbol is None:
            raise ValueError("train_new_from_iterator takes no spans of symbols; use train(texts, vocab_size, symbols)")
        texts = (text for batch in text_iterator for text in ([batch] if isinstance(batch, str) else batch))
        parts = (part for text in texts for part in _between(text, _find(text, None, self._symbol, self._kept)))
        return super().train_new_from_iterator(
            parts, vocab_size, length, new_special_tokens, special_tokens_map, **{"show_progress": False, **kwargs}
        )

    # What is known of tokens

    @property
    def symbols(self) -> dict[str, int]:
        """Name → referent of the symbols in the tokenizer's own table, without the letters."""
        return self.symbol_table.to_dict()

    @property
    def vocab_size(self) -> int:
        """V_n, the number of base tokens."""
        return self._num_base

    def __len__(self) -> int:
        """Largest id that has a token, plus one."""
        return self._num_base + 1 + max(self.symbol_table.referent(name) for name in self.symbol_table)

    def get_vocab(self) -> dict[str, int]:
        """Token → id of the base tokens and of the symbols in the tokenizer's own table; a base token goes first."""
        base = {token: index for token, index in super().get_vocab().items() if index != self._num_base}
        return {name: self._num_base + self.symbol_table.referent(name) for name in self.symbol_table} | base

    def _add_tokens(self, new_tokens: list[str] | list[AddedToken], special_tokens: bool = False) -> int:
        for token in new_tokens:
            if self._tokenizer.token_to_id(str(token)) is None:
                raise ValueError(
                    f"{str(token)!r}: a model's base tokens are fixed, and symbols need no registration; train a "
                    "tokenizer with this token among its special ones"
                )
        return super()._add_tokens(new_tokens, special_tokens)

    def _convert_token_to_id_with_added_voc(self, token: str) -> int:
        index = self._tokenizer.token_to_id(token)
        if index is not None and index != self._num_base:
            return index
        if token in self.symbol_table:
            return self._num_base + self.symbol_table.referent(token)
        raise TokenizationError(f"{token!r}: is neither a base token nor a symbol of the tokenizer's table")

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Base tokens as the library writes them, and names of symbols; see transformers."""
        if isinstance(ids, int):
            return self._token(ids, self.symbol_table)
        skipped = set(self.all_special_ids) if skip_special_tokens else ()
        return [self._token(int(index), self.symbol_table) for index in ids if int(index) not in skipped]

    def _token(self, index: int, table: SymbolTable) -> str:
        if index == _IGNORED_LABEL:
            return str(self.pad_token)
        if index < 0:
            raise TokenizationError(f"token id {index}: must be at least 0, or {_IGNORED_LABEL} for an ignored label")
        return self._tokenizer.id_to_token(index) if index < self._num_base else table.name(index - self._num_base)

    # Encoding

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Encode one text or a list of texts, see transformers; the docstring of the class has what is different.

        Returns:
            input_ids and attention_mask, each (B, L) with padding; labels (B, T) if there are both texts and targets.

        Raises:
            TokenizationError: If a span is not valid, or a text has the noncharacters U+FDD0 or U+FDD1.
        """
        limit, spans = kwargs.pop("max_target_length", None), kwargs.pop("target_symbols", None)
        if text_target is None and (text_pair_target is not None or spans is not None):
            raise TokenizationError("text_pair_target and target_symbols are of a text_target, and there is none")
        # Source first: its names then get their referents in the order of the source.
        encoding = None
        if text is not None or text_target is None:
            encoding = super().__call__(text, text_pair, **kwargs)
        if text_target is None:
            return encoding
        kwargs = {**kwargs, "symbols": spans, "pair_symbols": None}
        if limit is not None:
            kwargs["max_length"] = limit
        targets = super().__call__(text_target, text_pair_target, **kwargs)
        if encoding is None:
            return targets
        encoding["labels"] = targets["input_ids"]
        return encoding

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        is_split_into_words: bool = False,
        return_tensors: str | None = None,
        symbol_table: SymbolTable | None = None,
        symbols: Any = None,
        pair_symbols: Any = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        known = inspect.signature(super()._encode_plus).parameters
        for name, value in kwargs.items():
            if name not in known and value is not None and value is not False:
                raise TypeError(f"{name}={value!r}: the tokenizer has no such option; leave it out")
        if is_split_into_words:
            raise TokenizationError("is_split_into_words is not supported, as blanks are base text; join the words")
        table = self._table(symbol_table)
        is_batch = not isinstance(text, str)
        if not is_batch:
            text, symbols, pair_symbols = [text], [symbols], [pair_symbols]
            text_pair = None if text_pair is None else [text_pair]
        if is_batch and text_pair is None and text and all(isinstance(one, tuple) and len(one) == 2 for one in text):
            text, text_pair = zip(*text, strict=True)  # pairs of texts, as elsewhere in transformers
        sequences = [(list(text), symbols)] + ([] if text_pair is None else [(list(text_pair), pair_symbols)])
        if not sequences[0][0]:
            return BatchEncoding({"input_ids": [], "attention_mask": []}, tensor_type=return_tensors)
        columns, hidden = [], []  # of texts, and of pairs
        for texts, given in sequences:
            given = [None] * len(texts) if given is None else list(given)
            if len(given) != len(sequences[0][0]) or len(texts) != len(given):
                raise TokenizationError(
                    f"{len(sequences[0][0])} texts, with {len(texts)} and {len(given)} lists of symbols beside them; "
                    "give one for each text"
                )
            columns.append([_find(*row, self._symbol, self._kept) for row in zip(texts, given, strict=True)])
            hidden.append([_hidden(*row) for row in zip(texts, columns[-1], strict=True)])
        options = {name: value for name, value in kwargs.items() if name in known}
        found = super()._encode_plus(*hidden, return_tensors=None, **options)
        ids: dict[str, int] = {}
        rows = list(zip(*columns, strict=True))
        for row in rows:
            for spans in row:
                for _, name in spans.values():
                    if name not in ids:
                        ids[name] = self._num_base + table.referent(name)
        data, raw = dict(found), list(found.encodings or [])
        spans_of = [rows[i] for i in data.get("overflow_to_sample_mapping", range(len(rows)))]
        encodings = _Encodings(raw, spans_of, ids, self._num_base)
        offsets = data.get("offset_mapping")
        for index, row_ids in enumerate(data["input_ids"]):
            if self._num_base in row_ids:
                places, sequence_of = raw[index].offsets, raw[index].sequence_ids
                for token, base in enumerate(row_ids):
                    if base == self._num_base:
                        start = places[token][0]
                        end, name = spans_of[index][sequence_of[token]][start]
                        row_ids[token] = ids[name]
                        if offsets is not None:
                            offsets[index][token] = (start, end)
        if not is_batch and return_tensors is None and "overflow_to_sample_mapping" not in data:
            data = {key: value[0] for key, value in data.items()}
        return BatchEncoding(data, encodings, tensor_type=return_tensors, n_sequences=len(columns))

    # Decoding

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        symbol_table: SymbolTable | None = None,
        **kwargs: Any,
    ) -> str:
        table = self._table(symbol_table)
        token_ids = token_ids if isinstance(token_ids, (list, tuple)) else [token_ids]
        pad = self.pad_token_id
        parts: list[Any] = []  # names, and lists of base ids
        for index in token_ids:
            if index >= self._num_base:
                parts.append(self._token(index, table))
            else:
                self._token(index, table)
                if not parts or isinstance(parts[-1], str):
                    parts.append([])
                parts[-1].append(pad if index == _IGNORED_LABEL else index)
        texts = (
            part if isinstance(part, str) else self._tokenizer.decode(part, skip_special_tokens=skip_special_tokens)
            for part in parts
        )
        return "".join(texts) if self._tokenizer.decoder is not None else " ".join(filter(None, texts))

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of `tokens`."""
        return self._decode(self.convert_tokens_to_ids(tokens))

    def _table(self, symbol_table: SymbolTable | None) -> SymbolTable:
        return self.symbol_table if symbol_table is None else checked_table(symbol_table)


# Role → default, in the order of the ids that training gives them.
_SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}


def _compiled(pattern: str | None) -> "re.Pattern[str] | None":
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise ValueError(f"symbol_pattern {pattern!r} is no regular expression: {error}") from error


SymbolInvariantSubwordTokenizer.register_for_auto_class()

__all__ = ["SymbolInvariantSubwordTokenizer"]
