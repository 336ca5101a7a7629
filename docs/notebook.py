"""Runs the quickstart from top to bottom and keeps what it prints.

python docs/notebook.py [OUTPUT]
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # Without times, so that running it again changes nothing.
    NotebookClient(notebook, record_timing=False, coalesce_streams=True, timeout=300).execute()
    # A Python version is that of a machine.
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, sys.argv[1] if len(sys.argv) > 1 else NOTEBOOK)


if __name__ == "__main__":
    main()
