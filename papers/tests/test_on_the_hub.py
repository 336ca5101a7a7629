"""Texts and blocks on the Hub are read like those of a folder, and what cannot be loaded is said with the remedy."""

from pathlib import Path

import pytest

from tests.hub.fixtures import run, server

__all__ = ["server"]
# The papers are not installed.
CHECKOUT = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
PUSH = """
from pathlib import Path

import datasets

from papers.renamer.basic_blocks import load_blocks, prepare, read_blocks, sample_file

prepare(list(read_blocks(sample_file())), Path("made"), origin="sample")
load_blocks(Path("made")).push_to_hub("alice/blocks")
datasets.Dataset.from_dict({"text": ["one", "two"]}).push_to_hub("alice/texts", "part")
datasets.Dataset.from_dict({"body": ["one", "two"]}).push_to_hub("alice/bodies")
result = None
"""
PULL = """
from papers.harness.corpora import CorpusError, documents
from papers.renamer.basic_blocks import BlocksError, load_blocks, main, origin_of, read_blocks

found = [[block.text, block.cycles, block.source, block.split] for block in read_blocks("alice/blocks")]
code = main(["--blocks", "alice/blocks", "--output", "again"])
made = {split: sorted(rows["text"]) for split, rows in load_blocks("again").items()}
errors = []
for read, name in ((read_blocks, "alice/bodies"), (read_blocks, "alice/none"), (documents, "alice/bodies")):
    try:
        list(read(name))
    except (BlocksError, CorpusError) as error:
        errors.append(str(error))
result = [found, code, made, open("again/README.md").read(), errors, list(documents("alice/texts:part"))]
"""
REMEDY = "); check the name, the network and HF_HUB_OFFLINE, or give a table"


@pytest.mark.slow
def test_blocks_keep_their_label_source_and_split_on_the_hub_and_rows_of_texts_are_documents(server, tmp_path):
    run(server, CHECKOUT + PUSH, None, tmp_path / "alice")
    found, code, made, card, errors, texts = run(server, CHECKOUT + PULL, None, tmp_path / "user")
    assert code == 0 and len(found) == 400
    assert all(cycles > 0 and source == "templates" for _, cycles, source, _ in found)
    for split, blocks in made.items():
        assert blocks == sorted(text for text, _, _, own in found if own == split)
    assert set(made) == {"train", "validation", "test"} and "--blocks alice/blocks" in card
    columns, absent, no_texts = errors
    assert columns == "alice/bodies: has no column cycles and no column text"
    assert absent.startswith("alice/none: no such file or folder, and from the Hub it cannot be loaded (")
    assert absent.endswith(REMEDY) and "alice/none" in absent.partition("(")[2]
    assert texts == [["row 0", "one"], ["row 1", "two"]]
    assert no_texts == "alice/bodies: has no column text, only body; give a data set of texts"
