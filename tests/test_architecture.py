"""The rooms import each other only along the arrows of the design, however deep in a function an import stands."""

import ast
import graphlib
import importlib.util
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def script(path: str):
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURE = script("docs/rooms.py")
# The table of CONTRIBUTING.md is the one source of rooms and arrows.
TABLE = PICTURE.read_table()
ARROWS = PICTURE.arrows_of(TABLE)
OUTER_PACKAGES = {"modeling", "datasets_scripts"}
ROOMS = {room: ROOT / room if room in OUTER_PACKAGES | {"papers"} else ROOT / "hf_symbinv" / room for room in ARROWS}
# Folders that keep to the public names.
USERS = [room for room in TABLE if room not in ARROWS]
# Files of the package that stand beside the rooms; every room but `modeling` may import them.
BESIDE = {"__version__", "auto_classes", "errors", "extras", "files", "lazy", "parquet", "values"}
STANDARD_LIBRARY = set(sys.stdlib_module_names)
# The subprocesses of tests and the files that are no room of the package.
SCRIPTS = [ROOT / folder for folder in ("tests", *USERS)]
# What benchmarks import besides: they measure parts that nobody else names.
INNER = {
    "benchmarks/gpu/triton_kernels.py": {"modeling.layers_symbinv"},
    "benchmarks/inputs.py": {"datasets_scripts.storage.Pair"},
    "benchmarks/spot_ratio.py": {f"datasets_scripts.storage.{name}" for name in ("Origin", "Pair", "publish")},
    "benchmarks/transcription.py": {"modeling.layers_symbinv.tree_positions"},
    "benchmarks/vectors.py": {"modeling.embedding_symbinv.random_vectors"},
}


def python_files(folder: Path) -> list[Path]:
    """Of a folder but the tests in it."""
    paths = (path for path in folder.rglob("*.py") if path.is_file())
    return sorted(path for path in paths if "tests" not in path.relative_to(folder).parts)


def imports(path: Path, package: str, types: bool = True) -> list[tuple[int, str]]:
    """(line, absolute dotted name) of every import in a file; `from a import b` counts as `a.b`.

    Without `types` those that only type checkers run are left out.
    """
    found, tree = [], ast.parse(path.read_text(encoding="utf-8"))
    unseen = set() if types else {
        inner for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }  # fmt: skip
    for node in ast.walk(tree):
        if node in unseen:
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def package_of(path: Path, room: str) -> str:
    """The package that a room's file lies in."""
    parts = path.parent.relative_to(ROOMS[room]).parts
    return ".".join([room, *parts] if room == "papers" else ["hf_symbinv", room, *parts])


def rooms_imported(room: str) -> list[tuple[str, str]]:
    """(file:line and import, the room or file beside the rooms) of each import of the project by a room's files."""
    found = []
    for path in python_files(ROOMS[room]):
        for line, name in imports(path, package_of(path, room)):
            parts = name.split(".")
            if parts[0] in ("hf_symbinv", "papers"):
                target = parts[0] if parts[0] == "papers" else (parts[1:] or [""])[0]
                found.append((f"{path.relative_to(ROOT)}:{line} imports {name}", target))
    return found


