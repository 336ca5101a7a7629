"""How Sphinx builds the documentation: `make docs`."""

import os
import re

# Building reads no network, and imports transformers for the docstrings.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from pathlib import Path

from sphinx.application import Sphinx

from hf_symbinv import __version__

project = "hf_symbinv"
author = "The hf_symbinv developers"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"hf_symbinv {__version__}"
html_show_copyright = False
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
    """Links of README.md to files of the repository, which these pages do not hold, become their names."""

    def name(link: re.Match[str]) -> str:
        text, file = link.groups()
        return f"`{file}`" if text == file else f"{text} (`{file}`)"

    content[0] = re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:|#)([^)]+)\)", name, content[0])


def setup(app: Sphinx) -> None:
    app.connect("include-read", _name_files)
