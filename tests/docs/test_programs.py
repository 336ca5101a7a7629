"""README.md and the pages of the documentation show what their programs and commands print, and what was measured."""

import contextlib
import functools
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from hf_symbinv.cli import COMMANDS, main
from papers.__main__ import main as papers

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
# What a program names that only a checkout has.
IN_CHECKOUT = re.compile(r"\bpapers[./]|\b(?:from|import) papers\b|examples/")
# The commands that spend seconds on importing what this process has imported. One that loads a task from a user's file
# is not among them: it leaves the file's folder on the module path.
HEAVY = re.compile(r"symbinv (?:solve|evaluate|plot|data) (?!.*\.py\b)")


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


def printed(command, folder=ROOT, **environment):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    given = {**os.environ, "PATH": path, **environment}
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=given, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.fixture
def printed_here(tmp_path, monkeypatch):
    """`printed_here(function, folder)`: exit code and output of a function, which is called in this process."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TQDM_DISABLE", "1")  # `symbinv` sets it, and would for every test that follows

    def call(function, folder):
        monkeypatch.chdir(folder)
        with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                code = function()
            except SystemExit as exit_:
                code = exit_.code
        return code, output.getvalue(), errors.getvalue()

    return call


@pytest.fixture
def shell(tmp_path, printed_here):
    """`shell(line)`: exit code and output of a line, in bash, but for its `symbinv` if that is HEAVY."""
    environment = {**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # `papers` is no part of the package.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

    def bash(line, text=None):
        result = subprocess.run(
            ["bash", "-c", line], input=text, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return result.returncode, result.stdout, result.stderr

    def run(line):
        if not HEAVY.match(line):
            return bash(line)
        command, *rest = re.split(r" \| (?=(?:grep|head|tail) )", line.replace("\\\n", " "))
        code, output, errors = printed_here(lambda: main(shlex.split(command)[1:]), tmp_path)
        if rest:
            code, output, _ = bash(" | ".join(rest), output)
        return code, output, errors

    return run


def test_the_readme_can_be_read_in_one_go():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 110
    (results,) = re.findall(r"(?:^\|.*\n)+", "\n".join(lines), re.M)
    assert len(results.splitlines()) - 2 <= 6


def commands_of(block):
    """The `symbinv` commands of a block: those of a session, or of a block that holds commands alone."""
    lines = block.content.replace("\\\n", " ").splitlines()
    prompt = "$ " if block in SESSIONS else ""
    found = (re.match(rf"{re.escape(prompt)}(?:HF_SYMBINV_\w+=\S+ )?(symbinv .*)", line) for line in lines)
    return [match[1] for match in found if match]


@pytest.mark.slow
@pytest.mark.parametrize(("program", "following"), PROGRAMS, ids=[program.page for program, _ in PROGRAMS])
def test_a_program_prints_the_block_that_follows_it_if_it_prints(program, following, tmp_path, printed_here):
    """Outside of a checkout, unless it needs what only a checkout has; those of the README never do.

    The README's have a process of their own, and nothing but what is installed.
    """
    in_checkout = IN_CHECKOUT.search(program.content) is not None
    (tmp_path / "empty").mkdir()
    folder = ROOT if in_checkout else tmp_path / "empty"
    if program.page == README.name:
        assert not in_checkout
        output = printed([sys.executable, "-W", "ignore", "-c", program.content], folder)
    else:
        code = compile(program.content, program.page, "exec")
        _, output, _ = printed_here(lambda: exec(code, {"__name__": "__main__"}), folder)
    assert not output or output == following.content


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({session.page for session in SESSIONS}))
def test_the_sessions_of_a_page_show_what_follows_each_prompt(page, tmp_path, shell):
    """In one folder, from top to bottom, with the files that the page shows; of a command that fails, its message."""
    for block in (block for block in BLOCKS if block.page == page):
        if file := CAPTION.match(block.content):
            (tmp_path / file[1]).write_text(block.content[file.end() :], encoding="utf-8")
        for part in re.split(r"^\$ ", block.content, flags=re.M)[1:] if block in SESSIONS else ():
            command = re.match(r"(?:.*\\\n)*.*\n", part)[0]
            code, output, errors = shell(command)
            assert (output if code in (0, 1) else errors) == part.removeprefix(command), errors[-2000:]


COMMAND_LINES = sorted({command for block in BLOCKS for command in commands_of(block)})
# Blocks of commands without a prompt: trainings, data of full size, and what needs the Hub or a page's own files.
LISTED = [
    line
    for block in BLOCKS
    if block.kind == "" and re.match(r"(symbinv|accelerate|python|make|HF_SYMBINV_\w+=\S+ symbinv) ", block.content)
    for line in block.content.replace("\\\n", " ").splitlines()
    if line
]
PROGRAM_LINES = sorted({line for line in LISTED if re.match("accelerate|python", line)})
DATA_LINES = sorted({line for line in LISTED if re.match(r"symbinv data --(output|task)", line)})


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


def test_every_listed_command_is_one_that_is_looked_at():
    """By the test above, or by one of those below."""
    for line in LISTED:
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.M), line
        else:
            bare = re.sub(r"^HF_SYMBINV_\w+=\S+ ", "", line)
            assert bare in COMMAND_LINES or line in PROGRAM_LINES, line


@functools.cache
def options_of_program(launched):
    """Of a module that `python -m` runs, or of a script, in this process."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as output:
        patch.setattr(sys, "argv", [launched, "--help"])
        with pytest.raises(SystemExit):
            if launched.endswith(".py"):
                patch.syspath_prepend((ROOT / launched).parent)  # as `python` does
                runpy.run_path(str(ROOT / launched), run_name="__main__")
            else:
                runpy.run_module(launched, run_name="__main__", alter_sys=True)
    told = output.getvalue()
    return set(re.findall(r"--[a-z][a-z-]*", told))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another test has imported the program
