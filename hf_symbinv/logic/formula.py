"""Formulas of linear temporal logic as frozen values.

A formula is a tree of `Formula` nodes. The tree is exactly what was written: operands keep their order and constants
stay where they are, because a formula must not change when its symbols are renamed. Subtrees may be shared, and every
function here takes time in the number of *distinct* nodes and none of it recurses, so depth is not limited.

Read `Formula` first; `to_base` is the rewriting into the operators that models know (0 1 & | ! X U).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

SYMBOL = "ap"
ARITY: Mapping[str, int] = {
    SYMBOL: 0, "0": 0, "1": 0,
    "!": 1, "X": 1, "F": 1, "G": 1,
    "&": 2, "|": 2, "^": 2, "->": 2, "<->": 2, "U": 2, "R": 2, "W": 2, "M": 2,
}  # fmt: skip
BASE_OPERATORS = frozenset({SYMBOL, "0", "1", "&", "|", "!", "X", "U"})
PROPOSITIONAL_OPERATORS = frozenset({SYMBOL, "0", "1", "!", "&", "|", "^", "->", "<->"})
# Our choice: 200 times the longest formula the command line promises to take; its text is some megabytes.
MAX_BASE_SIZE = 1_000_000


class FormulaSizeError(ValueError):
    """Rewriting a formula to the base operators would make it too large to write down."""


class FormulaSyntaxError(ValueError):
    """A text that is not a formula or a trace.

    Attributes:
        position: Index into the text of the first character that cannot be right; `len(text)` at its end.
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.reason = message
        super().__init__(f"position {position} of {_excerpt(text, position)}: {message}")

    def __reduce__(self) -> tuple[Callable[..., FormulaSyntaxError], tuple[str, str, int]]:
        return type(self), (self.reason, self.text, self.position)


def _excerpt(text: str, position: int, margin: int = 20) -> str:
    start, stop = max(0, position - margin), min(len(text), position + margin)
    return f"{'...' if start else ''}{text[start:stop]!r}{'...' if stop < len(text) else ''}"


