from pathlib import Path

import pytest


@pytest.fixture
def functions(monkeypatch):
    """The module `pool_functions`, importable in this process and so in its workers."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import pool_functions

    return pool_functions
