"""Tokenizer for natural text and code: the `tokenizers` library cuts base text, and symbols stand beside it.

A symbol of a text is hidden behind noncharacters of Unicode, which take as many places as its name. The library cuts
what is left, so that all offsets are those of the text. Then each symbol gets its id and its name back. Read `_find`,
`_hidden` and `_Encodings`, then `SymbolInvariantSubwordTokenizer`.
"""

import copy
import inspect
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from tokenizers import Encoding, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from .numbering_symbinv import Names, SymbolEncoding, SymbolNumbering, TokenizationError, refuse_older
from .text_symbinv import compiled, composed, skeleton
from .versions_symbinv import AddedToken, BatchEncoding, TokenizersBackend

# Unicode keeps these two for the inside of programs: one stands for a symbol's first character, one for each other.
_FIRST, _FURTHER = "\ufdd0", "\ufdd1"
# Role → default, in the order of the ids that training gives them.
_SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}
# Start and end of a symbol in a text, and its name.
Mark = tuple[int, int, str]
# Start in a text → end and name of the symbol there.
_Spans = dict[int, tuple[int, str]]


def _find(
    text: Any, given: Iterable[Mark] | None, pattern: "re.Pattern[str] | None", base_words: Collection[str]
) -> _Spans:
    """The symbols of a text in their order: those given, or else the matches of a pattern that are no base words."""
    if not isinstance(text, str):
        raise TokenizationError(f"{text!r} is a {type(text).__name__}; pass a string or a list of strings")
    for mark in (_FIRST, _FURTHER):
        if mark in text:
            raise TokenizationError(
                f"{mark!r} is a noncharacter of Unicode, and marks symbols here; take it out", text, text.index(mark)
            )
    if given is None:
        plain, starts = skeleton(text)
        matches = () if pattern is None else pattern.finditer(plain)
        places = ((starts[match.start()], starts[match.end()]) for match in matches if match.group())
        words = ((start, end, text[start:end]) for start, end in places)
        return {start: (end, word) for start, end, word in words if composed(word) not in base_words}
    spans: _Spans = {}
    place = 0
    for start, end, name in sorted(given):
        if not place <= start < end <= len(text):
            reason = (
                f"symbol {name!r} at ({start}, {end}): a span must have a character, lie in the text of {len(text)} "
                "characters, and begin where the one before it has ended or later"
            )
            raise TokenizationError(reason, text, start)
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

    def __init__(
        self, raw: list[Encoding], spans: list[Sequence[_Spans]], ids: list[dict[str, int]], hidden: int
    ) -> None:
        # Of each of them the spans of its text, and of its pair if there is one, and name → id; `hidden` is _FIRST's.
        self._raw, self._spans, self._ids, self._hidden = raw, spans, ids, hidden

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self._hidden not in self._raw[index].ids:
            return self._raw[index]
        state = json.loads(self._raw[index].__getstate__())
        self._show(state, self._spans[index], self._ids[index])
        encoding = Encoding()
        encoding.__setstate__(json.dumps(state).encode())
        return encoding

    def _show(self, state: dict[str, Any], spans: Sequence[_Spans], ids: Mapping[str, int]) -> None:
        for sequence, area in (state["sequence_ranges"] or {"0": {"start": 0, "end": len(state["ids"])}}).items():
            for token in range(area["start"], area["end"]):
                if state["ids"][token] == self._hidden:
                    start = state["offsets"][token][0]
                    end, name = spans[int(sequence)][start]
                    state["ids"][token], state["tokens"][token] = ids[name], name
                    state["offsets"][token] = [start, end]
        for further in state["overflowing"]:
            self._show(further, spans, ids)


