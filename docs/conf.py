"""How Sphinx builds the documentation: `make docs`."""

import argparse
import importlib
import inspect
import os
import re

# Building reads no network, and imports transformers for the docstrings.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from transformers import PreTrainedConfig

from hf_symbinv import __version__
from hf_symbinv.cli import COMMANDS

ROOT = Path(__file__).parents[1]

project = "hf_symbinv"
author = "The hf_symbinv developers"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"hf_symbinv {__version__}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
# Docstrings write code between single backticks, as Markdown does.
default_role = "code"
highlight_language = "none"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_use_rtype = False
myst_heading_anchors = 2
# The notebook is run by its test, which keeps its outputs.
nb_execution_mode = "off"


def _name_files(app: Sphinx, path: Path, page: str, content: list[str]) -> None:
    """Links of README.md: to a page of these, they lead there; to another file of the repository, they are its name."""

    def name(link: re.Match[str]) -> str:
        text, file = link.groups()
        if text.startswith("docs/"):
            return f"[{title(ROOT / file)}]({file.removeprefix('docs/')})"
        return f"`{file}`" if text == file else f"{text} (`{file}`)"

    content[0] = re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:|#)([^)]+)\)", name, content[0])


def title(page: Path) -> str:
    """The first heading of a page."""
    return page.read_text(encoding="utf-8").partition("# ")[2].partition("\n")[0]


def _name_files_of_pages(app: Sphinx, page: str, content: list[str]) -> None:
    """Links from these pages to other files of the repository become the names of the files."""

    def name(link: re.Match[str]) -> str:
        text, file = link.groups()
        return f"`{file}`" if text == file.removeprefix("../") else f"{text} (`{file}`)"

    content[0] = re.sub(r"(?<!!)\[([^]]+)\]\(\.\./((?!docs/)[^)]+)\)", name, content[0])


def _keep_numbers_whole(app: Sphinx, page: str, content: list[str]) -> None:
    """No line ends before a percent sign or inside of an interval, (87.1 – 91.0)."""
    space, joiner = "\N{NO-BREAK SPACE}", "\N{WORD JOINER}"
    content[0] = re.sub(r"(\d) %", rf"\1{space}%", content[0])
    content[0] = re.sub(r"\((-?[\d.]+) – (-?[\d.]+)\)", rf"(\1{space}–{joiner}{space}\2)", content[0])


def _add_commands(app: Sphinx, page: str, content: list[str]) -> None:
    """The help of every command, from its parser, at the end of the page of commands."""
    if page == "commands":
        for command in COMMANDS:
            parser = importlib.import_module(f"hf_symbinv.cli.{command}").parser()
            content[0] += "".join(f"\n## {one.prog}\n\n```text\n{one.format_help()}```\n" for one in _parsers(parser))


def _parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """A command's parser and those of its own commands, such as `symbinv task new`."""
    parsers = [parser]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            parsers += [one for one in action.choices.values() if isinstance(one, argparse.ArgumentParser)]
    return parsers


def _leave_out_inherited(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Of a configuration its own fields; transformers gives every configuration a dozen more."""
    if what != "class" or not issubclass(value, PreTrainedConfig):
        return None
    own = inspect.get_annotations(value)
    fields = [f"{field}={one.default!r}" for field, one in inspect.signature(value).parameters.items() if field in own]
    return f"({', '.join(fields)})", returned


def _size_pictures(app: Sphinx, tree: nodes.document) -> None:
    """The papers' pictures have 200 dots an inch: text of 10 points is then as large as the page's own."""
    for image in tree.findall(nodes.image):
        if "papers/results" in image["uri"]:
            width = int.from_bytes((ROOT / "docs" / image["uri"]).read_bytes()[16:20], "big")
            image["width"], image["classes"] = f"{width * 96 // 200}px", ["wide"]


def setup(app: Sphinx) -> None:
    # Help texts are as wide as the pages show them without a bar.
    os.environ["COLUMNS"] = "80"
    app.connect("include-read", _name_files)
    app.connect("source-read", _name_files_of_pages)
    app.connect("source-read", _keep_numbers_whole)
    app.connect("source-read", _add_commands)
    app.connect("autodoc-process-signature", _leave_out_inherited)
    app.connect("doctree-read", _size_pictures)
