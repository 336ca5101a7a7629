"""The rooms import each other only along the arrows of the design, however deep in a function an import stands."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    room: ROOT / "hf_symbinv" / room
    for room in ("hub", "logic", "solvers", "tasks", "metrics", "training", "evaluation", "plotting", "cli")
}
ROOMS |= {room: ROOT / room for room in ("modeling", "datasets_scripts")}
# A room may import itself and these; `cli` all.
ARROWS = {
    "modeling": set(),
    "logic": set(),
    "solvers": {"logic"},
    "tasks": {"logic", "solvers", "modeling"},
    "metrics": {"logic", "solvers"},
    "hub": {"tasks"},
    "datasets_scripts": {"tasks", "logic", "solvers", "hub"},
    "training": {"modeling", "tasks", "metrics", "solvers", "hub"},
    "evaluation": {"training", "tasks", "metrics", "datasets_scripts", "hub", "logic"},
    "plotting": {"evaluation", "metrics", "logic"},
    "cli": set(ROOMS) - {"cli"},
}
# Beside the rooms lie the version, the table of extras and what a user can do something about, and files.
TABLES = {("hub", "__version__"), ("cli", "__version__"), ("tasks", "__version__"), ("cli", "extras")} | {
    (room, table) for room in ROOMS if room not in ("modeling", "logic") for table in ("errors", "files")
}
STANDARD_LIBRARY = set(sys.stdlib_module_names)
# What a room may import from outside the package, where that is limited.
OUTSIDE = {
    # Triton where it is installed; that no checkpoint requires it is tested with those.
    "modeling": {"torch", "transformers", "triton", *STANDARD_LIBRARY},
    "logic": {"spot", *STANDARD_LIBRARY},
    "solvers": {"spot", "aiger", "tqdm", *STANDARD_LIBRARY},
}
OUTER_PACKAGES = {"modeling", "datasets_scripts"}
# The subprocesses of tests and the files that are no room of the package.
SCRIPTS = [ROOT / folder for folder in ("tests", "examples", "benchmarks")]


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.is_file())


def imports(path: Path, package: str) -> list[tuple[int, str]]:
    """(line, absolute dotted name) of every import in a file; `from a import b` counts as `a.b`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def package_of(path: Path, room: str) -> str:
    return ".".join(["hf_symbinv", room, *path.parent.relative_to(ROOMS[room]).parts])


def test_every_room_exists_and_the_scan_sees_its_files():
    for room, folder in ROOMS.items():
        assert (folder / "__init__.py").is_file(), f"{room} is no package"
    for path in (ROOT / "hf_symbinv").iterdir():
        if path.is_dir() and (path / "__init__.py").exists():
            assert path.name in ROOMS, f"{path.name} is no room of the design"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_its_arrows_point_to(room):
    wrong = []
    for path in python_files(ROOMS[room]):
        for line, name in imports(path, package_of(path, room)):
            parts = name.split(".")
            if parts[0] == "hf_symbinv" and not (parts[1:2] and parts[1] in {room} | ARROWS[room]):
                if (room, *parts[1:2]) in TABLES:
                    continue
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join([*wrong, f"{room} may import: {', '.join(sorted(ARROWS[room])) or 'no other room'}"])


@pytest.mark.parametrize("room", OUTSIDE)
def test_light_rooms_import_only_light_packages(room):
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in python_files(ROOMS[room])
        for line, name in imports(path, package_of(path, room))
        if (top := name.split(".")[0]) != "hf_symbinv" and top not in OUTSIDE[room]
    ]
    assert not wrong, "\n".join(wrong)


def test_pipelines_stand_on_evaluation():
    path = ROOT / "hf_symbinv" / "pipelines.py"
    rooms = {name.split(".")[1] for _, name in imports(path, "hf_symbinv") if name.startswith("hf_symbinv.")}
    assert rooms == {"evaluation", "tasks"}


def test_nothing_but_the_command_itself_imports_the_command_line():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for room in set(ROOMS) - {"cli"}
        for path in python_files(ROOMS[room])
        for line, name in imports(path, package_of(path, room))
        if name.startswith("hf_symbinv.cli")
    ]
    assert not wrong, "\n".join(wrong)


def test_outer_packages_are_imported_by_their_one_name():
    """`import modeling` works from the repository root, and gives second classes that are not the package's."""
    files = [path for folder in (*ROOMS.values(), *SCRIPTS, ROOT / "hf_symbinv") for path in python_files(folder)]
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}; write hf_symbinv.{name}"
        for path in set(files)
        for line, name in imports(path, "")
        if name.split(".")[0] in OUTER_PACKAGES and not is_relative(path, line)
    ]
    assert not wrong, "\n".join(wrong)


def is_relative(path: Path, line: int) -> bool:
    return path.read_text(encoding="utf-8").splitlines()[line - 1].strip().startswith("from .")


@pytest.mark.parametrize("folder", ["examples", "benchmarks"])
def test_examples_and_benchmarks_use_public_names_only(folder):
    wrong = []
    for path in python_files(ROOT / folder):
        for line, name in imports(path, ""):
            parts = name.split(".")
            if parts[0] == "hf_symbinv" and any(part.startswith("_") for part in parts[1:] if part != "__version__"):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


class TestFilesThatTravelWithCheckpoints:
    """The Hub copies `modeling/` flat, finding siblings by a regular expression over `from .sibling import Name`."""

    def test_the_room_is_flat(self):
        folders = [path.name for path in ROOMS["modeling"].iterdir() if path.is_dir() and path.name != "__pycache__"]
        assert not folders

    @pytest.mark.parametrize("path", python_files(ROOMS["modeling"]), ids=lambda path: path.name)
    def test_siblings_are_imported_by_name_at_the_top(self, path):
        text = path.read_text(encoding="utf-8")
        top_level = ast.parse(text).body
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                where = f"{path.name}:{node.lineno}"
                assert node.level == 1 and node.module and "." not in node.module, (
                    f"{where}: write from .sibling import Name"
                )
                assert (ROOMS["modeling"] / f"{node.module}.py").is_file(), f"{where}: {node.module} is no sibling"
                assert any(node.lineno == top.lineno for top in top_level), (
                    f"{where}: import siblings at the top of the file"
                )
        relative = re.findall(r"^\s*(?:from\s+\.|import\s+\.)", text, flags=re.MULTILINE)
        in_code = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom) and n.level]
        assert len(relative) == len(in_code), "the Hub's scan would take a line of a string for an import of a sibling"


def test_the_outer_packages_are_reached_by_tracked_relative_links():
    for name in OUTER_PACKAGES:
        link = ROOT / "hf_symbinv" / name
        assert link.is_symlink() and link.readlink() == Path("..") / name
