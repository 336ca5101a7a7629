"""Names that a package imports when they are first used stay what they are, whatever is imported before."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "hf_symbinv"
STUBS = sorted(PACKAGE.rglob("__init__.pyi"))


def test_the_scan_sees_the_stubs():
    assert {stub.parent.relative_to(PACKAGE.parent).as_posix() for stub in STUBS} >= {
        "hf_symbinv", "hf_symbinv/plotting", "hf_symbinv/training"
    }  # fmt: skip


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_no_public_name_is_that_of_a_submodule(stub):
    """Python binds a submodule to its name in the package as soon as anything imports it, instead of the public one."""
    names = {
        alias.asname or alias.name
        for statement in ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    submodules = {path.stem for path in stub.parent.glob("*.py")} | {
        path.name for path in stub.parent.iterdir() if path.is_dir()
    }
    assert names and not names & submodules
