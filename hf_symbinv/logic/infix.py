"""Infix notation: Spot's syntax for linear temporal logic, read and written without changing the tree.

Spot's own parser sorts operands by name, drops repeated ones and folds constants (`b | a | a & 1` comes back as `a |
b`), so two formulas that differ only by names could come back as different trees. Here the tree is the text's, and
any text gives an answer at once (Spot 2.13 takes a minute to report the error in `G []`). Read are Spot's operators
in all their spellings, bounded ones too, identifiers and names in double quotes; not its comments, nor what goes beyond
plain formulas: values (`a=0`) and the regular expressions of PSL.

Bounded operators are written out as Spot does it: `X[3] a` is `X X X a`, `F[2:4] a` is `X X (a | X (a | X a))`,
`G[1:] a` is `X G a`, and `..` may stand for `:`. The next step of `X[!] a` and `F[0:2!] a` must exist, which differs
from `X` in finite traces alone: it is read as `! X ! a`.

Precedence, from loose to tight: `->` and `<->` (to the right), `|`, `xor`, `&` (to the left), `U R W M` (to the right),
then `! X F G`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hf_symbinv.logic.formula import ARITY, MAX_BASE_SIZE, SYMBOL, Formula, FormulaSyntaxError
from hf_symbinv.logic.notation import QUOTED, quote, unquote

_WORD = "[A-Za-z0-9_.]"
# F, G and X start a name only before a digit: `Fa` is F applied to a.
_NAME = f"[A-EH-WYZa-z_.]{_WORD}*|[FGX][0-9]{_WORD}*"
_OPERAND = re.compile(
    rf"""\s*(?:
    (?P<true>1|[tT](?i:rue)(?!{_WORD}))
  | (?P<false>0|f(?i:alse)(?!{_WORD})|F(?i:alse))
  | (?P<bounded>X\s*\[\s*(?:[0-9]+\s*!?|!)\s*\]|[FG]\s*\[\s*[0-9]+\s*(?:(?::|\.\.)\s*(?:[0-9]+|\$)?)\s*!?\s*\])
  | (?P<not>[!~¬])
  | (?P<finally>F(?![0-9])|<>|[◇⋄♢])
  | (?P<globally>G(?![0-9])|\[\]|[□⬜◻])
  | (?P<next>X(?![0-9])|\(\)|[○◯])
  | (?P<open>\()
  | (?P<quoted>{QUOTED})
  | (?P<name>{_NAME})
  )""",
    re.VERBOSE | re.DOTALL,
)
_OPERATOR = re.compile(
    rf"""\s*(?:
    (?P<equivalent><-->|<->|<=>|[↔⇔])
  | (?P<implies>-->|->|=>|[→⟶⇒⟹])
  | (?P<or>\|\|?|\+|\\/|[∨∪])
  | (?P<xor>\^|xor(?!{_WORD})|⊕)
  | (?P<and>&&?|/\\|\*|[∧∩])
  | (?P<temporal>[URVWM])
  | (?P<close>\))
  )""",
    re.VERBOSE,
)
_CAPITAL = "[A-EH-LN-QSTYZ]"  # that is no operator
# What looks like one name and is an operator before another, as in Spot: `FULL` is F ULL. What people mean as
# operators, such as GFa, Fp0 and GFready, is left out. A pair such as `GO` may be either.
_JOINED = re.compile(
    rf"{QUOTED}|(?<![\w.])(?!F(?i:alse)(?!{_WORD}))(?:(?P<pair>[FGX]{_CAPITAL})(?!{_WORD})"
    rf"|(?P<word>(?:[FGX][a-z_]|[FGX]+[A-EH-WYZ])[A-Za-z_]{_WORD}*))",
    re.DOTALL,
)
# Where an operator stands apart from a name, or names are words of large letters, a pair is a name too, unless there
# are names of one large letter.
_APART = re.compile(rf"(?<![\w.])(?:[FGX]\s+{_WORD}|(?:{_CAPITAL}|[MRUVW][A-Z])[A-Z])")
_LARGE_LETTER = re.compile(rf"(?<![\w.]){_CAPITAL}(?!{_WORD})")
_OPERATOR_OF_GROUP = {
    "true": "1",
    "false": "0",
    "not": "!",
    "finally": "F",
    "globally": "G",
    "next": "X",
    "equivalent": "<->",
    "implies": "->",
    "or": "|",
    "xor": "^",
    "and": "&",
}
_PRECEDENCE = {
    "->": 1,
    "<->": 1,
    "|": 2,
    "^": 3,
    "&": 4,
    "U": 5,
    "R": 5,
    "W": 5,
    "M": 5,
    "X": 6,
    "F": 6,
    "G": 6,
    "!": 6,
}
_ASSOCIATIVE = frozenset("|^&")
_OPERATOR_WORDS = frozenset({"U", "R", "V", "W", "M", "xor"})
# Words that Spot reads as something else than a name; it also keeps first_match and S for its extensions.
_RESERVED = re.compile(r"[URVWMS]|xor|first_match|(?i:true|false)|[FGX].*", re.DOTALL)
# Operators of other languages that are words, and how they are written here.
_WORDS = {
    "always": "G", "and": "&", "eventually": "F", "finally": "F", "globally": "G", "iff": "<->", "implies": "->",
    "never": "G !", "next": "X", "nexttime": "X", "not": "!", "or": "|", "release": "R", "releases": "R",
    "s_eventually": "F", "s_next": "X[!]", "s_nexttime": "X[!]", "s_until": "U", "unless": "W", "until": "U",
}  # fmt: skip
_BARE_NAME = re.compile(_NAME)
_INDEX = re.compile(rf"\[[^\[\]]*\](?:{_WORD}|\[[^\[\]]*\])*")


class _Bounded(NamedTuple):
    """`X[first]`, `F[first:last]` or `G[first:last]`; without `last` there is no end."""

    operator: str
    first: int
    last: int | None
    strong: bool

    def written_out(self, operand: Formula) -> Formula:
        if self.operator == "X" or self.last is None:
            inner = operand if self.operator == "X" else Formula(self.operator, (operand,))
        else:
            inner = operand
            for _ in range(self.last - self.first):
                inner = Formula("|" if self.operator == "F" else "&", (operand, self._next(inner)))
        for _ in range(self.first):
            inner = self._next(inner)
        return inner

    def size(self, operand: Formula) -> int:
        """Nodes of the formula that is written out, or a little more."""
        steps = max(self.first, self.last or 0)
        return 3 * steps + operand.size * (1 if self.operator == "X" else (self.last or self.first) - self.first + 1)

    def _next(self, operand: Formula) -> Formula:
        return ~Formula("X", (~operand,)) if self.strong else Formula("X", (operand,))


_BOUND = re.compile(
    r"(?P<operator>[XFG])\s*\[\s*(?P<first>[0-9]*)\s*(?P<range>:|\.\.)?\s*(?P<last>[0-9]*)\s*\$?\s*(?P<strong>!?)"
)


def _read_bounded(token: str, text: str, position: int) -> _Bounded:
    match = _BOUND.match(token)
    if match is None:
        raise FormulaSyntaxError(f"{token!r} has no bounds", text, position)
    for bound in (match["first"], match["last"]):
        if len(bound) > 7:
            raise FormulaSyntaxError(f"the bound {bound} is too large; use one of 7 digits at most", text, position)
    first = int(match["first"] or 1)  # X[!] is X[1!]
    last = int(match["last"]) if match["last"] else None
    if last is not None and last < first:
        raise FormulaSyntaxError(f"the first bound, {first}, is above the last, {last}; swap them", text, position)
    return _Bounded(match["operator"], first, last, bool(match["strong"]))


def parse_infix(text: str) -> Formula:
    """Read a formula in infix notation, such as `G(request -> F grant)`.

    Raises:
        FormulaSyntaxError: If the text is not one formula.
    """
    operands: list[Formula] = []
    operators: list[tuple[str | _Bounded, int]] = []  # operator or "(", with its position
    position, expecting_operand, group = 0, True, ""
    end = len(text.rstrip())
    while position < end:
        match = (_OPERAND if expecting_operand else _OPERATOR).match(text, position)
        if match is None or match.lastgroup is None:
            opened = next((place for operator, place in reversed(operators) if operator == "("), end)
            raise _unexpected(text, position, expecting_operand, opened)
        previous_group, group, token = group, match.lastgroup, match[match.lastgroup]
        start, position = match.start(group), match.end()
        if group == "open":
            operators.append(("(", start))
        elif group == "close":
            _reduce(operands, operators, 0, text)
            if not operators:
                raise FormulaSyntaxError("')' closes nothing", text, start)
            operators.pop()
        elif group == "bounded":
            operators.append((_read_bounded(token, text, start), start))
        elif group == "name" or group == "quoted":
            if token in _OPERATOR_WORDS:
                hint = _named(text[:position])
                raise FormulaSyntaxError(f"expected a formula before the operator {token!r}{hint}", text, start)
            operands.append(Formula.ap(token if group == "name" else unquote(token, text, start)))
            expecting_operand = False
        else:
            if group == "temporal" and previous_group in ("true", "false") and _BARE_NAME.match(text, position):
                raise _unexpected(text, start, expecting_operand)  # as in Spot, `a Ub` is `a U b`, but `1 Ub` is not
            operator = {"V": "R"}.get(token, token) if group == "temporal" else _OPERATOR_OF_GROUP[group]
            arity = ARITY[operator]
            if arity == 0:
                operands.append(Formula(operator))
                expecting_operand = False
            else:
                if arity == 2:
                    _reduce(operands, operators, _PRECEDENCE[operator] + (operator not in _ASSOCIATIVE), text)
                    expecting_operand = True
                operators.append((operator, start))
    if expecting_operand:
        raise FormulaSyntaxError("expected a formula, the text ends here", text, len(text))
    _reduce(operands, operators, 0, text)
    if operators:
        raise FormulaSyntaxError(f"expected ')' for the '(' at position {operators[-1][1]}", text, len(text))
    return operands[0]


def _reduce(operands: list[Formula], operators: list[tuple[str | _Bounded, int]], precedence: int, text: str) -> None:
    """Apply the operators on top of the stack, down to a parenthesis, that bind at least as tightly as `precedence`."""
    while operators and operators[-1][0] != "(":
        operator, position = operators[-1]
        if isinstance(operator, _Bounded):  # binds as tightly as every operator with one operand
            if operator.size(operands[-1]) > MAX_BASE_SIZE:
                message = f"written out, this operator takes more than {MAX_BASE_SIZE:,} nodes; use smaller bounds"
                raise FormulaSyntaxError(message, text, position)
            operands[-1] = operator.written_out(operands[-1])
        elif _PRECEDENCE[operator] >= precedence:
            arity = ARITY[operator]
            operands[-arity:] = [Formula(operator, tuple(operands[-arity:]))]
        else:
            return
        operators.pop()


def _unexpected(text: str, position: int, expecting_operand: bool, opened: int | None = None) -> FormulaSyntaxError:
    position += len(text[position:]) - len(text[position:].lstrip())
    character = text[position]
    if character == '"' and expecting_operand:
        return FormulaSyntaxError("this quoted name is not closed by another double quote", text, position)
    name, index = re.search(rf"{_WORD}+$", text[:position]), _INDEX.match(text, position)
    before = re.search(rf"{_WORD}+(?=\s*$)", text[:position])
    around = [re.match(rf"{_WORD}+", text[position:])]
    if character == "(" or text[:position].endswith((" ", "\t", "\n")):  # not within a name such as next-state
        around.append(before)
    word = next((found[0] for found in around if found and found[0].lower() in _WORDS), "")
    if word and not expecting_operand:
        hint = f"; `{word}` is {_WORDS[word.lower()]}"
    elif name and index and not expecting_operand:
        hint = f"; a name with brackets stands in double quotes: {quote(name[0] + index[0])}"
    elif character in "[<>=" and expecting_operand and re.search(r"[XFG]\s*$", text[:position]):
        hint = "; bounds are written X[3], F[2:5], G[0..3], F[2:]"
    elif character == "[" and expecting_operand and before and before[0] in _OPERATOR_WORDS:
        hint = f"; {before[0]} takes no bounds, only X, F and G do"
    elif character == "#":
        hint = "; `##2` of SystemVerilog is X[2], and a comment is a # with a blank on either side"
    elif position and text[position - 1 : position + 2] in ("|->", "|=>"):
        hint = "; `|->` of SystemVerilog is ->, and `|=>` is -> X"
    elif character == "=" and (value := re.match(r"==?\s*([01])(?![\w.])", text[position:])) and before:
        hint = f"; write {'!' * (value[1] == '0')}{before[0]}, without a value"
    elif character == "$":
        hint = "; functions of SystemVerilog are not read: `$rose(a)` a step later is !a & X a"
    elif before and before[0] in ("assert", "assume", "cover", "property"):
        hint = "; write the formula alone, without assert property (@(posedge clk) ...)"
    elif character == "=":
        hint = "; a proposition is true or false, and is not compared"
    elif character in "[{":
        hint = "; regular expressions are not read"
    elif character.isalnum() and not character.isascii():
        hint = "; a name with other letters than a to z stands in double quotes"
    elif not expecting_operand and re.search(r"(?<![\w.])[01]$", text[:position]) and re.match(_WORD, character):
        hint = "; a name that begins with a digit stands in double quotes"
    elif not expecting_operand and re.match(r"[A-LN-QSTX-Za-z_]", character):  # no operator of two operands
        hint = "; operators are ! & | xor -> <-> X F G U R W M"
    elif character == "(" and before and before[0] in ("x", "f", "g"):
        hint = f"; operators are large letters, {before[0].upper()}"
    elif expecting_operand or character == '"' or re.match(_WORD, character):
        hint = _named(text[:position]) if expecting_operand else ""
    else:
        hint = "; put names that are not identifiers in double quotes"
    if opened is not None and "\n" in text[opened:position]:
        hint += f"; the '(' at position {opened} is not closed"
    expected = "a formula" if expecting_operand else "an operator, ')' or the end"
    return FormulaSyntaxError(f"unexpected {character!r}, expected {expected}{hint}", text, position)


def _named(before: str) -> str:
    """What to say where a formula is missing after an operator that may be meant as a name."""
    word = re.search(rf"(?<!{_WORD})[FGXURVWM]\s*$", before)
    return f'; a proposition of this name stands in double quotes: "{word[0].strip()}"' if word else ""


def told_of_names(text: str) -> list[str]:
    """A sentence for each word that looks like a name and is read as an operator before one, such as `FULL`.

    Args:
        text: A formula in infix notation.
    """
    bare = re.sub(QUOTED, "", text, flags=re.DOTALL)
    kinds = ("word", "pair") if _APART.search(bare) and not _LARGE_LETTER.search(bare) else ("word",)
    words = dict.fromkeys(match[kind] for match in _JOINED.finditer(text) for kind in kinds if match[kind])
    return [
        f'{word} is read as {word[0]} before {word[1:]}, as in Spot; a name stands in double quotes: "{word}"'
        for word in words
    ]


def quotes_for(operator: str) -> str:
    """What to say of an operator that has no place somewhere, and may be the first letter of a name."""
    return f"; a name that begins with {operator} stands in double quotes" if operator in "FGX" else ""


def to_infix(formula: Formula) -> str:
    """Write a formula in infix notation with its own names; `parse_infix` reads it back unchanged, and so does Spot.

    Names that are not identifiers, or that Spot would read as an operator, come in double quotes.
    """
    parts: list[str] = []
    stack: list[Formula | str] = [formula]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.operator == SYMBOL:
            parts.append(infix_name(node.name or ""))
        elif not node.operands:
            parts.append(node.operator)
        elif len(node.operands) == 1:
            (operand,) = node.operands
            if len(operand.operands) == 2:
                stack += [")", operand, f"{node.operator}("]
            else:
                stack += [operand, "!" if node.operator == "!" else f"{node.operator} "]
        else:
            left, right = node.operands
            chained = left.operator == node.operator and node.operator in _ASSOCIATIVE
            stack += [")", right, "("] if len(right.operands) == 2 else [right]
            stack.append(f" {'xor' if node.operator == '^' else node.operator} ")
            stack += [")", left, "("] if len(left.operands) == 2 and not chained else [left]
    return "".join(parts)


def infix_name(name: str) -> str:
    """A symbol's name as infix notation writes it: in double quotes unless Spot reads it as a name without them."""
    return name if _BARE_NAME.fullmatch(name) and not _RESERVED.fullmatch(name) else quote(name)
