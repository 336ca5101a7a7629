"""Which variable each name of a function is: Python's rules of scopes, over a tree of `ast`.

`symtable` knows them too, but from 3.12 on it no longer tells a comprehension's variables from those around it, and it
has no places. So the rules stand here, and a test compares them with `symtable` over a whole library.

Read `Scope.find`, which is the rule, then `_Names`, which walks a function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

# Line, from 1, and byte in the line, from 0, as `ast` counts them.
Place = tuple[int, int]
_END: Place = (1 << 60, 0)
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class ScopeKind(Enum):
    """What makes a scope; `OUTSIDE` is all that surrounds the function."""

    OUTSIDE = "outside"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"
    CLASS = "class"


@dataclass(eq=False)
class Variable:
    """A variable of a scope.

    Attributes:
        name: As it is written.
        scope: Whose it is.
        is_fixed: Whether its name has a meaning elsewhere: it is an attribute of a class, or what an import calls so.
        is_deleted: Whether a `del` names it.
        is_parameter: Whether it is a parameter.
        spans: From where to where in the file it has a value, at the most.
    """

    name: str
    scope: Scope
    is_fixed: bool = False
    is_deleted: bool = False
    is_parameter: bool = False
    spans: list[tuple[Place, Place]] = field(default_factory=list)


@dataclass(eq=False)
class Scope:
    """A part of a function that has variables of its own.

    Attributes:
        kind: What makes it.
        parent: The scope around it; None for the outside.
        variables: Name → variable.
        elsewhere: Name → whether `nonlocal` declares it; else `global` does.
        first_target: Where the first variable of a comprehension stands.
    """

    kind: ScopeKind
    parent: Scope | None
    variables: dict[str, Variable] = field(default_factory=dict)
    elsewhere: dict[str, bool] = field(default_factory=dict)
    first_target: Place = (0, 0)

    def find(self, name: str) -> Variable | None:
        """The variable that a name means here; None if it is of the module, of a class around, or built in."""
        if name in self.elsewhere:
            if not self.elsewhere[name]:
                return None
        elif name in self.variables:
            return self.variables[name]
        scope = self.parent
        while scope is not None and scope.kind is ScopeKind.CLASS:
            scope = scope.parent
        return None if scope is None else scope.find(name)

    def visible(self) -> Iterator[Variable]:
        """The variables that can be named here, where no two have one name."""
        scope: Scope | None = self
        while scope is not None:
            if scope is self or scope.kind is not ScopeKind.CLASS:
                yield from scope.variables.values()
            scope = scope.parent


class Occurrence(NamedTuple):
    """A name in a function, and the field of the tree that has it.

    Attributes:
        node: Of the tree.
        field: Of the node.
        item: Which one of the field, if that is a list; else None.
        variable: Which one it is; None for a name that is not of the function.
        scope: Where it stands.
        is_use: Whether its value is read here, and nothing else.
    """

    node: ast.AST
    field: str
    item: int | None
    variable: Variable | None
    scope: Scope
    is_use: bool

    @property
    def name(self) -> str:
        """As it is written."""
        value = getattr(self.node, self.field)
        return value if self.item is None else value[self.item]


def names_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Occurrence]:
    """All names of a function that stand for variables, in no particular order; the function's own is not among them.

    Args:
        function: Of a module or a class. Decorators, defaults and annotations of its parameters belong to it, and are
            evaluated outside.
    """
    walk = _Names(Scope(ScopeKind.OUTSIDE, None))
    walk.read_function(function)
    return [
        Occurrence(node, place, item, scope.find(name), scope, is_use)
        for node, place, item, name, scope, is_use in walk.found
    ]


def can_stand(variable: Variable, at: Place) -> bool:
    """Whether a variable may have a value at a place where it can be named.

    It is a parameter, or something before the place in the file gives it a value; whether the program passes there is
    not asked.
    """
    if variable.is_deleted:
        return False
    scope = variable.scope
    if scope.kind is ScopeKind.COMPREHENSION and at < scope.first_target:
        return True  # what a comprehension yields stands before its loops
    return any(start <= at < end for start, end in variable.spans)


def start_of(node: ast.AST) -> Place:
    """Where a node begins."""
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def end_of(node: ast.AST) -> Place:
    """Where a node ends."""
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


class _Names(ast.NodeVisitor):
    """Walks a tree and notes names with their scopes. They get their variables when all of it was walked."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.found: list[tuple[ast.AST, str, int | None, str, Scope, bool]] = []
        self._since: Place | None = None

    # Scopes

    @contextmanager
    def _inside(self, kind: ScopeKind) -> Iterator[Scope]:
        outer, since = self.scope, self._since
        self.scope, self._since = Scope(kind, outer), None
        yield self.scope
        self.scope, self._since = outer, since

    def read_function(self, node: _FunctionNode) -> None:
        """Walks a function with what stands around its body."""
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        if not isinstance(node, ast.Lambda):
            self._visit_all(node.decorator_list)
            self._visit_all([one.annotation for one in parameters])
            self._visit_all([node.returns])
        self._visit_all([*arguments.defaults, *arguments.kw_defaults])
        with self._inside(ScopeKind.FUNCTION):
            for one in parameters:
                self._bind(one, "arg", one.arg, start_of(one)).is_parameter = True
            self._visit_all([node.body] if isinstance(node, ast.Lambda) else node.body)

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node, "name", node.name, start_of(node.body[0]))
        self.read_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.read_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node, "name", node.name, end_of(node))
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        with self._inside(ScopeKind.CLASS):
            self._visit_all(node.body)

    def _read_comprehension(self, node: _Comprehension, results: Sequence[ast.expr]) -> None:
        first = node.generators[0]
        self.visit(first.iter)
        with self._inside(ScopeKind.COMPREHENSION) as scope:
            scope.first_target = start_of(first.target)
            for loop in node.generators:
                if loop is not first:
                    self.visit(loop.iter)
                with self._bound_from(end_of(loop.iter)):
                    self.visit(loop.target)
                self._visit_all(loop.ifs)
            self._visit_all(results)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._read_comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.visit_ListComp(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._read_comprehension(node, [node.key, node.value])

    # Names

    def _note(self, node: ast.AST, place: str, name: str, is_use: bool = False, item: int | None = None) -> None:
        self.found.append((node, place, item, name, self.scope, is_use))

    def _bind(self, node: ast.AST, place: str, name: str, since: Place, until: Place = _END) -> Variable:
        """Notes a name that gets a value, from one place of the file to another, in the scope where it stands."""
        self._note(node, place, name)
        return self._variable(self.scope, name, since, until)

    def _variable(self, scope: Scope, name: str, since: Place, until: Place = _END) -> Variable:
        if name in scope.elsewhere:
            found = scope.find(name) or Variable(name, scope)  # no matter which, if it is global
        else:
            is_fixed = scope.kind in (ScopeKind.CLASS, ScopeKind.OUTSIDE)
            found = scope.variables.setdefault(name, Variable(name, scope, is_fixed))
        found.spans.append((since, until))
        return found

    @contextmanager
    def _bound_from(self, since: Place) -> Iterator[None]:
        outer, self._since = self._since, since
        yield
        self._since = outer

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._note(node, "id", node.id, is_use=True)
            return
        variable = self._bind(node, "id", node.id, self._since or end_of(node))
        if isinstance(node.ctx, ast.Del):
            variable.is_deleted = True

    def _visit_assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        if isinstance(node, ast.AnnAssign):
            self.visit(node.annotation)
        with self._bound_from(_END if node.value is None else end_of(node)):
            self._visit_all(node.targets if isinstance(node, ast.Assign) else [node.target])

    def visit_Assign(self, node: ast.Assign) -> None:
        self._visit_assignment(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._visit_assignment(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_assignment(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self.scope
        while scope.kind is ScopeKind.COMPREHENSION and scope.parent is not None:
            scope = scope.parent
        self._note(node.target, "id", node.target.id)
        self._variable(scope, node.target.id, end_of(node))

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        with self._bound_from(end_of(node.iter)):
            self.visit(node.target)
        self._visit_all([*node.body, *node.orelse])

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        self.visit_For(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self._bind(node, "name", node.name, start_of(node.body[0]), end_of(node))
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        if node.asname is not None:
            self._bind(node, "asname", node.asname, end_of(node))
        else:
            self._variable(self.scope, node.name.split(".")[0], end_of(node)).is_fixed = True

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name is not None:
            self._bind(node, "name", node.name, end_of(node))
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name is not None:
            self._bind(node, "name", node.name, end_of(node))

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest is not None:
            self._bind(node, "rest", node.rest, end_of(node))
        self.generic_visit(node)

    def _declare(self, node: ast.Global | ast.Nonlocal) -> None:
        for index, name in enumerate(node.names):
            self.scope.elsewhere[name] = isinstance(node, ast.Nonlocal)
            self._note(node, "names", name, item=index)

    def visit_Global(self, node: ast.Global) -> None:
        self._declare(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._declare(node)
