"""Bad usage of a command is refused in a sentence that names value, rule and remedy, and nothing is made."""

import importlib
import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from hf_symbinv.cli import COMMANDS
from hf_symbinv.datasets_scripts.storage import Pair, write_split
from hf_symbinv.tasks import LTL

ROWS = yaml.safe_load(Path(__file__).with_name("bad_usage.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path, monkeypatch, checkpoint):
    """The current folder, with what the arguments name."""
    monkeypatch.chdir(tmp_path)
    Path("MODEL").symlink_to(checkpoint)
    Path("DATA", "data").mkdir(parents=True)
    write_split(LTL, Path("DATA"), "test", [Pair("Xa", "1;a;{1}")], "spot")
    Path("EMPTY").mkdir()
    Path("FILE.csv").write_text("question,answer\n" + "".join(f"swap {'a ' * n}b,done b\n" for n in range(1, 20)))
    Path("spec.ltl").write_text("G F a")
    Path("spec.tlsf").write_text("INFO { SEMANTICS: Mealy }\nMAIN { INPUTS { a; } GUARANTEE { a; } }")
    Path("there.py").write_text("import sys\nnothing\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "arguments", "message"), [(command, *row) for command, rows in ROWS.items() for row in rows]
)
def test_bad_usage_is_refused_with_a_sentence(command, arguments, message, symbinv, folder):
    before = {*os.listdir()}
    result = symbinv(command, *shlex.split(arguments))
    assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err
    assert {*os.listdir()} - {"__pycache__"} == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_option_is_told_the_one_that_was_meant(command, symbinv):
    parser = importlib.import_module(f"hf_symbinv.cli.{command}").parser()
    options = {*re.findall(r"--[\w-]+", parser.format_usage())} - {"--help"}
    for option in options:
        result = symbinv(command, f"{option}x=3")
        assert result.code == 2 and f"{option}x: no option; did you mean {option}?" in result.err
