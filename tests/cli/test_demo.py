"""The demo runs, fits a terminal, and shows that renaming the question renames the answer."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parent.parent.parent / "examples" / "demo.py"


def lines_of_demo(*arguments):
    command = [sys.executable, str(DEMO), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


@pytest.mark.slow
def test_it_runs_on_the_bundled_checkpoint_and_most_answers_are_verified():
    lines = lines_of_demo()
    assert lines[0].startswith("ltl-small: ") and max(map(len, lines)) <= 100
    assert lines[-1] == "  All ids agree with the renaming."
    verified, of = next(line for line in lines if line.endswith(" answers are verified.")).split()[:3:2]
    assert int(of) / 2 < int(verified) <= int(of)


@pytest.mark.slow
def test_make_demo_ends_with_commands_that_answer_a_question():
    """With the environment of these tests in place of .venv, and its installation left as it is."""
    command = ["make", "--old-file=.venv/.installed-run", f"BIN={Path(sys.executable).parent}", "demo"]
    made = subprocess.run(command, cwd=DEMO.parents[1], capture_output=True, text=True, check=True)
    activate, ask = made.stdout.splitlines()[-2:]
    asked = subprocess.run(["sh", "-c", f"{activate}\n{ask}"], capture_output=True, text=True, check=True)
    assert asked.stdout.startswith(shlex.split(ask)[-1]) and asked.stdout.endswith("verdict  correct\n")


@pytest.mark.slow
def test_it_is_honest_about_a_checkpoint_that_knows_little(checkpoint):
    lines = lines_of_demo(checkpoint)
    assert max(map(len, lines)) <= 100 and lines[-1] == "  All ids agree with the renaming."
    assert sum("  not verified: " in line for line in lines) > sum("  verified by Spot" in line for line in lines)
