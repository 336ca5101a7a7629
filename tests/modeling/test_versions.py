"""Versions of transformers on which the models do not run are named in one sentence, before a name is missing."""

import ast
from pathlib import Path

import pytest

from hf_symbinv.modeling import versions_symbinv
from hf_symbinv.modeling.versions_symbinv import check_transformers

CODE = Path(versions_symbinv.__file__).parent


@pytest.mark.parametrize("version", ["5.10.0", "5.10.4", "5.23.0", "5.24.0.dev0", "5.100.1", "5.11.0rc1", "6.0.0"])
def test_all_others_are_taken(version):
    check_transformers(version)


@pytest.mark.parametrize("version", ["4.57.6", "5.9.3", "5.5.4"])
def test_older_versions_are_refused_with_the_range_and_the_remedy(version):
    with pytest.raises(ImportError) as caught:
        check_transformers(version)
    assert str(caught.value) == (
        f"transformers {version}: the symbol-invariant models run on transformers>=5.10; "
        'run: pip install "transformers>=5.10"'
    )


@pytest.mark.parametrize("name", versions_symbinv.HOMES)
def test_every_name_of_transformers_is_where_this_version_has_it(name):
    assert getattr(versions_symbinv, name) is not None


@pytest.mark.parametrize("path", sorted(CODE.glob("*.py")), ids=lambda path: path.name)
def test_names_of_transformers_come_from_that_one_place_and_all_of_them_are_used(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    taken = {
        getattr(node, "module", None) or alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert path.stem == "versions_symbinv" or not any(name.split(".")[0] == "transformers" for name in taken)
    used = {
        alias.name
        for other in CODE.glob("*.py")
        for node in ast.walk(ast.parse(other.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "versions_symbinv"
        for alias in node.names
    }
    assert used - {"later"} == set(versions_symbinv.HOMES)
