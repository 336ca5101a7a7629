"""Laws of functions, over files of Python's own library."""

import ast
import random
import symtable
import sys
import sysconfig
import warnings
from collections import Counter
from pathlib import Path

import pytest

from hf_symbinv.modeling.subwords_symbinv import SymbolInvariantSubwordTokenizer
from papers.code.functions import read_functions
from papers.code.renaming import rename
from papers.code.scopes import names_of

LIBRARY = Path(sysconfig.get_path("stdlib"))
# Files of the library that use much of the language; the slow tests read a tenth of it.
FILES = ["argparse.py", "ast.py", "asyncio/base_events.py", "dataclasses.py", "enum.py", "functools.py", "inspect.py",
         "typing.py", "unittest/mock.py", "xml/etree/ElementTree.py"]  # fmt: skip


def source_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def functions_of(paths):
    return [function for path in paths for function in read_functions(source_of(path), path.name)[0]]


@pytest.fixture(scope="module")
def functions():
    return functions_of([LIBRARY / name for name in FILES])


@pytest.fixture(scope="module")
def tokenizer(functions):
    return SymbolInvariantSubwordTokenizer.train(
        [one.text for one in functions], vocab_size=600, spans=[one.spans() for one in functions]
    )


def kinds_by_our_rules(function) -> Counter:
    """How many scopes of a function have which names, local, free or global; those that only import are left out."""
    scopes, does_more = {}, set()
    for one in names_of(function):
        kind = "global" if one.variable is None else "local" if one.variable.scope is one.scope else "free"
        if one.scope.parent is not None and one.name != "__class__":
            found = scopes.setdefault(one.scope, {(name, "local") for name in one.scope.variables})
            found.add((one.name, kind))
            if not isinstance(one.node, ast.alias):
                does_more.add(one.scope)
    return Counter(frozenset(found) for scope, found in scopes.items() if scope in does_more)


def kinds_by_the_compiler(table: symtable.SymbolTable) -> Counter:
    """The same by `symtable`; a name that a scope only hands on to another one inside is left out."""
    found, does_more = set(), False
    for symbol in table.get_symbols():
        stands = (symbol.is_referenced() or symbol.is_assigned() or symbol.is_parameter()
                  or symbol.is_declared_global() or symbol.is_nonlocal() or symbol.is_annotated())  # fmt: skip
        if (stands or symbol.is_imported()) and symbol.get_name() not in (".0", "__class__"):
            kind = "local" if symbol.is_local() else "free" if symbol.is_free() else "global"
            found.add((symbol.get_name(), kind))
            does_more |= stands
    counts = Counter([frozenset(found)]) if does_more else Counter()
    return sum(map(kinds_by_the_compiler, table.get_children()), counts)


def tables_of(table: symtable.SymbolTable):
    """The tables of the functions that no other function holds, by line and name."""
    for child in table.get_children():
        if child.get_type() == "function":
            yield (child.get_lineno(), child.get_name()), child
        else:
            yield from tables_of(child)


def differences(paths) -> tuple[int, list[str]]:
    """How many functions there are, and those whose names the compiler takes for others."""
    count, wrong = 0, []
    for path in paths:
        source = source_of(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree, tables = ast.parse(source), dict(tables_of(symtable.symtable(source, path.name, "exec")))
        except (SyntaxError, ValueError):
            continue
        given = {(one.name.rsplit(".", 1)[-1], one.position(0)[0]) for one in read_functions(source)[0]}
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            key, line = (node.lineno, node.name), min(one.lineno for one in [node, *node.decorator_list])
            if key not in tables or (node.name, line) not in given:
                continue  # inside another function, or left out
            outside = [*node.args.defaults, *node.args.kw_defaults, *node.decorator_list]
            if any(isinstance(inner, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp)
                   for one in outside if one is not None for inner in ast.walk(one)):  # fmt: skip
                continue  # their tables are not in the function's
            count += 1
            if kinds_by_our_rules(node) != kinds_by_the_compiler(tables[key]):
                wrong.append(f"{path.name}:{node.lineno} {node.name}")
    return count, wrong


# From 3.12 on symtable, the oracle here, merges a comprehension into the scope around it: there is nothing to compare.
BEFORE_INLINING = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="symtable gives a comprehension's variables to the scope around it"
)


@BEFORE_INLINING
def test_the_rules_of_scopes_are_the_compilers():
    count, wrong = differences(LIBRARY / name for name in FILES)
    assert count > 1000 and not wrong


def test_a_function_that_is_read_again_has_the_same_variables_in_its_places(functions):
    """In its text no two variables have one name, so nothing hides another that was hidden in the file."""
    for function in functions:
        [again] = read_functions(function.text)[0]
        assert [symbol[2:] for symbol in again.symbols] == [symbol[2:] for symbol in function.symbols], function.text


def test_every_piece_is_where_it_says_in_the_file():
    for name in FILES:
        lines = source_of(LIBRARY / name).split("\n")
        for function in read_functions("\n".join(lines), name)[0]:
            for piece in function.pieces():
                if piece.variable is not None:
                    written = function.variables[piece.variable]
                    at = lines[piece.line - 1][piece.column - 1 :]
                    assert at.startswith(written) or at.startswith(written.rsplit("_", 1)[0])


def test_ids_give_the_text_back(functions, tokenizer):
    for function in functions:
        found = tokenizer(function.text, spans=function.spans())
        assert tokenizer.decode(found.input_ids, skip_special_tokens=True, symbols=found.symbols) == function.text


def test_random_names_give_the_same_ids_up_to_a_renaming_of_symbols(functions, tokenizer):
    draw = random.Random(0)
    many = [one for one in functions if len(one.variables) > 1]
    for function in draw.sample(many, 200):
        names = draw.sample([f"{letter}{digit}_" for letter in "xyzé" for digit in range(50)], len(function.variables))
        (renamed,), _ = read_functions(rename(function, dict(zip(function.variables, names, strict=True))))
        assert renamed.text != function.text
        ids = [tokenizer(one.text, spans=one.spans()).input_ids for one in (renamed, function)]
        assert ids[0] == ids[1]
