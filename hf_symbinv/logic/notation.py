"""Formulas as text: prefix notation and LBT's.

Prefix notation has two forms. COMPACT, for a text without white space or double quotes: every character is one token
and symbols are single lower-case letters, `&UabXc`. SPACED, for every other text: white space separates tokens, and a
symbol is an identifier or a name in double quotes, `& U request grant_1 "next state"`. Writers choose COMPACT exactly
when every token is a single character and every symbol a lower-case letter.

LBT's notation is prefix too, with other operator names (t f i e V for 1 0 -> <-> R) and names in double quotes unless
they look like p0. It is what Spot and other tools exchange.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from hf_symbinv.logic.formula import ARITY, SYMBOL, Formula, FormulaSyntaxError, check_name

# A single upper-case letter is never a symbol: it may be an operator.
IDENTIFIER = re.compile(r"[a-z]|[A-Za-z_][A-Za-z0-9_.]+")
QUOTED = r'"(?:[^"\\]|\\.)*"'
_SPACED_TOKEN = re.compile(rf"(?P<quoted>{QUOTED})(?!\S)|\S+", re.DOTALL)
_WHITE_SPACE = re.compile(r"\s")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Token(NamedTuple):
    """A token of a text: its position, and either an operator or punctuation mark, or a symbol's name."""

    position: int
    operator: str
    name: str | None


def quote(name: str) -> str:
    """`name` in double quotes, with `"` and the backslash escaped."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_spaced(text: str) -> bool:
    """Whether prefix `text` is in the SPACED form: it holds white space or double quotes."""
    return '"' in text or _WHITE_SPACE.search(text) is not None


def unquote(text: str, source: str, position: int) -> str:
    """The name in the quoted token `text`, which stands at `position` of `source`."""
    try:
        return check_name(_ESCAPE.sub(r"\1", text[1:-1]))
    except ValueError as error:
        raise FormulaSyntaxError(str(error), source, position) from None


def read_words(text: str, base_tokens: Collection[str] = ()) -> Iterator[Token]:
    """The words of prefix `text` in either form, well-formed or not: names of symbols, and all else as operators."""
    if not is_spaced(text):
        for position, character in enumerate(text):
            is_name = "a" <= character <= "z" and character not in base_tokens
            yield Token(position, SYMBOL, character) if is_name else Token(position, character, None)
        return
    for match in _SPACED_TOKEN.finditer(text):
        word, position, name = match.group(), match.start(), None
        if match["quoted"]:
            with contextlib.suppress(FormulaSyntaxError):
                name = unquote(word, text, position)
        elif IDENTIFIER.fullmatch(word) and word not in base_tokens:
            name = word
        yield Token(position, word if name is None else SYMBOL, name)


def scan_prefix(text: str, punctuation: str = "") -> list[Token]:
    """The tokens of prefix `text` in either form; `punctuation` holds further one-character tokens."""
    tokens = list(read_words(text))
    for position, word, name in tokens:
        if name is not None or word in ARITY or word in tuple(punctuation):
            continue
        if not is_spaced(text):
            message = (
                f"{word!r} is no token; without white space every character is an operator or a lower-case letter, so "
                "separate the tokens by blanks if symbols have longer names"
            )
            raise FormulaSyntaxError(message, text, position)
        if (match := _SPACED_TOKEN.fullmatch(word)) and match["quoted"]:
            unquote(word, text, position)  # raises and says what is wrong with the name
        message = f"{word!r} is no operator and no identifier; put other names in double quotes, blanks around them"
        raise FormulaSyntaxError(message, text, position)
    return tokens


def build_prefix(tokens: list[Token], text: str, end: int) -> Formula:
    """The formula whose prefix tokens are `tokens`, which end at position `end` of `text`."""
    missing = 1
    for token in tokens:
        if not missing:
            raise FormulaSyntaxError("the formula is complete here, expected its end", text, token.position)
        missing += ARITY[token.operator] - 1
    if not tokens:
        raise FormulaSyntaxError("expected a formula, found nothing", text, end)
    if missing:
        raise FormulaSyntaxError(f"expected {missing} more {'operand' if missing == 1 else 'operands'}", text, end)
    stack: list[Formula] = []
    for _, operator, name in reversed(tokens):
        arity = ARITY[operator]
        operands = tuple(stack.pop() for _ in range(arity))
        stack.append(Formula(operator, operands, name))
    return stack[0]


def parse_prefix(text: str) -> Formula:
    """Read a formula in prefix notation, COMPACT or SPACED; FormulaSyntaxError if the text is not one formula."""
    return build_prefix(scan_prefix(text), text, len(text))


def prefix_words(formula: Formula) -> Iterator[Token]:
    """The tokens of a formula's prefix text, without positions."""
    for node in formula.preorder():
        yield Token(-1, node.operator, node.name)


def write_prefix(tokens: Iterable[Token]) -> str:
    """Prefix text of `tokens`, COMPACT where that is possible."""
    tokens = list(tokens)
    if all(len(name or operator) == 1 and (name is None or "a" <= name <= "z") for _, operator, name in tokens):
        return "".join(name or operator for _, operator, name in tokens)
    words = [
        operator if name is None else name if IDENTIFIER.fullmatch(name) else quote(name)
        for _, operator, name in tokens
    ]
    if len(words) == 1 and tokens[0].name is not None:
        return quote(tokens[0].name)
    return " ".join(words)


def to_prefix(formula: Formula) -> str:
    """Write a formula in prefix notation; `parse_prefix` reads it back unchanged.

    A formula that is only a symbol with a long name is quoted, `"request"`, because a text without white space and
    quotes is COMPACT.
    """
    return write_prefix(prefix_words(formula))


_LBT_TOKEN = re.compile(rf"\s*(?:(?P<quoted>{QUOTED})|(?P<word>[A-Za-z._][A-Za-z0-9._]*)|(?P<mark>[!&|^]))", re.DOTALL)
_LBT_OPERATOR = {"0": "f", "1": "t", "->": "i", "<->": "e", "R": "V"}
_OPERATOR_OF_LBT = {
    **{operator: operator for operator in "!&|^XFGURWM"},
    **{lbt: operator for operator, lbt in _LBT_OPERATOR.items()},
}
_LBT_NAME = re.compile(r"p[0-9]+")


def parse_lbt(text: str) -> Formula:
    """Read a formula in LBT's notation, such as `U "request" & p0 t`.

    Raises:
        FormulaSyntaxError: If the text is not one formula.
    """
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _LBT_TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            raise FormulaSyntaxError(
                f"unexpected {text[position]!r}, expected an operator, an identifier or a name in double quotes",
                text,
                position,
            )
        word, start, position = match[match.lastgroup], match.start(match.lastgroup), match.end()
        if match.lastgroup == "quoted":
            tokens.append(Token(start, SYMBOL, unquote(word, text, start)))
        elif word in _OPERATOR_OF_LBT:
            tokens.append(Token(start, _OPERATOR_OF_LBT[word], None))
        else:
            tokens.append(Token(start, SYMBOL, word))
    return build_prefix(tokens, text, len(text))


def to_lbt(formula: Formula) -> str:
    """Write a formula in LBT's notation; `parse_lbt` reads it back unchanged, and so does Spot."""
    return " ".join(
        _LBT_OPERATOR.get(operator, operator) if name is None else name if _LBT_NAME.fullmatch(name) else quote(name)
        for _, operator, name in prefix_words(formula)
    )
