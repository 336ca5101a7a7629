"""Functions of Python files as text with symbols: a function's variables are symbols, all else is base text.

    functions, skipped = read_functions(source, "calls.py")
    functions[0].text          # def double(number): ...
    functions[0].symbols[0]    # where `number` stands, in the text and in the file

`ast` reads a file, `scopes.py` says which variable each name is, and `tokenize` cuts the text. Every function that is
given was written with other names for its variables and read again: nothing but these names had changed.

The text has no comments and no blank lines, each statement on one line, and four blanks for a level of indentation. A
variable whose name another one of the function has too is written with a number, `x_2`, so that the text says which is
which. Offsets in it lead back to the file by `Function.position`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, pairwise, takewhile
from operator import itemgetter
from typing import NamedTuple

from papers.code.scopes import Occurrence, Place, ScopeKind, Variable, can_stand, end_of, names_of, start_of

_Definition = ast.FunctionDef | ast.AsyncFunctionDef
_INDENTATION = "    "
# They read variables by name, those in the second row if they have no argument.
_READERS = {"locals", "eval", "exec"}
_READERS_WITHOUT_ARGUMENTS = {"vars", "dir"}
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Reason(StrEnum):
    """Why a function, or a whole file, has no symbols here; the value says it in words."""

    NO_PYTHON = "the file is not Python of this version"
    TOO_DEEP = "expressions are nested too deeply"
    READS_NAMES = "locals, eval, exec, vars, dir or f_locals may read variables by name"
    PASSED_BY_NAME = "a call may pass an argument by the name of a variable"
    PRIVATE_NAME = "a variable has a private name, which depends on the class around it"
    TYPE_PARAMETERS = "type parameters or type aliases have scopes of their own"
    MORE_CHANGES = "other names would change more than names, as in f'{x=}'"


class Skipped(NamedTuple):
    """A function that is not given, or a file.

    Attributes:
        file: As the caller calls it.
        name: Of the function, with the classes around it; empty for a file.
        line: Of the file, from 1.
        reason: Why not.
    """

    file: str
    name: str
    line: int
    reason: Reason


class Symbol(NamedTuple):
    """One occurrence of a variable.

    Attributes:
        start, end: Where it stands in `Function.text`.
        variable: Its place in `Function.variables`.
        is_use: Whether its value is read here, and nothing else.
        others: The other variables that can be named here in `Function.text`, where no two have one name, and may have
            a value, see `scopes.can_stand`; none if this is no use.
    """

    start: int
    end: int
    variable: int
    is_use: bool
    others: tuple[int, ...]


class Piece(NamedTuple):
    """A part of a function's text.

    Attributes:
        text: Never empty.
        variable: Which one it is, for a symbol; None for base text.
        line, column: Where the piece begins in the file, both from 1; columns are characters.
    """

    text: str
    variable: int | None
    line: int
    column: int


class Call(NamedTuple):
    """A call with at least two positional arguments.

    Attributes:
        callee: The last name of what is called; empty if there is none.
        arguments: (start, end) in `Function.text` of its positional arguments, up to the first `*`.
    """

    callee: str
    arguments: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Function:
    """A function, or a method, with what is nested in it.

    Attributes:
        file: As the caller calls it.
        name: With the classes around it, `Class.method`.
        text: Its source, see above.
        variables: Their names in `text`, all different, in the order of their first appearance.
        symbols: Their occurrences, in the order of the text.
        calls: In the order of the text.
        origin: (offset in `text`, line, column) of tokens and symbols, in the order of the text.
    """

    file: str
    name: str
    text: str
    variables: tuple[str, ...]
    symbols: tuple[Symbol, ...]
    calls: tuple[Call, ...]
    origin: tuple[tuple[int, int, int], ...]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column in the file, both from 1, of a character of a token in the text, or of a token's end."""
        return _position(self.text, self.origin, offset)

    def pieces(self) -> Iterator[Piece]:
        """Base text and symbols in turn; joined, they are the text."""
        place = 0
        for symbol in self.symbols:
            if place < symbol.start:
                yield Piece(self.text[place : symbol.start], None, *self.position(place))
            yield Piece(self.text[symbol.start : symbol.end], symbol.variable, *self.position(symbol.start))
            place = symbol.end
        if place < len(self.text):
            yield Piece(self.text[place:], None, *self.position(place))

    def spans(self) -> list[tuple[int, int, str]]:
        """(start, end, name) of the symbols, as `SymbolInvariantSubwordTokenizer` takes them."""
        return [(symbol.start, symbol.end, self.variables[symbol.variable]) for symbol in self.symbols]

    def canonical(self) -> tuple[str | int, ...]:
        """What the function shares with all its renamings: base text, and numbers in place of variables."""
        return tuple(piece.text if piece.variable is None else piece.variable for piece in self.pieces())


