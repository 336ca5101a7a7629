"""Pages of the papers' folders: their numbers stand in the results that they link, their commands and links exist."""

import contextlib
import importlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from papers.__main__ import parser
from papers.catalogue import TABLES, scales_of

PAPERS = Path(__file__).parents[2] / "papers"
PAGES = [PAPERS / "README.md", *sorted(PAPERS.glob("*/README.md"))]
# On data and programs.
GUIDES = [page for page in sorted(PAPERS.glob("*/*.md")) if page.name != "README.md" and page.parent.name != "results"]
SHOWN = [page for page in PAGES if page.parent != PAPERS]
WITHOUT_PAPER = ("code", "rules", "shapes")
COVERAGE = PAPERS / "every-table.md"
# How many tables and figures each paper has, in the order of the sections.
COUNTS = [
    {"Table": 6, "Figure": 19},
    {"Table": 8, "Figure": 8},
    {"Table": 2, "Figure": 8},
    {"Table": 0, "Figure": 5},
    {"Table": 4, "Figure": 3},
]
# Numbers that no result holds: learning rates of scales, the dropout of SIT, and numbers of a paper's text.
ELSEWHERE = {"lexinvariant": {"3.38", "2.00"}, "streams": {"0.1", "0.0003", "0.001"}, "renamer": {"0.001", "0.0005"}}
# Dots and digits that are no results: addresses of papers, theorems, sections, names of models.
NAMES = r"\d{4}\.\d{5}|(?:Theorems? |Section |Llama |GPT-)[\d.]+(?: and [\d.]+)?"


def name_of(page):
    return page.parent.name


def links_of(text):
    text = re.sub(r"`[^`\n]+`", "", text)
    return [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http")]


def results_of(page):
    """The text of all results that a page links, and of their JSON."""
    texts = []
    for link in links_of(page.read_text(encoding="utf-8")):
        path = (page.parent / link).resolve()
        if path.suffix in (".md", ".json") and path.parent == PAPERS / "results":
            texts.append(path.read_text(encoding="utf-8"))
    return "\n".join(texts)


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_the_numbers_of_a_page_stand_in_the_results_that_it_links(page):
    text = re.sub(NAMES, "", page.read_text(encoding="utf-8"))
    results = results_of(page)
    known = set(re.findall(r"\d+\.\d+", results)) | ELSEWHERE.get(name_of(page), set())
    numbers = re.findall(r"\d+\.\d+", text)
    assert len(numbers) > 10
    # Markdown prints 0.80 for the paper's 0.8.
    wrong = [number for number in numbers if number not in known and number.rstrip("0") not in known]
    assert not wrong


@pytest.mark.parametrize("page", [*PAGES, *GUIDES], ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_of_a_page_lead_somewhere(page):
    wrong = [link for link in links_of(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_a_page_name_tables_and_scales_that_exist(page):
    commands = re.findall(r"^(?:\w+=\S+ )*python -m papers (.*)$", page.read_text(encoding="utf-8"), re.M)
    assert commands
    for command in commands:
        options = parser().parse_args(command.split())
        assert options.list or options.tables
        for name in options.tables:
            assert options.scale in scales_of(TABLES[name])


@pytest.mark.parametrize("page", [page for page in SHOWN if name_of(page) not in WITHOUT_PAPER], ids=name_of)
def test_a_page_says_claims_results_and_deviations(page):
    heads = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.M)
    one = ["What the paper claims", "What is reproduced", "What is as in the paper", "Where we differ"]
    two = ["What the papers claim", "What is reproduced", "What is as in the papers", "Where we differ"]
    assert heads in (one, two)
    assert "| our choice | the paper | effect |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WITHOUT_PAPER)
def test_a_page_without_a_paper_says_what_is_asked_found_and_equal(name):
    heads = re.findall(r"^## (.*)$", (PAPERS / name / "README.md").read_text(encoding="utf-8"), re.M)
    assert heads == ["What is asked", "What was found", "What is equal, and what is not"]


def test_every_published_table_is_linked_from_a_page():
    linked = {Path(link).name for page in SHOWN for link in links_of(page.read_text(encoding="utf-8"))}
    made = {path.with_suffix(".md").name for path in (PAPERS / "results").glob("*-cpu.json")}
    # These show the models of sit-1 as ITE's tables do.
    again = {f"{json.loads(path.read_text())['table']}-cpu.md" for path in (PAPERS / "results").glob("ite-*.json")}
    assert made - again <= linked


def numbered(section, kind):
    """The numbers of the tables or figures that the rows of a section name."""
    found = set()
    for row in re.findall(r"^\| (.*?) \|", section, re.M):
        for first, to, last in re.findall(kind + r"s? (\d+)(?: (to|and) (\d+))?", row):
            found |= set(range(int(first), int(last) + 1)) if to else {int(first)}
    return found


def test_every_table_and_figure_of_a_paper_has_a_row():
    sections = COVERAGE.read_text(encoding="utf-8").split("\n## ")[1:-1]  # the last has a command
    for section, counts in zip(sections, COUNTS, strict=True):
        for kind, count in counts.items():
            assert numbered(section, kind) == set(range(1, count + 1)), (section[:40], kind)


def test_every_table_of_a_paper_that_can_be_made_has_a_row():
    text = COVERAGE.read_text(encoding="utf-8")
    of_papers = {name for name in TABLES if not name.startswith(("code-", "rules-", "shape-"))}
    assert {name for name in of_papers if not re.search(rf"`{name}`|\[{name}\]", text)} == set()
    assert [link for link in links_of(text) if not (PAPERS / link).exists()] == []
    published = {path.with_suffix(".md").name for path in (PAPERS / "results").glob("*-cpu.json")}
    linked = {Path(link).name for link in links_of(text)}
    assert {name for name in published - linked if not name.startswith(("code-", "rules-", "shape-"))} == set()


PROGRAMS = [
    (page, *found)
    for page in GUIDES
    for found in re.findall(r"```python\n(.*?)^```\n\n```\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
]
COMMANDS = [
    line
    for page in GUIDES
    for line in re.findall(r"^python -m (papers\.\w+\.\w+ .*--output .*)$", page.read_text(encoding="utf-8"), re.M)
]


def test_guides_show_programs_and_commands():
    assert len(PROGRAMS) >= 4 and len(COMMANDS) >= 5


@pytest.mark.parametrize(("page", "program", "shown"), PROGRAMS, ids=[page.name for page, *_ in PROGRAMS])
def test_a_program_of_a_guide_prints_what_follows_it(page, program, shown):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(program, page.name, "exec"), {"__name__": "__main__"})
    assert output.getvalue() == shown


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_guide_makes_its_data_at_a_small_size(line, tmp_path, monkeypatch):
    if "basic_blocks" in line and shutil.which("llvm-mca") is None:
        pytest.skip("needs LLVM: apt install llvm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    shutil.copytree(PAPERS, "sources", ignore=shutil.ignore_patterns("__pycache__", "results"))
    shutil.copy(PAPERS / "identity" / "first_in_majority.yaml", tmp_path)
    Path("novels.txt").write_text("It was the best of times, it was the worst of times.\n" * 400)
    module, *options = shlex.split(re.sub(r"(--rows|--draw) \d+", r"\1 100", line))
    assert importlib.import_module(module).main(options) == 0
    assert list(Path(options[options.index("--output") + 1]).rglob("*.parquet"))