@pytest.mark.parametrize("line", PROGRAM_LINES)
def test_every_program_that_is_launched_has_the_options_that_are_shown(line):
    launched, *words = shlex.split(
        re.sub(r"^(accelerate launch -m|accelerate launch|python -m|python) ", "", line), comments=True
    )
    assert {word for word in words if word.startswith("--")} <= options_of_program(launched)


@pytest.mark.slow
def test_every_table_that_is_shown_can_be_made(capsys):
    assert papers(["--list"]) == 0
    listed = set(re.findall(r"^(\S+)", capsys.readouterr().out, re.M))
    shown = {
        table
        for page in PAGES
        for names in re.findall(r"python -m papers ((?:[a-z]+-[\w-]+ ?)+)", page.read_text(encoding="utf-8"))
        for table in names.split()
    }
    assert shown and shown <= listed


@pytest.mark.slow
@pytest.mark.parametrize("line", DATA_LINES)
def test_every_command_that_makes_data_makes_them_at_a_small_size(line, tmp_path, shell):
    for place in (tmp_path, tmp_path / "examples"):
        place.mkdir(exist_ok=True)
        shutil.copy(ROOT / "examples" / "graph_colouring.py", place)
    small = re.sub(r"--rows \d+", "--rows 100", line)
    small = re.sub(r"--num-symbols 10 --max-size 50 --per-cell 20", "--num-symbols 2 --max-size 5 --per-cell 1", small)
    code, _, errors = shell(small)
    assert code == 0, errors[-2000:]
    assert list((tmp_path / re.search(r"--output (\S+)", line)[1]).rglob("*.parquet"))


def relative_links(page):
    found = re.findall(
        r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    )
    return [link.partition("#")[0] for link in found if not re.match(r"https?:|#", link)]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_to_a_file_leads_to_one(page):
    assert not [link for link in relative_links(page) if not (page.parent / link).exists()]


def test_the_tree_names_files_and_folders_that_are_there():
    tree = next(block.content for block in blocks_of(README) if block.content.startswith("modeling/"))
    folder, named = "", []
    for line in tree.splitlines():
        indented, paths = line.startswith(" "), re.split(r"\s{2,}", line.strip())
        words = [path for path in (paths if len(paths) == 1 or paths[-1].endswith("/") else paths[:-1]) if path]
        folder = folder if indented else words[0]
        named += [ROOT / (folder if indented else "") / word for word in words]
    assert named and not [path for path in named if not path.exists()]
    assert {path.name for path in named} >= {"generation_symbinv.py", "ltl.py", "loss_symbinv.py"}


def test_every_extra_that_is_asked_for_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    asked = {name for text in texts.values() for found in re.findall(r"(?:\.|\.whl|hf_symbinv)\[(\w[\w,]*)\]", text)
             for name in found.split(",")}  # fmt: skip
    assert asked <= set(extras)
    listed = re.findall(r"^\| `(\w+)` \|", texts[ROOT / "docs" / "installation.md"], re.M)
    assert set(listed) == set(extras) - {"docs", "dev", "test"}


NUMBER = r"(-?\d[\d.]*)"
# 89.2 % (87.1 – 91.0), as pages and tables write a number and its interval, and as cards do, in cells.
INTERVALS = (rf"{NUMBER}(?: %)? \({NUMBER} ?[-–] ?{NUMBER}(?: %)?\)", rf"{NUMBER} % \| {NUMBER} [-–] {NUMBER} %")


def intervals_of(text):
    """(number, lowest, highest), also of shares in percent as parts of 1."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    found = {tuple(map(float, number)) for pattern in INTERVALS for number in re.findall(pattern, text)}
    return found | {tuple(round(part / 100, 3) for part in number) for number in found}


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "results.md"], ids=["README.md", "results.md"])
def test_every_number_with_an_interval_was_measured(page):
    """It stands, with its interval, in a table of the papers, on a bundled checkpoint's card, or in a benchmark."""
    cards = (ROOT / "hf_symbinv" / "checkpoints").glob("*/README.md")
    tables = [*(ROOT / "papers" / "results").glob("*.md"), *cards]
    measured = set().union(*(intervals_of(table.read_text(encoding="utf-8")) for table in tables))
    speeds = intervals_of((ROOT / "benchmarks" / "results" / "speed-cpu" / "spot.md").read_text(encoding="utf-8"))
    measured |= {tuple(round(100 * part) for part in speed) for speed in speeds}
    shown = {tuple(map(float, number)) for number in re.findall(INTERVALS[0], page.read_text(encoding="utf-8"))}
    assert len(shown) > 10 and not shown - measured
