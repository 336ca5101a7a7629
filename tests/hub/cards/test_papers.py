"""The bibliography is read as it stands, and refused where it is of another form."""

import re
from importlib import resources

import pytest

from hf_symbinv.hub.cards.papers import cited, known_papers, papers_of, read_bibliography

ENTRY = "@misc{one,\n  title = {One {\\c{s}}},\n  url   = {https://x.y}\n}"


def test_every_entry_of_the_file_is_read_and_cited_as_it_stands():
    text = (resources.files("hf_symbinv.hub.cards") / "papers.bib").read_text()
    assert list(known_papers()) == re.findall(r"^@\w+\{(.+),$", text, re.M)
    assert all(paper.bibtex in text and paper.title in paper.bibtex for paper in known_papers().values())


def test_a_paper_with_an_address_is_linked():
    (paper,) = read_bibliography(f"% A comment.\n\n{ENTRY}\n").values()
    assert (paper.title, paper.url, paper.bibtex) == ("One {\\c{s}}", "https://x.y", ENTRY)
    assert paper.link == "[One {\\c{s}}](https://x.y)"
    (bare,) = read_bibliography(ENTRY.replace("  url   = {https://x.y}\n", "")).values()
    assert bare.link == bare.title


def test_each_paper_is_cited_once():
    assert cited("isik2026names", "isik2026names") == cited("isik2026names")
    assert papers_of("renamed", "copy") == cited("isik2025interchangeable")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ENTRY}\n{ENTRY}", "one: occurs twice; give each entry its own key"),
        ("@misc{one,\n  year = {2026}\n}", "one: has no title; add one"),
        (ENTRY[:-1], "'@misc{one,': belongs to no entry; write @kind{key, then lines `  name = {value},`, then }"),
        (ENTRY.replace("{https://x.y}", '"https://x.y"'), "'@misc{one,': belongs to no entry"),
        (f"{ENTRY}\nA line.", "'A line.': belongs to no entry"),
    ],
)
def test_another_form_is_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_bibliography(text)