class SymbolInvariantSubwordTokenizer(SymbolNumbering, TokenizersBackend):
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
    spans=[(start, end, name), ...])`, where `name` says which symbol stands at `text[start:end]`, so that two
    variables that are both written `x` can be told apart; `spans` of a list of texts is a list of such lists.
    `pair_spans` and `target_spans` are the same for `text_pair` and `text_target`. A text that is truncated has the
    ids with which the whole text begins. A span that is not valid, and a text with the noncharacters U+FDD0 or U+FDD1,
    are refused by a TokenizationError.

    Args:
        tokenizer_object: A `tokenizers.Tokenizer` for base text, whose ids are 0 … V_n - 1; `train` makes one.
        tokenizer_file: A file of one, if there is no `tokenizer_object`.
        symbol_pattern: Regular expression of Python's for the names of symbols, which are searched in a composed text
            (NFC) without combining marks from left to right; None if the caller says what symbols are.
        base_words: Matches of it that are base text, such as keywords.
        bos_token, pad_token, eos_token: Special tokens, each a token of the base text.
        kwargs: Those of `SymbolNumbering`.

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
        bos_token: str | AddedToken = "<s>",
        pad_token: str | AddedToken = "<pad>",
        eos_token: str | AddedToken = "</s>",
        **kwargs: Any,
    ) -> None:
        refuse_older(kwargs)
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
            raise ValueError(f"tokenizer_object: {len(ids)} tokens, ids up to {max(ids)}; base ids must be 0, 1, ...")
        base.add_tokens([AddedToken(_FIRST, normalized=False, special=False)])
        self._num_base = len(ids)
        self.symbol_pattern, self.base_words = symbol_pattern, list(map(composed, base_words))
        self._symbol = None if symbol_pattern is None else compiled(symbol_pattern, "symbol_pattern ")
        kwargs = {"clean_up_tokenization_spaces": False, "symbol_pattern": symbol_pattern, **kwargs}
        roles = {"bos_token": bos_token, "pad_token": pad_token, "eos_token": eos_token}
        super().__init__(tokenizer_object=base, base_words=self.base_words, **roles, **kwargs)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """What `from_pretrained` hands to the constructor: the file as it is."""
        return kwargs

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        spans: Iterable[Sequence[Mark]] | None = None,
        symbol_pattern: str | None = None,
        base_words: Sequence[str] = (),
        **kwargs: Any,
    ) -> "SymbolInvariantSubwordTokenizer":
        """Learn base tokens from texts, without the symbols in them: byte pairs of UTF-8, which write any text.

        Args:
            texts: Any number.
            vocab_size: V_n, at most.
            spans: Of their symbols, one list a text, if no pattern says what symbols are.
            symbol_pattern, base_words, kwargs: Of the tokenizer; the special tokens among them come first in its ids.

        Raises:
            ValueError: If a span is not valid, or there are not as many lists as texts.
        """
        roles = {**_SPECIAL, **{role: token for role, token in kwargs.items() if role.endswith("_token")}}
        named = [token for token in roles.values() if isinstance(token, (str, AddedToken))]
        special = list(dict.fromkeys(map(str, [*named, *kwargs.get("extra_special_tokens", ())])))
        base = Tokenizer(models.BPE())
        base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        base.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        options: Any = {"vocab_size": vocab_size, "special_tokens": special, "initial_alphabet": alphabet}
        rows = zip(texts, repeat(None)) if spans is None else zip(texts, spans, strict=True)
        pattern = None if symbol_pattern is None else compiled(symbol_pattern, "symbol_pattern ")
        parts = (part for text, given in rows for part in _between(text, _find(text, given, pattern, base_words)))
        base.train_from_iterator(parts, trainers.BpeTrainer(show_progress=False, **options))
        eos = str(roles["eos_token"])
        base.post_processor = processors.TemplateProcessing(
            single=f"$A {eos}", pair=f"$A {eos} $B:1 {eos}:1", special_tokens=[(eos, base.token_to_id(eos))]
        )
        return cls(base, symbol_pattern=symbol_pattern, base_words=base_words, **kwargs)

    @classmethod
    def around(
        cls, tokenizer: Any, symbol_pattern: str | None = None, base_words: Sequence[str] = ()
    ) -> "SymbolInvariantSubwordTokenizer":
        """Another fast tokenizer of transformers, with its ids, to which symbols are added.

        Args:
            tokenizer: A `PreTrainedTokenizerFast`, whose special tokens and greatest length are kept.
            symbol_pattern, base_words: Of the tokenizer.

        Raises:
            ValueError: If it is not a fast one, or lacks what the class needs.
        """
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(
                f"tokenizer: {type(tokenizer).__name__} is not a fast tokenizer, so it gives no offsets; use one "
                "that has a tokenizer.json"
            )
        roles = {role: token for role, token in tokenizer.special_tokens_map.items() if isinstance(token, str)}
        for role, other in (("bos_token", "cls_token"), ("eos_token", "sep_token"), ("pad_token", "pad_token")):
            roles[role] = getattr(tokenizer, role) or getattr(tokenizer, other)
            if roles[role] is None:
                raise ValueError(f"tokenizer: has no {role}; set tokenizer.{role} to one of its tokens, and save it")
        options = {"model_max_length": tokenizer.model_max_length, **roles}
        return cls(tokenizer.backend_tokenizer, symbol_pattern=symbol_pattern, base_words=base_words, **options)

    def train_new_from_iterator(self, text_iterator: Iterable[Any], vocab_size: int, *args: Any, **kwargs: Any) -> Any:
        """As transformers', from what stands beside the symbols; only for a tokenizer with a `symbol_pattern`."""
        if self._symbol is None:
            raise ValueError("train_new_from_iterator takes no spans of symbols; use train(texts, vocab_size, spans)")
        texts = (text for batch in text_iterator for text in ([batch] if isinstance(batch, str) else batch))
        parts = (part for text in texts for part in _between(text, _find(text, None, self._symbol, self.base_words)))
        return super().train_new_from_iterator(parts, vocab_size, *args, **{"show_progress": False, **kwargs})

    @property
    def vocab_size(self) -> int:
        """V_n, the number of base tokens."""
        return self._num_base

    def get_vocab(self) -> dict[str, int]:
        """Token → id of the base tokens, and of fixed names; a base token goes first."""
        base = {token: index for token, index in super().get_vocab().items() if index != self._num_base}
        return {**self._fixed_ids(), **base}

    def _is_base(self, token: str) -> bool:
        return self._tokenizer.token_to_id(token) is not None

    def _token_id(self, token: str, names: Names) -> int:
        index = self._tokenizer.token_to_id(token)
        return self._symbol_id(token, names) if index is None or index == self._num_base else index

    def _base_token(self, index: int) -> str:
        return self._tokenizer.id_to_token(index)

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        is_split_into_words: bool = False,
        return_tensors: str | None = None,
        symbols: Any = None,
        spans: Any = None,
        pair_spans: Any = None,
        is_target: bool = False,
        **kwargs: Any,
    ) -> BatchEncoding:
        known = inspect.signature(super()._encode_plus).parameters
        if is_split_into_words:
            raise TokenizationError("is_split_into_words is not supported, as blanks are base text; join the words")
        columns, is_batch, numberings = self._examples(text, text_pair, False, symbols, kwargs, known)
        count = len(columns[0])
        if not count:
            return SymbolEncoding({"input_ids": [], "attention_mask": []}, tensor_type=return_tensors)
        found_spans = []  # of texts, and of pairs
        for texts, one in zip(columns, (spans, pair_spans), strict=False):
            given = [None] * count if one is None else list(one) if is_batch else [one]
            if len(given) != count:
                raise TokenizationError(f"{count} texts and {len(given)} lists of spans; give a list for each text")
            rows = zip(texts, given, strict=True)
            found_spans.append([_find(*row, self._symbol, self.base_words) for row in rows])
        hidden = [list(map(_hidden, *column)) for column in zip(columns, found_spans, strict=True)]
        options = {name: value for name, value in kwargs.items() if name in known}
        found = super()._encode_plus(*hidden, return_tensors=None, **options)
        # Older versions of transformers leave in the library how a call padded, and a cache of datasets would see it.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        by_row = list(zip(*found_spans, strict=True))
        ids = [
            {name: self._symbol_id(name, names) for own in row for _, name in own.values()}
            for row, names in zip(by_row, numberings, strict=True)
        ]
        data, raw = dict(found), list(found.encodings or [])
        origin = list(data.get("overflow_to_sample_mapping", range(count)))
        spans_of, ids_of = [by_row[row] for row in origin], [ids[row] for row in origin]
        for place, row in enumerate(data["input_ids"]):
            if self._num_base in row:
                offsets, sequence_of = raw[place].offsets, raw[place].sequence_ids
                for token, base in enumerate(row):
                    if base == self._num_base:
                        start = offsets[token][0]
                        end, name = spans_of[place][sequence_of[token]][start]
                        row[token] = ids_of[place][name]
                        if "offset_mapping" in data:
                            data["offset_mapping"][place][token] = (start, end)
        listed = [names.listed if self._fixed is None else list(names.listed) for names in numberings]
        is_nested = is_batch or return_tensors is not None or "overflow_to_sample_mapping" in data
        if not is_nested:
            data = {key: value[0] for key, value in data.items()}
        encodings = _Encodings(raw, spans_of, ids_of, self._num_base)
        result = SymbolEncoding(data, encodings, tensor_type=return_tensors, n_sequences=len(columns))
        result.symbols = [listed[row] for row in origin] if is_nested else listed[0]
        return result

    def _written(self, ids: list[int], skips: bool, symbols: Sequence[str], new_names: Sequence[str]) -> str:
        words = [index if index < self._num_base else self._symbol_word(index, symbols, new_names) for index in ids]
        return self._text(words, skips)

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of `tokens`; one that is no base token is a symbol, and stays as it is, also without a name."""
        ids = map(self._tokenizer.token_to_id, tokens)
        words = zip(tokens, ids, strict=True)
        return self._text([token if index in (None, self._num_base) else index for token, index in words])

    def _text(self, words: list[Any], skip_special_tokens: bool = False) -> str:
        """The text of base ids and of symbols' names, for which the library reads its mark."""
        ids = [self._num_base if isinstance(word, str) else word for word in words]
        names = (word for word in words if isinstance(word, str))
        text = self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)
        return re.sub(_FIRST, lambda found: next(names, found[0]), text)


SymbolInvariantSubwordTokenizer.register_for_auto_class()
