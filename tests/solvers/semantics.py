"""A second opinion on verdicts, without Spot: the semantics of LTL on lasso words, slow and obvious, for small cases.

`holds` is the definition itself, on one word. `find_violation` answers the question that `judge` puts to Spot: does
every word that a trace denotes satisfy a formula? If not it returns a word for which `holds` is false, so that its
answer can be checked by hand; it takes time exponential in the number of symbols, X and U of the formula.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import NamedTuple

from hf_symbinv.logic import Formula, Trace

Valuation = Mapping[str, bool]


class Lasso(NamedTuple):
    """One word: valuations of a prefix, then valuations that repeat for ever."""

    prefix: tuple[Valuation, ...]
    cycle: tuple[Valuation, ...]


def holds(formula: Formula, word: Lasso) -> bool:
    """Whether the word satisfies the formula.

    The value of every subformula at every position is computed from the inside out. The position after the last is the
    first of the cycle. An until is the least solution of `u = right | (left & X u)`: it starts false everywhere and
    becomes true where the equation demands it, until nothing changes.

    Raises:
        KeyError: If a valuation lacks a symbol of the formula.
    """
    return _holds(_subformulas(formula), word)


def _holds(nodes: list[_Subformula], word: Lasso) -> bool:
    letters = [*word.prefix, *word.cycle]
    after = [*range(1, len(letters)), len(word.prefix)]
    values: list[list[bool]] = []
    for node in nodes:
        operands = [values[place] for place in node.operands]
        if node.operator == "X":
            value = [operands[0][position] for position in after]
        elif node.operator == "U":
            value = [False] * len(letters)
            for _ in letters:
                value = [
                    right or (left and value[position]) for left, right, position in zip(*operands, after, strict=True)
                ]
        else:
            value = [
                _propositional(node, letter, [operand[position] for operand in operands])
                for position, letter in enumerate(letters)
            ]
        values.append(value)
    return values[-1][0]


class _Subformula(NamedTuple):
    operator: str
    operands: tuple[int, ...]  # places in the list of all subformulas
    name: str


def _subformulas(formula: Formula) -> list[_Subformula]:
    """All different subformulas in the base operators, operands before what is built of them, the formula last."""
    places: dict[Formula, int] = {}
    found: list[_Subformula] = []

    def visit(node: Formula) -> int:
        operands = tuple([visit(operand) for operand in node.operands])
        if node not in places:
            places[node] = len(found)
            found.append(_Subformula(node.operator, operands, node.name or ""))
        return places[node]

    visit(formula.to_base())
    return found


def _propositional(node: _Subformula, letter: Valuation, operands: list[bool]) -> bool:
    match node.operator:
        case "ap":
            return letter[node.name]
        case "0" | "1":
            return node.operator == "1"
        case "!":
            return not operands[0]
        case "&":
            return operands[0] and operands[1]
        case "|":
            return operands[0] or operands[1]
    raise ValueError(f"operator {node.operator!r}: not one of 0 1 ! & | on a single valuation")


class _Move(NamedTuple):
    """A way to read one letter.

    Promises are the values of some subformulas at one position. They are made before a letter is read, and kept by
    the letter and the promises for the next position.
    """

    promises: tuple[bool, ...]
    letter: Valuation
    next_promises: tuple[bool, ...]
    root: bool  # value of the whole formula
    fulfils: frozenset[int]  # the untils that are false here, or whose right side is true: nothing left to wait for


def _moves(nodes: list[_Subformula], untils: list[int], letter: Valuation) -> Iterator[_Move]:
    """The letter with all promises for the next position, and the promises that they keep.

    The value of `X f` is what is promised for f, that of `l U r` is `r | (l & promise for l U r)`.
    """
    promised = list(dict.fromkeys(untils + [node.operands[0] for node in nodes if node.operator == "X"]))
    for next_promises in product((False, True), repeat=len(promised)):
        promise = dict(zip(promised, next_promises, strict=True))
        values: list[bool] = []
        for place, node in enumerate(nodes):
            if node.operator == "X":
                values.append(promise[node.operands[0]])
            elif node.operator == "U":
                left, right = node.operands
                values.append(values[right] or (values[left] and promise[place]))
            else:
                values.append(_propositional(node, letter, [values[operand] for operand in node.operands]))
        fulfilled = frozenset(until for until in untils if values[nodes[until].operands[1]] or not values[until])
        yield _Move(tuple(values[place] for place in promised), letter, next_promises, values[-1], fulfilled)


Node = tuple[int, tuple[bool, ...]]  # a position of the trace, and what has been promised for it
Edge = tuple[_Move, Node]


def find_violation(formula: Formula, trace: Trace) -> Lasso | None:
    """A word that the trace denotes and that does not satisfy the formula, or None if there is none.

    The moves that the trace allows are the edges of a graph. A violation is a path from a first move in which the
    formula is false that fulfils every until again and again: without that an until could be true for ever on credit.

    Returns:
        The word, which may be longer than the trace: free symbols may differ from one turn of the cycle to the next.
    """
    nodes = _subformulas(formula)
    untils = [place for place, node in enumerate(nodes) if node.operator == "U"]
    symbols = tuple(dict.fromkeys((*formula.symbols(), *trace.symbols())))
    steps = [_subformulas(step) for step in (*trace.prefix, *trace.cycle)]
    edges: dict[Node, list[Edge]] = defaultdict(list)
    for values in product((False, True), repeat=len(symbols)):
        letter = dict(zip(symbols, values, strict=True))
        moves = list(_moves(nodes, untils, letter))
        for position, step in enumerate(steps):
            if _holds(step, Lasso((), (letter,))):
                after = position + 1 if position + 1 < len(steps) else len(trace.prefix)
                for move in moves:
                    edges[position, move.promises].append((move, (after, move.next_promises)))

    forever = _nodes_that_fulfil_forever(edges, untils)
    for first in [edge for (position, _), out in edges.items() if position == 0 for edge in out]:
        start = None if first[0].root else _path(edges, first, lambda edge: edge[1] in forever)
        if start is not None:
            rounds = _rounds(edges, forever, untils, start[-1][1])
            return Lasso(_letters(start) + rounds.prefix, rounds.cycle)
    return None


def _nodes_that_fulfil_forever(edges: Mapping[Node, list[Edge]], untils: list[int]) -> set[Node]:
    """Nodes from which some endless path fulfils every until infinitely often (Emerson and Lei's fixpoint)."""
    alive = set(edges)
    while True:
        before = len(alive)
        for until in [*untils, None]:  # None: there must be a next move at all
            good: set[Node] = set()
            while True:
                more = {
                    node
                    for node in alive - good
                    for move, target in edges[node]
                    if target in good or (target in alive and (until is None or until in move.fulfils))
                }
                if not more:
                    break
                good |= more
            alive = good
        if len(alive) == before:
            return alive


def _path(edges: Mapping[Node, list[Edge]], first: Edge, goal: Callable[[Edge], bool]) -> list[Edge] | None:
    """A shortest path that starts with the edge `first` and ends with a goal."""
    queue, reached = deque([[first]]), {first[1]}
    while queue:
        path = queue.popleft()
        if goal(path[-1]):
            return path
        for edge in edges.get(path[-1][1], []):
            if goal(edge) or edge[1] not in reached:
                reached.add(edge[1])
                queue.append([*path, edge])
    return None


def _rounds(edges: Mapping[Node, list[Edge]], forever: set[Node], untils: list[int], node: Node) -> Lasso:
    """An endless path from `node`: rounds that fulfil every until in turn, repeated from the first node met again."""
    inside = {source: [edge for edge in out if edge[1] in forever] for source, out in edges.items()}
    goals: list[Callable[[Edge], bool]] = [partial(_fulfils, until) for until in untils] or [_always]
    met: dict[Node, int] = {}
    path: list[Edge] = []
    while node not in met:
        met[node] = len(path)
        for goal in goals:
            legs = (_path(inside, edge, goal) for edge in inside[node])
            found: list[list[Edge]] = [leg for leg in legs if leg is not None]
            shortest = min(found, key=len)
            path += shortest
            node = path[-1][1]
    return Lasso(_letters(path[: met[node]]), _letters(path[met[node] :]))


def _fulfils(until: int, edge: Edge) -> bool:
    return until in edge[0].fulfils


def _always(_: Edge) -> bool:
    return True


def _letters(path: Iterable[Edge]) -> tuple[Valuation, ...]:
    return tuple(move.letter for move, _ in path)