def check_name(name: object) -> str:
    """Return `name` if it can name a symbol."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"symbol name {name!r}: must be a non-empty string")
    if not (name.isascii() and name.isprintable()):
        for character in name:
            if unicodedata.category(character) in ("Cc", "Cs"):
                raise ValueError(f"symbol name {name!r}: control character {character!r}; use printable characters")
    return name


class Formula:
    """A node of a formula: an operator and its operands, or a symbol and its name.

    Compares, hashes and pickles by value. Python's operators build formulas: `a & b`, `a | b`, `a ^ b`, `~a`.

    Attributes:
        operator: A key of `ARITY`; `"ap"` (atomic proposition) for a symbol.
        operands: As many formulas as the operator's arity.
        name: The symbol's name; None for every other operator.
        size: Number of nodes of the tree, which is the number of tokens of its prefix text.
    """

    __slots__ = ("_hash", "name", "operands", "operator", "size")

    operator: str
    operands: tuple[Formula, ...]
    name: str | None
    size: int
    _hash: int

    def __init__(self, operator: str, operands: tuple[Formula, ...] = (), name: str | None = None) -> None:
        """Build one node; ValueError if it is impossible, TypeError if an operand is no `Formula`."""
        if operator not in ARITY:
            raise ValueError(f"operator {operator!r}: unknown; use one of {' '.join(ARITY)}")
        operands = tuple(operands)
        if len(operands) != ARITY[operator]:
            raise ValueError(f"operator {operator!r}: takes {ARITY[operator]} operands, got {len(operands)}")
        for operand in operands:
            if not isinstance(operand, Formula):
                raise TypeError(f"operator {operator!r}: operands must be Formula, got {type(operand).__name__}")
        if operator == SYMBOL:
            check_name(name)
        elif name is not None:
            raise ValueError(f"operator {operator!r}: only a symbol has a name, got {name!r}")
        _set_operator(self, operator)
        _set_operands(self, operands)
        _set_name(self, name)
        size = 1
        for operand in operands:
            size += operand.size
        _set_size(self, size)
        _set_hash(self, hash((operator, name, operands)))

    @classmethod
    def ap(cls, name: str) -> Formula:
        """The symbol (atomic proposition) called `name`."""
        return cls(SYMBOL, (), name)

    @classmethod
    def true(cls) -> Formula:
        """The constant 1."""
        return cls("1")

    @classmethod
    def false(cls) -> Formula:
        """The constant 0."""
        return cls("0")

    def __and__(self, other: Formula) -> Formula:
        return Formula("&", (self, other)) if isinstance(other, Formula) else NotImplemented

    def __or__(self, other: Formula) -> Formula:
        return Formula("|", (self, other)) if isinstance(other, Formula) else NotImplemented

    def __xor__(self, other: Formula) -> Formula:
        return Formula("^", (self, other)) if isinstance(other, Formula) else NotImplemented

    def __invert__(self) -> Formula:
        return Formula("!", (self,))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"{attribute!r}: a Formula is frozen; build a new one")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"{attribute!r}: a Formula is frozen; build a new one")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        if self._hash != other._hash or self.size != other.size:
            return False
        stack, seen = [(self, other)], set()
        while stack:
            left, right = stack.pop()
            if left is right or (id(left), id(right)) in seen:
                continue
            if left.operator != right.operator or left.name != right.name:
                return False
            seen.add((id(left), id(right)))
            stack.extend(zip(left.operands, right.operands, strict=True))
        return True

    def __reduce__(self) -> tuple[Callable[..., Formula], tuple[list[tuple[str, tuple[int, ...], str | None]]]]:
        places: dict[int, int] = {}
        rows: list[tuple[str, tuple[int, ...], str | None]] = []
        for node in self.distinct_nodes():
            places[id(node)] = len(rows)
            rows.append((node.operator, tuple(places[id(operand)] for operand in node.operands), node.name))
        return _from_rows, (rows,)

    def __repr__(self) -> str:
        shown: list[str] = []
        for node in self.preorder():
            if len(shown) == 40:
                shown.append(f"... {self.size} nodes")
                break
            shown.append(node.operator if node.name is None else repr(node.name))
        return f"<Formula {' '.join(shown)}>"

    def preorder(self) -> Iterator[Formula]:
        """Every node of the tree, parents before children, left before right: the order of prefix text."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.operands))

    def distinct_nodes(self) -> Iterator[Formula]:
        """Every node object once, operands before the node that holds them, left before right."""
        return _postorder(self, lambda node: node.operands)

    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols, in the order of their first appearance in prefix text."""
        return tuple(dict.fromkeys(node.name for node in self.distinct_nodes() if node.name is not None))

    def rename(self, mapping: Mapping[str, str]) -> Formula:
        """Rename symbols simultaneously; names that `mapping` does not hold stay.

        Raises:
            ValueError: If two symbols of this formula would get the same name.
        """
        check_renaming(mapping, self.symbols())
        renamed: dict[int, Formula] = {}
        for node in self.distinct_nodes():
            if node.name is not None:
                renamed[id(node)] = Formula.ap(mapping.get(node.name, node.name))
            else:
                renamed[id(node)] = Formula(node.operator, tuple(renamed[id(operand)] for operand in node.operands))
        return renamed[id(self)]

    def to_base(self) -> Formula:
        """Rewrite F G R W M -> <-> ^ into the base operators 0 1 & | ! X U; the language stays the same.

        Raises:
            FormulaSizeError: If the result would have more than `MAX_BASE_SIZE` nodes.
        """
        return _rewritten(self, _REWRITE, _check_base_size(self, self))

    def without_implications(self) -> Formula:
        """Rewrite every `a -> b` into `!a | b` (`!a -> b` into `a | b`) and nothing else."""
        return _rewritten(self, {"->": _REWRITE["->"]})

    def to_core(self) -> Formula:
        """Rewrite F G W M -> <-> ^ into 0 1 & | ! X U R, parts that are used twice shared."""
        is_core = all(node.operator not in _CORE for node in self.distinct_nodes())
        return self if is_core else _rewritten(self, _CORE)


def nested_to_the_right(formula: Formula) -> Formula:
    """Turn `(a & b) & c` into `a & (b & c)` everywhere, likewise for `|`."""
    nested: dict[int, Formula] = {}
    for node in _postorder(formula, _links):
        links = [nested[id(link)] for link in _links(node)]
        if node.operator in ("&", "|"):
            chain = links.pop()
            while links:
                chain = Formula(node.operator, (links.pop(), chain))
            nested[id(node)] = chain
        else:
            nested[id(node)] = Formula(node.operator, tuple(links), node.name)
    return nested[id(formula)]


def _links(formula: Formula) -> tuple[Formula, ...]:
    """What a chain of `&` or of `|` joins, left before right; the operands of any other node."""
    if formula.operator not in ("&", "|"):
        return formula.operands
    links, stack = [], [formula]
    while stack:
        link = stack.pop()
        if link.operator == formula.operator:
            stack.extend(reversed(link.operands))
        else:
            links.append(link)
    return tuple(links)


def check_renaming(mapping: Mapping[str, str], names: Iterable[str]) -> None:
    """Refuse a mapping that would give two of `names` the same new name."""
    sources: dict[str, str] = {}
    for name in names:
        new_name = mapping.get(name, name)
        if new_name in sources:
            raise ValueError(
                f"renaming: {sources[new_name]!r} and {name!r} would both become {new_name!r}; new names must differ"
            )
        sources[new_name] = name


def _from_rows(rows: list[tuple[str, tuple[int, ...], str | None]]) -> Formula:
    nodes: list[Formula] = []
    for operator, operands, name in rows:
        nodes.append(Formula(operator, tuple(nodes[place] for place in operands), name))
    return nodes[-1]


def _postorder(root: Formula, children: Callable[[Formula], Sequence[Formula]]) -> Iterator[Formula]:
    stack, seen = [(root, False)], set()
    while stack:
        node, children_done = stack.pop()
        if children_done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))


def _rewritten(formula: Formula, rules: Mapping[str, Callable[..., Formula]], whole: Formula | None = None) -> Formula:
    """The formula with operators rewritten by rules; what is made of the `whole` must not become too large."""
    made: dict[int, Formula] = {}
    for node in formula.distinct_nodes():
        operands = tuple(made[id(operand)] for operand in node.operands)
        rule = rules.get(node.operator)
        result = Formula(node.operator, operands, node.name) if rule is None else rule(*operands)
        made[id(node)] = result if whole is None else _check_base_size(result, whole)
    return made[id(formula)]


def _check_base_size(result: Formula, formula: Formula) -> Formula:
    if result.size > MAX_BASE_SIZE:
        raise FormulaSizeError(
            f"{formula!r}: rewriting to base operators needs more than {MAX_BASE_SIZE} nodes; nested ^ and <-> double "
            "their operands, so nest fewer of them"
        )
    return result


def _negate(formula: Formula) -> Formula:
    return formula.operands[0] if formula.operator == "!" else Formula("!", (formula,))


def _until(left: Formula, right: Formula) -> Formula:
    return Formula("U", (left, right))


def _weak_until(left: Formula, right: Formula) -> Formula:
    if right.size <= left.size:
        return _negate(_until(_negate(right), _negate(left | right)))
    return _until(left, right) | _negate(_until(Formula.true(), _negate(left)))


def _strong_release(left: Formula, right: Formula) -> Formula:
    if right.size <= left.size:
        return _until(right, left & right)
    return _negate(_until(_negate(left), _negate(right))) & _until(Formula.true(), left)


# Both forms of W and M write one operand twice; the smaller one is taken, so nesting grows polynomially.
_REWRITE: Mapping[str, Callable[..., Formula]] = {
    "->": lambda left, right: _negate(left) | right,
    "^": lambda left, right: (left & _negate(right)) | (_negate(left) & right),
    "<->": lambda left, right: (left & right) | (_negate(left) & _negate(right)),
    "F": lambda operand: _until(Formula.true(), operand),
    "G": lambda operand: _negate(_until(Formula.true(), _negate(operand))),
    "R": lambda left, right: _negate(_until(_negate(left), _negate(right))),
    "W": _weak_until,
    "M": _strong_release,
}


_CORE: Mapping[str, Callable[..., Formula]] = {
    "->": lambda left, right: ~left | right,
    "^": lambda left, right: (left & ~right) | (~left & right),
    "<->": lambda left, right: (left & right) | (~left & ~right),
    "F": lambda operand: _until(Formula.true(), operand),
    "G": lambda operand: Formula("R", (Formula.false(), operand)),
    "W": lambda left, right: Formula("R", (right, left | right)),
    "M": lambda left, right: _until(right, left & right),
}


# Slot descriptors write past __setattr__, which keeps nodes frozen for everyone else.
_set_operator = Formula.__dict__["operator"].__set__
_set_operands = Formula.__dict__["operands"].__set__
_set_name = Formula.__dict__["name"].__set__
_set_size = Formula.__dict__["size"].__set__
_set_hash = Formula.__dict__["_hash"].__set__
