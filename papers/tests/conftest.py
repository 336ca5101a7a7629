"""Smokes of tables: two rows show that a table fits together; that each row's model can be made other tests show."""

from collections.abc import Callable
from pathlib import Path

import pytest

from papers.harness.experiments import Experiment

# The settings and fixtures of every test.
from tests.conftest import environment, generator_of_hypothesis, looked_at, program  # noqa: F401


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tables of a module's tests are made, which share what they need."""
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`only(table, *labels)`: in this test the table has the rows with these labels alone."""
    kept: dict[str, tuple[tuple[str, ...], ...]] = {}
    usual = Experiment.rows_of

    def rows_of(table, scale):
        rows = usual(table, scale)
        if table.name not in kept:
            return rows
        found = [row for row in rows if row.labels in kept[table.name]]
        assert len(found) == len(kept[table.name])
        return found

    monkeypatch.setattr(Experiment, "rows_of", rows_of)

    def keep(table: str, *labels: tuple[str, ...]) -> None:
        kept[table] = labels

    return keep
