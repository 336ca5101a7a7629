"""README.md shows what its commands print."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Language and content of every block.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)


def printed(command: list[str]) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode in (0, 1), result.stderr[-2000:]
    return result.stdout


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows():
    shown = next(content for _, content in BLOCKS if "parameters, trained on" in content)
    assert printed([sys.executable, "examples/demo.py"]) == shown


@pytest.mark.slow
def test_python_blocks_run_and_print_the_block_that_follows_if_any():
    programs = [index for index, (language, _) in enumerate(BLOCKS) if language == "python"]
    assert len(programs) == 3
    for index in programs:
        output = printed([sys.executable, "-W", "ignore", "-c", BLOCKS[index][1]])
        if output:
            assert output == BLOCKS[index + 1][1]


@pytest.mark.slow
def test_shell_blocks_print_what_follows_the_prompt():
    sessions = [content for _, content in BLOCKS if content.startswith("$ ")]
    assert sessions
    for content in sessions:
        for part in re.split(r"^\$ ", content, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            assert printed(shlex.split(command)) == output
