"""The documentation: it builds without a warning, names every public name, and its notebook shows what it prints."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest

import hf_symbinv

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"


def run(*arguments, **environment):
    result = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]


def outputs(path):
    """Of every cell that runs: its source, and its outputs as text, pictures by their size."""
    cells = nbformat.read(path, as_version=4).cells
    return [(cell.source, [shown(output) for output in cell.outputs]) for cell in cells if cell.cell_type == "code"]


def shown(output):
    if output.output_type == "stream":
        return output.name, output.text
    return output.output_type, output.data["text/plain"], sorted(output.data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    run("-m", "sphinx", "-W", "--keep-going", "-q", "docs", str(folder))
    return folder


@pytest.mark.slow
class TestSite:
    def test_every_page_is_built(self, site):
        pages = {path.stem for pattern in ("*.md", "*.ipynb") for path in (ROOT / "docs").glob(pattern)}
        assert pages <= {path.stem for path in site.glob("*.html")}

    def test_the_api_page_names_every_public_name(self, site):
        anchors = set(re.findall(r'id="hf_symbinv\.(\w+)"', (site / "api.html").read_text(encoding="utf-8")))
        assert set(hf_symbinv.__all__) <= anchors

    def test_the_api_page_names_what_the_builders_and_experiments_of_the_other_papers_are_used_by(self, site):
        page = (site / "api.html").read_text(encoding="utf-8")
        builders = ("language", "subwords", "templates", "basic_blocks", "derivatives")
        names = {name: "write" if name == "templates" else "prepare" for name in builders}
        wanted = {f"datasets_scripts.{module}.{name}" for module, name in names.items()} | {
            "evaluation.renamer_models.mape",
            "evaluation.lexinvariant_models.losses_by_place",
            "evaluation.lexinvariant_oracle.Oracle",
        }
        assert wanted <= set(re.findall(r'id="hf_symbinv\.([\w.]+)"', page))

    def test_pages_load_nothing_from_elsewhere(self, site):
        for page in site.glob("*.html"):
            loaded = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"]*)"', page.read_text(encoding="utf-8"))
            assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name


def test_every_page_is_in_the_table_of_contents():
    listed = re.search(r"```\{toctree\}\n(?::.*\n)*\n(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.S)
    pages = {path.stem for pattern in ("*.md", "*.ipynb") for path in (ROOT / "docs").glob(pattern)}
    assert set(listed[1].split()) == pages - {"index"}


def test_the_figure_is_black_on_white_and_has_a_title():
    figure = ElementTree.parse(ROOT / "docs" / "streams.svg")
    names = {"white", "black", "none"}
    colours = {value for node in figure.iter() for key, value in node.items() if key in ("fill", "stroke")}
    assert all(colour in names or re.fullmatch(r"#(\w\w?)\1\1", colour) for colour in colours)
    assert figure.find("{http://www.w3.org/2000/svg}title") is not None


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom_and_prints_what_it_keeps(tmp_path):
    run("docs/notebook.py", str(tmp_path / "run.ipynb"), HF_DATASETS_CACHE=str(tmp_path))
    assert outputs(tmp_path / "run.ipynb") == outputs(NOTEBOOK)


def test_the_notebook_keeps_outputs_that_are_small_and_name_no_machine():
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 200_000
    silent = [source.splitlines()[0] for source, kept in outputs(NOTEBOOK) if not kept]
    assert silent == ["import os", "%%capture"]
    for _, kept in outputs(NOTEBOOK):
        assert not re.search(r"(?<!\w)/(?:home|root|work|tmp|usr)/|stderr|error", str(kept))
