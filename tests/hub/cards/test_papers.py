"""The bibliography is read as it stands."""

import re
from importlib import resources

from hf_symbinv.hub.cards.families import known_papers


def test_every_entry_of_the_file_is_read_and_cited_as_it_stands():
    text = (resources.files("hf_symbinv.hub.cards") / "papers.bib").read_text()
    assert list(known_papers()) == re.findall(r"^@\w+\{(.+),$", text, re.M)
    assert all(paper.bibtex in text and paper.title in paper.bibtex for paper in known_papers().values())
