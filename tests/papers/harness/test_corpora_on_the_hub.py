"""Texts on the Hub are corpora for language models: every row a document."""

from pathlib import Path

import pytest

from tests.hub.fixtures import run, server

__all__ = ["server"]
# The papers are not installed.
CHECKOUT = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
PUSH = """
import datasets

datasets.Dataset.from_dict({"text": ["one", "two"]}).push_to_hub("alice/texts", "part")
datasets.Dataset.from_dict({"body": ["one", "two"]}).push_to_hub("alice/bodies")
result = None
"""
PULL = """
from papers.harness.corpora import CorpusError, documents

try:
    list(documents("alice/bodies"))
except CorpusError as error:
    result = [list(documents("alice/texts:part")), str(error)]
"""


@pytest.mark.slow
def test_rows_of_a_data_set_are_documents_if_it_has_a_column_with_texts(server, tmp_path):
    run(server, CHECKOUT + PUSH, None, tmp_path / "alice")
    found, error = run(server, CHECKOUT + PULL, None, tmp_path / "user")
    assert found == [["row 0", "one"], ["row 1", "two"]]
    assert error == "alice/bodies: has no column text, only body; give a data set of texts"
