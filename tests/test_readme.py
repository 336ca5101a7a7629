"""README.md and the pages of the documentation show what their programs and commands print."""

import contextlib
import functools
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from hf_symbinv.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Block(NamedTuple):
    """A fenced block: where it stands, its language or directive, and its content."""

    page: str
    kind: str
    content: str


def blocks_of(page):
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    return [Block(page.name, kind, content) for kind, content in found]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
# Every program, with the block that follows it.
PROGRAMS = [pair for pair in zip(BLOCKS, [*BLOCKS[1:], None], strict=True) if pair[0].kind == "python"]
# Every block that shows what is typed behind a prompt, and what comes back.
SESSIONS = [block for block in BLOCKS if block.content.startswith("$ ")]


# The head of a block that is the content of a file, {code-block} with its name as the caption.
CAPTION = re.compile(r":caption: (\S+)\n\n")


def printed(command, **environment):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PATH": path, **environment}, check=False
    )
    assert result.returncode in (0, 1), result.stderr[-2000:]
    return result.stdout


def commands_of(block):
    """The `symbinv` commands of a block: those of a session, or of a block that holds commands alone."""
    lines = block.content.replace("\\\n", " ").splitlines()
    prompt = "$ " if block in SESSIONS else ""
    return [line.removeprefix(prompt) for line in lines if line.startswith(f"{prompt}symbinv ")]


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows():
    shown = next(block.content for block in BLOCKS if "parameters, trained on" in block.content)
    assert printed([sys.executable, "examples/demo.py"]) == shown


@pytest.mark.slow
@pytest.mark.parametrize(("program", "following"), PROGRAMS, ids=[program.page for program, _ in PROGRAMS])
def test_a_program_prints_the_block_that_follows_it_if_it_prints(program, following, tmp_path):
    output = printed([sys.executable, "-W", "ignore", "-c", program.content], HF_DATASETS_CACHE=str(tmp_path))
    assert not output or output == following.content


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({session.page for session in SESSIONS}))
def test_the_sessions_of_a_page_show_what_follows_each_prompt(page, tmp_path):
    """In one folder, from top to bottom, with the files that the page shows; of a command that fails, its message."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    for block in (block for block in BLOCKS if block.page == page):
        if file := CAPTION.match(block.content):
            (tmp_path / file[1]).write_text(block.content[file.end() :], encoding="utf-8")
        for part in re.split(r"^\$ ", block.content, flags=re.M)[1:] if block in SESSIONS else ():
            command = re.match(r"(?:.*\\\n)*.*\n", part)[0]
            result = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            shown = result.stdout if result.returncode in (0, 1) else result.stderr
            assert shown == part.removeprefix(command), result.stderr[-2000:]


COMMAND_LINES = sorted({command for block in BLOCKS for command in commands_of(block)})


@functools.cache
def options_of(command):
    with contextlib.redirect_stdout(io.StringIO()) as output, pytest.raises(SystemExit):
        main([command, "--help"])
    return set(re.findall(r"--[a-z][a-z-]*", output.getvalue()))


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_every_command_that_is_shown_names_options_that_exist(line):
    _, command, *words = shlex.split(line)
    assert command in COMMANDS
    assert {word for word in words if word.startswith("--")} <= options_of(command)