def read_functions(source: str, file: str = "") -> tuple[list[Function], list[Skipped]]:
    """The functions and methods of a file that no other function holds, and those that are left out.

    Args:
        source: The file's text.
        file: What to call it.
    """
    source = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree, tokens = _parse(source), _tokens(source)
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        return [], [Skipped(file, "", getattr(error, "lineno", None) or 1, Reason.NO_PYTHON)]
    except (RecursionError, MemoryError):  # the parser runs out of a stack of its own
        return [], [Skipped(file, "", 1, Reason.TOO_DEEP)]
    lines = source.split("\n")
    functions, skipped = list[Function](), list[Skipped]()
    for name, node in _definitions(tree):
        try:
            found: Function | Reason = _read(node, _Layout(node, tokens, lines), file, name)
        except RecursionError:
            found = Reason.TOO_DEEP
        if isinstance(found, Function):
            functions.append(found)
        else:
            skipped.append(Skipped(file, name, node.lineno, found))
    return functions, skipped


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of invalid escapes in the file, say
        return ast.parse(source)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, _Definition]]:
    """The functions that no other function holds, with their names, in the order of the file."""
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        if isinstance(node, _Definition):
            yield prefix + node.name, node
        elif not isinstance(node, ast.expr):
            inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
            waiting += [(inner, child) for child in reversed([*ast.iter_child_nodes(node)])]


# Text


class _Token(NamedTuple):
    """A token that is no layout; `depth` is its level if it begins a line of the text, else None."""

    start: Place
    end: Place
    text: str
    depth: int | None


def _tokens(source: str) -> list[_Token]:
    """The tokens of a file, columns in characters; a formatted string is one token in all versions of Python."""
    lines, found = source.split("\n"), list[_Token]()
    depth, begins, nested, opening = 0, True, 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):
            opening, nested = opening if nested else token.start, nested + 1
        elif kind.endswith("STRING_END"):
            nested -= 1
        if nested or token.type in _LAYOUT:
            depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
            begins |= token.type == tokenize.NEWLINE
            continue
        start, text = token.start, token.string
        if kind.endswith("STRING_END"):
            start, text = opening, _between(lines, opening, token.end)
        found.append(_Token(start, token.end, text, depth if begins else None))
        begins = False
    return found


def _between(lines: Sequence[str], start: Place, end: Place) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    return "\n".join([lines[start[0] - 1][start[1] :], *lines[start[0] : end[0] - 1], lines[end[0] - 1][: end[1]]])


def _position(text: str, origin: Sequence[tuple[int, int, int]], offset: int) -> tuple[int, int]:
    start, line, column = origin[bisect_right(origin, offset, key=itemgetter(0)) - 1]
    passed, newline, rest = text[start:offset].rpartition("\n")
    return (line + passed.count("\n") + 1, len(rest) + 1) if newline else (line, column + len(rest))


