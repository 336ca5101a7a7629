"""The documentation: it builds without a warning, names every public name, and its notebook shows what it prints."""

import html
import inspect
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest
from transformers import PreTrainedConfig

import hf_symbinv
from hf_symbinv.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"


PAGES = {
    str(path.relative_to(ROOT / "docs").with_suffix(""))
    for pattern in ("*.md", "*.ipynb")
    for path in (ROOT / "docs").rglob(pattern)
}


def api(site):
    """Page of the API -> its text."""
    return {path.stem: path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html")}


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
        built = {str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html")}
        assert not PAGES - built

    def test_the_api_names_every_public_name(self, site):
        anchors = {name for page in api(site).values() for name in re.findall(r'id="hf_symbinv\.(\w+)"', page)}
        assert set(hf_symbinv.__all__) <= anchors

    def test_the_api_is_that_of_the_product(self, site):
        assert not [page for page, text in api(site).items() if re.search(r'id="papers\.', text)]

    def test_a_configuration_shows_its_own_fields_alone(self, site):
        inherited = set(inspect.signature(PreTrainedConfig).parameters)
        page = re.sub("<[^>]*>", "", api(site)["models"])
        for name in ("SymbolInvariantConfig", "IdentityGPT2Config"):
            shown = set(re.findall(r"(\w+)=", re.search(rf"{name}\(([^)]*)\)", page)[1]))
            assert shown and not shown & (inherited - set(inspect.get_annotations(getattr(hf_symbinv, name))))

    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_page_of_commands_shows_the_help_of_each(self, site, command, monkeypatch, capsys):
        page = html.unescape(re.sub("<[^>]*>", "", (site / "commands.html").read_text(encoding="utf-8")))
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit):
            main([command, "--help"])
        told = capsys.readouterr().out
        assert len(told) > 100 and told in page

    def test_pages_load_nothing_from_elsewhere(self, site):
        for page in site.rglob("*.html"):
            loaded = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"]*)"', page.read_text(encoding="utf-8"))
            assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for index in (ROOT / "docs").rglob("index.md"):
        for pages in re.findall(r"```\{toctree\}\n(?::[^\n]*\n)*\n(.*?)```", index.read_text(encoding="utf-8"), re.S):
            listed |= {str((index.parent / page).relative_to(ROOT / "docs")) for page in pages.split()}
    assert listed == PAGES - {"index"}


def test_the_figure_is_black_on_white_and_has_a_title():
    figure = ElementTree.parse(ROOT / "docs" / "streams.svg")
    names = {"white", "black", "none"}
    colours = {value for node in figure.iter() for key, value in node.items() if key in ("fill", "stroke")}
    assert all(colour in names or re.fullmatch(r"#(\w\w?)\1\1", colour) for colour in colours)
    assert figure.find("{http://www.w3.org/2000/svg}title") is not None


def test_the_figure_can_be_read_on_a_telephone():
    """A page 390 pixels wide leaves 358 to a figure; text of 12 pixels is that of captions."""
    figure = ElementTree.parse(ROOT / "docs" / "streams.svg").getroot()
    scale = min(1, 358 / float(figure.get("width")))
    sizes = [float(node.get("font-size")) for node in figure.iter("{http://www.w3.org/2000/svg}text")]
    assert sizes and min(sizes) * scale >= 12


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
