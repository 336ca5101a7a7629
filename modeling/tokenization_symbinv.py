"""Tokenizer for prefix notation over base tokens and any number of symbols.

Read `numbering_symbinv.py` first: it says which ids symbols have.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NoReturn

from .listed_tokens_symbinv import ListedTokens
from .numbering_symbinv import Span, TokenizationError, checked_name, refuse_older
from .versions_symbinv import BatchEncoding

_IDENTIFIER = re.compile(r"[a-z]|[A-Za-z_][A-Za-z0-9_.]+")
_IS_SPACED = re.compile(r'[\s"]')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACED_TOKEN = re.compile(rf"{_QUOTED.pattern}(?!\S)|\S+", re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\])')
# Operators of LTL beyond the base ones, or their first characters.
_REWRITABLE = frozenset({"F", "G", "R", "W", "M", "^", "-", "<", "->", "<->"})


class SymbolInvariantTokenizer(ListedTokens):
    """Turns prefix texts into ids and ids into prefix texts.

    A text that is a base token is just that. Others have one of two forms. COMPACT, without white space or double
    quotes: every character is a token and symbols are single lower-case letters, `&UabXc`. SPACED, every other text:
    white space separates tokens, and a symbol is an identifier or a name in double quotes, `& U request grant_1 "next
    state"`. Decoding writes COMPACT where every token is a single character and every symbol a lower-case letter.
    (`hf_symbinv.logic` reads and writes the same forms; this file has its own, because it travels with checkpoints.)

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
        token_arity: Base token → number of children. When empty, texts are not checked to be trees. A ValueError is
            raised if the tables contradict each other.
    """

    _no_base_token = re.compile(r'[\s"]|^[a-z]$')
    _base_rule = "a string without white space and quotes, and no lower-case letter"

    def __init__(
        self, base_tokens: Iterable[str] | None = None, token_arity: dict[str, int] | None = None, **kwargs: Any
    ) -> None:
        refuse_older(kwargs)
        self.token_arity = dict(token_arity or {})
        super().__init__(base_tokens, token_arity=self.token_arity, **kwargs)
        for token, children in self.token_arity.items():
            if token not in self._plain_ids or type(children) is not int or children < 0:
                why = "keys are base tokens that are not special, and each has an int of at least 0"
                raise ValueError(f"token_arity: {token!r} has {children!r} children; {why}")
        self._growth: dict[int | str, int | None] = dict.fromkeys(self._ids.values())
        self._growth |= {self._ids[token]: count - 1 for token, count in self.token_arity.items()}
        # Everything that a COMPACT text may hold.
        self._compact: dict[str, int | str] = {chr(code): chr(code) for code in range(ord("a"), ord("z") + 1)}
        self._compact |= {token: index for token, index in self._plain_ids.items() if len(token) == 1}

    def _scan(self, text: str) -> list[int | str]:
        if not _IS_SPACED.search(text) and text not in self._plain_ids:
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
        if _IS_SPACED.search(text) or text in self._plain_ids:
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
            left = list(accumulate(growth, initial=1))
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

    def prepare_for_model(self, ids: list[int], pair_ids: list[int] | None = None, **kwargs: Any) -> BatchEncoding:
        """As transformers', but a pair, and with `truncation` a text of more than `max_length` tokens, is refused."""
        if pair_ids is not None:
            raise TokenizationError("text_pair is not supported, as a text is one formula; encode each on its own")
        for name in ("return_overflowing_tokens", "stride"):
            if kwargs.get(name):
                raise TokenizationError(f"{name} is not supported, as texts are never cut; leave it out")
        found = super().prepare_for_model(ids, **{**kwargs, "truncation": False})
        length, limit = len(found["input_ids"]), kwargs.get("max_length")
        if limit is not None and length > limit and kwargs.get("truncation") not in (None, False, "do_not_truncate"):
            raise TokenizationError(
                f"{length} tokens are more than max_length={limit}, and a cut text says something else; raise "
                "max_length or leave this text out"
            )
        return found

    def _join(self, words: list[str]) -> str:
        texts = [word for word in words if word not in self._specials]
        is_compact = all(len(word) == 1 for word in texts) and (len(texts) < 2 or "".join(texts) not in self._plain_ids)
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


SymbolInvariantTokenizer.register_for_auto_class()