class TestTheTableOfContributing:
    def test_it_names_every_room_and_the_scan_sees_its_files(self):
        for room, folder in ROOMS.items():
            assert (folder / "__init__.py").is_file(), f"{room} is no package"
        for path in (ROOT / "hf_symbinv").iterdir():
            if path.is_dir() and (path / "__init__.py").exists():
                assert path.name in ROOMS, f"{path.name}: CONTRIBUTING.md has no row for it"
        assert USERS == ["examples", "benchmarks"]

    def test_all_arrows_point_down_it(self):
        order = list(TABLE)
        wrong = [
            f"{room} → {target}"
            for room, targets in ARROWS.items()
            for target in targets
            if target not in order or order.index(target) <= order.index(room)
        ]
        assert not wrong

    def test_it_has_no_arrow_that_nobody_needs(self):
        for room, targets in ARROWS.items():
            needless = targets - {target for _, target in rooms_imported(room)}
            assert not needless, f"{room} no longer imports {', '.join(sorted(needless))}: strike it from the table"

    def test_the_picture_shows_its_rooms_and_arrows(self):
        picture = ElementTree.parse(PICTURE.PICTURE)
        svg = "{http://www.w3.org/2000/svg}"
        arrows = {
            (line.get("data-from"), line.get("data-to"))
            for line in picture.iter(f"{svg}line")
            if line.get("data-picture") == "today"
        }
        assert arrows == PICTURE.reduced(ARROWS), "run python docs/rooms.py"
        assert set(ROOMS) <= {text.text for text in picture.iter(f"{svg}text")}

    def test_paths_that_contributing_names_exist(self):
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        paths = re.findall(r"`([\w/]+/[\w./]*)`", text)
        assert len(paths) > 20
        assert not [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_its_arrows_point_to(room):
    allowed = {room, *ARROWS[room], *(() if room == "modeling" else BESIDE)}
    if room == "papers":
        allowed |= {"", *public_names(ROOT / "hf_symbinv")}
    wrong = [where for where, target in rooms_imported(room) if target not in allowed]
    assert not wrong, "\n".join([*wrong, f"{room} may import: {', '.join(sorted(ARROWS[room])) or 'no other room'}"])


def test_no_file_imports_one_that_imports_it():
    """Nor does a chain of files close, imports inside functions counted.

    Types alone need no file, and the names of `hf_symbinv` itself, whose `__init__.py` Python runs before all others,
    are its files' own.
    """
    folders = {"hf_symbinv": ROOT / "hf_symbinv", "papers": ROOT / "papers"}
    folders |= {f"hf_symbinv.{name}": ROOT / name for name in OUTER_PACKAGES}
    files = {}
    for package, folder in folders.items():
        for path in python_files(folder):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            files[".".join(parts).removesuffix(".__init__")] = path
    del files["hf_symbinv"]
    graph = {}
    for name, path in files.items():
        found = imports(path, name if path.name == "__init__.py" else name.rpartition(".")[0], types=False)
        graph[name] = {home for _, imported in found if (home := file_of(imported, files)) not in (None, name)}
    assert len(graph) > 150 and max(map(len, graph.values())) > 10
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


def file_of(name: str, files: dict[str, Path]) -> str | None:
    """The module of `files` that an imported name is, or is in."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name or None


@pytest.mark.parametrize("room", [room for room, row in TABLE.items() if row.packages is not None])
def test_light_rooms_import_only_light_packages(room):
    allowed = {"hf_symbinv", *TABLE[room].packages, *STANDARD_LIBRARY}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in python_files(ROOMS[room])
        for line, name in imports(path, package_of(path, room))
        if name.split(".")[0] not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_a_file_of_the_package_has_at_most_600_lines():
    files = [path for room in ("hf_symbinv", *OUTER_PACKAGES) for path in (ROOT / room).rglob("*.py")]
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert len(lines) > 150
    assert [name for name, count in lines.items() if count > 600] == []


def test_pipelines_stand_on_evaluation():
    path = ROOT / "hf_symbinv" / "pipelines.py"
    rooms = {name.split(".")[1] for _, name in imports(path, "hf_symbinv") if name.startswith("hf_symbinv.")}
    assert rooms == {"evaluation", "tasks"}


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


def public_names(package: Path) -> set[str]:
    """What a package has in `__all__`: the names of its stub, or those it lists itself."""
    stub = package / "__init__.pyi"
    if stub.is_file():
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        return {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    for node in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def is_public(name: str) -> bool:
    """Whether the innermost package of a dotted name has what follows in `__all__`."""
    parts, package = name.split(".")[1:], ROOT / "hf_symbinv"
    while parts and (package / parts[0] / "__init__.py").is_file():
        package /= parts.pop(0)
    if not parts or parts == ["__version__"] or (len(parts) == 2 and parts[0] in ("errors", "files")):
        return True
    return parts[0] in public_names(package) and not any(part.startswith("_") for part in parts)


@pytest.mark.parametrize("folder", USERS)
def test_examples_and_benchmarks_use_public_names_only(folder):
    inner = {}
    for path in python_files(ROOT / folder):
        for _, name in imports(path, ""):
            top = name.split(".")[0]
            if top == "papers" or (top == "hf_symbinv" and not is_public(name)):
                inner.setdefault(str(path.relative_to(ROOT)), set()).add(name.removeprefix("hf_symbinv."))
    known = {path: names for path, names in INNER.items() if path.startswith(f"{folder}/")}
    for path in inner.keys() | known.keys():
        new, gone = inner.get(path, set()) - known.get(path, set()), known.get(path, set()) - inner.get(path, set())
        assert not new, f"{path}: {', '.join(sorted(new))} are not public; list them in their package's __all__"
        assert not gone, f"{path}: no longer imports {', '.join(sorted(gone))}; strike them from INNER"


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
