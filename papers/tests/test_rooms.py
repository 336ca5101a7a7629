"""The papers stand on the product and not the other way round; a paper's folder needs the harness and itself alone."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "papers"
HARNESS = "harness"
TESTS = PAPERS / "tests"
ROOMS = sorted(path.name for path in PAPERS.iterdir() if (path / "__init__.py").is_file())
# Lists the tables of all rooms, and runs them.
ABOVE = {PAPERS / "catalogue.py", PAPERS / "__main__.py"}


def imports(path):
    """(line, dotted name) of every import of a file; `from a import b` counts as `a.b`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def files(folder):
    return sorted(path for path in folder.rglob("*.py") if path.is_file() and TESTS not in path.parents)


def test_the_rooms_are_the_harness_and_a_folder_for_each_relative_with_a_page():
    assert ROOMS == ["code", "harness", "identity", "lexinvariant", "renamer", "rules", "shapes", "streams"]
    for room in set(ROOMS) - {HARNESS}:
        page = (PAPERS / room / "README.md").read_text(encoding="utf-8")
        assert page.startswith("# ") and "python -m papers " in page, room


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_the_harness_and_itself_only(room):
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in files(PAPERS / room)
        for line, name in imports(path)
        if name.startswith("papers.") and name.split(".")[1] not in (HARNESS, room)
    ]
    assert not wrong, "\n".join(wrong)


def test_one_place_knows_all_rooms():
    knowing = {
        path
        for path in files(PAPERS)
        if len({name.split(".")[1] for _, name in imports(path) if name.startswith("papers.")} & set(ROOMS)) > 2
    }
    assert knowing <= ABOVE