class _Layout:
    """The tokens of one function, and where they stand in its text; places of `ast` lead to offsets."""

    def __init__(self, node: _Definition, tokens: Sequence[_Token], lines: Sequence[str]) -> None:
        self._lines = lines
        first = bisect_right(tokens, self._characters(start_of(node)), key=lambda token: token.start) - 1
        if node.decorator_list:
            decorator = self._characters(start_of(node.decorator_list[0]))
            first = bisect_right(tokens, decorator, key=lambda token: token.start) - 1
            while tokens[first].text != "@":
                first -= 1
        last = bisect_right(tokens, self._characters(end_of(node)), key=lambda token: token.end)
        self.tokens = tokens[first:last]
        self._starts = [token.start for token in self.tokens]
        parts, self.offsets, length, before = list[str](), list[int](), 0, self.tokens[0]
        for token in self.tokens:
            gap = "" if token is before or token.start == before.end else " "
            if token.depth is not None and token is not before:
                gap = "\n" + _INDENTATION * (token.depth - (self.tokens[0].depth or 0))
            parts += [gap, token.text]
            self.offsets.append(length + len(gap))
            length, before = length + len(gap) + len(token.text), token
        self.text = "".join(parts)
        self.origin = [(at, line, column + 1) for at, (line, column) in zip(self.offsets, self._starts, strict=True)]

    def _characters(self, place: Place) -> Place:
        line, byte = place
        text = self._lines[line - 1]
        return (line, byte) if text.isascii() else (line, len(text.encode()[:byte].decode(errors="replace")))

    def index(self, place: Place) -> int:
        """The token that holds a place of the tree."""
        return bisect_right(self._starts, self._characters(place)) - 1

    def offset(self, place: Place) -> int:
        """Where a place of the tree is in the text, in or at the end of a token."""
        line, column = self._characters(place)
        at = bisect_right(self._starts, (line, column)) - 1
        if self._starts[at] == (line, column) or at < 0:
            return self.offsets[max(at, 0)]
        start_line, start = self._starts[at]
        if line == start_line:
            return self.offsets[at] + column - start
        passed = self.tokens[at].text.split("\n")[: line - start_line]
        return self.offsets[at] + sum(len(part) + 1 for part in passed) + column

    def whole(self, node: ast.expr) -> tuple[int, int] | None:
        """(start, end) of an expression in the text; None if it stands inside a string."""
        first, end = self.index(start_of(node)), self._characters(end_of(node))
        last = bisect_right(self._starts, end) - 1
        last -= self._starts[last] == end
        if self._starts[first] != self._characters(start_of(node)) or self.tokens[last].end != end:
            return None
        return self.offsets[first], self.offsets[last] + len(self.tokens[last].text)

    def start(self, occurrence: Occurrence) -> int:
        """Where a name begins in the text."""
        node = occurrence.node
        if isinstance(node, ast.Name | ast.arg):
            return self.offset(start_of(node))
        if isinstance(node, ast.MatchAs | ast.MatchStar | ast.alias):
            line, byte = end_of(node)
            return self.offset((line, byte - len(occurrence.name.encode())))
        if isinstance(node, ast.MatchMapping):
            at = self.index(end_of(node)) - 1
            while not self.tokens[at].text.isidentifier():
                at -= 1
            return self.offsets[at]
        if occurrence.item is not None:  # global, nonlocal: names and commas in turn
            return self.offsets[self.index(start_of(node)) + 1 + 2 * occurrence.item]
        if isinstance(node, ast.ExceptHandler):
            at, word = self.index(end_of(node.type)) if node.type is not None else 0, {"as"}
        else:
            at, word = self.index(start_of(node)), {"def", "class"}
        while self.tokens[at].text not in word:
            at += 1
        return self.offsets[at + 1]

    def position(self, offset: int) -> tuple[int, int]:
        """As `Function.position`, in this text."""
        return _position(self.text, self.origin, offset)


# Reading


def _read(node: _Definition, layout: _Layout, file: str, name: str) -> Function | Reason:
    """A function with its symbols, or why it has none. The tree is changed."""
    names = names_of(node)
    if (reason := _reason(node, names)) is not None:
        return reason
    placed = sorted(
        ((layout.start(one), one, one.variable) for one in names if one.variable is not None
         and not one.variable.is_fixed),
        key=itemgetter(0),
    )  # fmt: skip
    own = [one for _, one, _ in placed]
    marks = [(start, start + len(one.name)) for start, one, _ in placed]
    if any(layout.text[slice(*mark)] != one.name for mark, one in zip(marks, own, strict=True)):
        return Reason.MORE_CHANGES
    if any(before[1] > after[0] for before, after in pairwise(marks)):
        return Reason.MORE_CHANGES
    order: dict[Variable, int] = {}
    which = [order.setdefault(variable, len(order)) for *_, variable in placed]
    variables = _different([variable.name for variable in order], layout.text)
    text, places = write(layout.text, marks, [variables[number] for number in which])
    symbols = tuple(
        Symbol(*place, number, one.is_use, _others(one, order))
        for place, number, one in zip(places, which, own, strict=True)
    )
    ends = [end for _, end in marks]

    def moved(offset: int) -> int:
        last = bisect_right(ends, offset) - 1
        return offset + (places[last][1] - ends[last] if last >= 0 else 0)

    calls = tuple(sorted(_calls(node, layout, moved), key=lambda call: call.arguments))
    origin = {moved(offset): layout.position(offset) for offset in {*layout.offsets, *chain.from_iterable(marks)}}
    new = [f"{_unused(layout.text)}{number}" for number in which]
    if not _reads_as(write(layout.text, marks, new)[0], node, own, new):
        return Reason.MORE_CHANGES
    return Function(
        file, name, text, tuple(variables), symbols, calls, tuple((at, *origin[at]) for at in sorted(origin))
    )


