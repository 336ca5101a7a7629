"""Whoever calls a public function of the models finds the shape of every tensor that it takes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parents[2] / "modeling"


def public_functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Those of a module; a method without a docstring has that of an abstract one beside it."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, (ast.ClassDef, ast.FunctionDef)) and (
            not inner.name.startswith("_") or inner.name == "__call__"
        ):
            if isinstance(inner, ast.FunctionDef):
                yield inner
            else:
                yield from public_functions(inner)


def entries(docstring: str) -> dict[str, str]:
    """What the section `Args:` says of each argument."""
    _, _, section = docstring.partition("\nArgs:\n")
    section = section.partition("\n\n")[0]
    found = re.findall(r"^ {4}(\w[\w, ]*): (.*(?:\n {5,}.*)*)", section, re.M)
    return {name: text for names, text in found for name in names.split(", ")}


def has_shape(argument: str, docstring: str) -> bool:
    said = entries(docstring).get(argument, "")
    return re.search(rf"`{argument} \(", docstring) is not None or re.search(r"`\(|\bscalar\b", said) is not None


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_the_docstring_gives_the_shape_of_every_tensor_argument(path):
    functions, missing = list(public_functions(ast.parse(path.read_text(encoding="utf-8")))), []
    abstract = dict[str, str]()
    for one in functions:
        if "abstractmethod" in ast.unparse(one):
            abstract[one.name] = abstract.get(one.name, "") + (ast.get_docstring(one) or "")
    for function in functions:
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        tensors = [one.arg for one in arguments if one.annotation and "Tensor" in ast.unparse(one.annotation)]
        docstring = ast.get_docstring(function) or abstract.get(function.name, "")
        missing += [
            f"{path.name}:{function.lineno} {function.name}({name})"
            for name in tensors
            if not has_shape(name, docstring)
        ]
    assert not missing, "give their shapes as `name (B, L)`, or under Args:\n" + "\n".join(missing)
