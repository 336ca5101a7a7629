"""The demo runs, fits a terminal, and shows that renaming the question renames the answer."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parent.parent.parent / "examples" / "demo.py"


@pytest.fixture(scope="module")
def made():
    """The lines of `make demo`, with the environment of these tests in place of .venv, which is left as it is."""
    command = ["make", "--no-print-directory", "--old-file=.venv/.installed-run", "demo"]
    command.append(f"BIN={Path(sys.executable).parent}")
    done = subprocess.run(command, cwd=DEMO.parents[1], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.slow
def test_it_prints_what_the_documentation_shows_of_the_bundled_checkpoint_and_most_answers_are_verified(made):
    lines = made[: made.index("  All answers agree with the renaming.") + 1]
    page = (DEMO.parents[1] / "docs" / "installation.md").read_text(encoding="utf-8")
    assert "\n```\n" + "\n".join(lines) + "\n```\n" in page
    assert lines[0].startswith("ltl-base: ") and max(map(len, lines)) <= 100
    verified, of = next(line for line in lines if line.endswith(" answers are verified.")).split()[:3:2]
    assert int(of) / 2 < int(verified) <= int(of)


@pytest.mark.slow
def test_make_demo_ends_with_commands_that_answer_a_question(made):
    activate, ask = made[-2:]
    asked = subprocess.run(["sh", "-c", f"{activate}\n{ask}"], capture_output=True, text=True, check=True)
    assert asked.stdout.startswith(shlex.split(ask)[-1]) and asked.stdout.endswith("verdict  correct\n")