def _reason(node: _Definition, names: Sequence[Occurrence]) -> Reason | None:
    """Why a function's variables may not get other names, as far as its tree says so."""
    free = {id(one.node) for one in names if one.variable is None}
    keywords, passed = set[str | None](), set[str | None]()
    for inner in ast.walk(node):
        if getattr(inner, "type_params", None) or type(inner).__name__ == "TypeAlias":
            return Reason.TYPE_PARAMETERS
        if isinstance(inner, ast.Attribute) and inner.attr == "f_locals":
            return Reason.READS_NAMES
        if isinstance(inner, ast.Name) and inner.id in _READERS and id(inner) in free:
            return Reason.READS_NAMES
        if isinstance(inner, ast.Call):
            called = inner.func
            is_bare = not inner.args and not inner.keywords and id(called) in free
            if is_bare and _callee(called) in _READERS_WITHOUT_ARGUMENTS:
                return Reason.READS_NAMES
            given = {keyword.arg for keyword in inner.keywords}
            keywords |= given
            passed |= given if _callee(called) == node.name else set()
    for one in names:
        variable = one.variable
        if variable is None or variable.is_fixed:
            continue
        if variable.name.startswith("__") and not variable.name.endswith("__"):
            return Reason.PRIVATE_NAME
        is_own = variable.scope.parent is not None and variable.scope.parent.kind is ScopeKind.OUTSIDE
        if variable.is_parameter and variable.name in (passed if is_own else keywords):
            return Reason.PASSED_BY_NAME
    return None


def _callee(called: ast.expr) -> str:
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def _different(names: Sequence[str], text: str) -> list[str]:
    """The names; one that was there before gets a number, so that the text has it nowhere and it is not private."""
    taken, found = set(re.findall(r"\w+", text)), list[str]()
    for name in names:
        stem = ("_" if name.startswith("_") and name.strip("_") else "") + name.strip("_")
        number, new = 2, name
        while new in found or (new != name and new in taken):
            number, new = number + 1, f"{stem}_{number}"
        found.append(new)
    return found


def _unused(text: str) -> str:
    """A beginning of names that the text has nowhere."""
    beginning = "v_"
    while beginning in text:
        beginning += "_"
    return beginning


def write(text: str, marks: Sequence[tuple[int, int]], names: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """A text with names in the places that are marked, and where they stand then.

    Args:
        text: Any.
        marks: (start, end) of the places, in order.
        names: One for each.
    """
    parts, places, length, last = list[str](), list[tuple[int, int]](), 0, 0
    for (start, end), name in zip(marks, names, strict=True):
        parts += [text[last:start], name]
        length, last = length + start - last + len(name), end
        places.append((length - len(name), length))
    return "".join([*parts, text[last:]]), places


def _others(one: Occurrence, order: Mapping[Variable, int]) -> tuple[int, ...]:
    if not one.is_use:
        return ()
    at = start_of(one.node)
    found = (other for other in one.scope.visible() if other is not one.variable and can_stand(other, at))
    return tuple(sorted(order[other] for other in found if other in order))


def _calls(node: _Definition, layout: _Layout, moved: Callable[[int], int]) -> Iterator[Call]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            plain = takewhile(lambda argument: not isinstance(argument, ast.Starred), call.args)
            places = [layout.whole(argument) for argument in plain]
            arguments = tuple((moved(start), moved(end)) for start, end in filter(None, places))
            if len(arguments) == len(places) > 1:
                yield Call(_callee(call.func), arguments)


def _reads_as(text: str, node: _Definition, names: Sequence[Occurrence], new: Sequence[str]) -> bool:
    """Whether a text is the function with other names, which the tree gets."""
    for one, name in zip(names, new, strict=True):
        if one.item is None:
            setattr(one.node, one.field, name)
        else:
            getattr(one.node, one.field)[one.item] = name
    try:
        return ast.dump(_parse(text).body[0]) == ast.dump(node)
    except SyntaxError:
        return False
