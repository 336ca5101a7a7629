"""The examples in the help texts show what the commands print.

After a change of the bundled checkpoint or of what a command prints,

    REFRESH_EXAMPLES=1 python -m pytest tests/cli/test_examples.py

writes the new output into the help texts.
"""

import importlib
import os
import shlex
import textwrap
from pathlib import Path

import pytest

from hf_symbinv.cli import COMMANDS
from hf_symbinv.cli.invariance import FUNCTION
from hf_symbinv.cli.plot import GRID

MODULES = ["hf_symbinv.cli", *(f"hf_symbinv.cli.{name}" for name in COMMANDS)]


def make_baseline():
    """A vanilla model of the paper's size, as `symbinv train` leaves one."""
    from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

    config = SymbolInvariantConfig.from_preset("ltl-baseline")
    SymbolInvariantForConditionalGeneration(config).save_pretrained("runs/baseline")
    LTL.tokenizer().save_pretrained("runs/baseline")


def make_tiny():
    """A small model, as save_pretrained leaves one."""
    from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

    config = SymbolInvariantConfig.from_preset("ltl", d_model=16, encoder_layers=1, decoder_layers=1, d_ff=24)
    SymbolInvariantForConditionalGeneration(config).save_pretrained("runs/tiny")
    LTL.tokenizer().save_pretrained("runs/tiny")


def write_sums():
    """A function that reads names, and texts that it is right about."""
    Path("words.py").write_text(textwrap.dedent(FUNCTION))
    Path("sums.jsonl").write_text("".join(
        f'{{"question": "{text}", "answer": "{text.split()[-1]}"}}\n' for text in ("y x", "total sum", "c b a")
    ))  # fmt: skip


# What an example takes from the reader's folder.
GIVEN = {
    "hf_symbinv.cli.plot": lambda: Path("grid.json").write_text(GRID),
    "hf_symbinv.cli.invariance": write_sums,
    "hf_symbinv.cli.convert": make_baseline,
    "hf_symbinv.cli.push": make_tiny,
    "hf_symbinv.cli.card": make_tiny,
}


def replay(session, symbinv):
    """A session with the output that its commands, the lines that begin with `$ symbinv`, print now."""
    lines = []
    for line in session.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line[2:])
            assert program == "symbinv"
            result = symbinv(*arguments)
            assert result.code in (0, 1), result.err
            lines += [line, *result.out.splitlines()]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_the_example_in_a_help_text_shows_what_the_command_prints(name, symbinv, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if name == "hf_symbinv.cli.push":
        request.getfixturevalue("hub")
    GIVEN.get(name, lambda: None)()
    module = importlib.import_module(name)
    printed = replay(module.EXAMPLE, symbinv)
    if "REFRESH_EXAMPLES" in os.environ:
        source = Path(module.__file__)
        text = source.read_text(encoding="utf-8")
        assert text.count(module.EXAMPLE) == 1
        source.write_text(text.replace(module.EXAMPLE, printed), encoding="utf-8")
    else:
        assert printed == module.EXAMPLE
