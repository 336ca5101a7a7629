"""The disk is full at any byte: a command ends with its work done, or with a sentence, and later with the same result.

The system lets no file of the command's processes grow beyond a size that is drawn. What was there before stays as it
was, or is replaced as a whole; without the limit the same command then leaves what it leaves on an empty disk.
"""

import contextlib
import json
import math
import resource
import shutil
import subprocess
import sys

import pytest

from hf_symbinv.errors import LONGEST

from .homes import SIZES, SLOW, made, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE ends a write with EFBIG on Linux alone")

# The words of a command are paths in the folder of the try.
COMMANDS = [
    ["data", *SIZES, "--output", "made"],
    ["data", "--from", "rows", "--output", "made", "--reduce", "5"],
    ["train", "recipe.yaml", "--data", "rows", "--output", "made"],
    ["train", "recipe.yaml", "--data", "rows", "--output", "unfinished"],
    ["evaluate", "run", "--data", "rows", "--rows", "4", "--output", "measured/tiny.json"],
    ["card", "run", "--output", "made"],
    ["plot", "heatmap", "measured/tiny.json", "--output", "made.svg"],
]
# Bytes of the largest file that a command writes, about: a limit above lets each one end.
LARGEST = 200_000
HANGS = 200


def limited(command, folder, size):
    """What a command said that could write files of at most so many bytes."""
    return subprocess.run(
        [sys.executable, "-m", "hf_symbinv.cli", *command], cwd=folder, capture_output=True, text=True, timeout=HANGS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )  # fmt: skip


def files(folder):
    """The bytes of each file, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def result(command, folder):
    """What a command left; of measurements all but how long they took."""
    if command[0] != "evaluate":
        return made(command, folder)
    report = json.loads((folder / command[-1]).read_text())
    return {key: value for key, value in report.items() if "seconds" not in key}


@pytest.fixture(scope="session")
def intact(home, tmp_path_factory):
    """What each command leaves where there is space."""
    results = []
    for command in COMMANDS:
        folder = tmp_path_factory.mktemp("intact") / "home"
        shutil.copytree(home, folder)
        with contextlib.chdir(folder):
            assert run(command) == 0, command
            results.append(result(command, folder.relative_to(folder)))
    return results


def test_a_full_disk_costs_no_work_and_is_said_in_a_sentence(attack, home, intact, capfd):
    for attempt in attack.tries(1):
        draw, folder = attempt.random, attempt.folder / "home"
        place = draw.randrange(len(COMMANDS))
        command, size = COMMANDS[place], int(math.exp(draw.uniform(0, math.log(LARGEST))))
        what = (" ".join(command), size)
        shutil.copytree(home, folder)
        found = limited(command, folder, size)
        assert "Traceback" not in found.stderr, (what, found.stderr)
        if found.returncode == 0:
            with contextlib.chdir(folder):
                assert result(command, folder.relative_to(folder)) == intact[place], what
            continue
        said = found.stderr.splitlines()
        assert found.returncode == 2 and said[-1].startswith((f"symbinv {command[0]}: ", "error: ")), (what, said)
        assert "the disk is full" in said[-1] and len(said[-1]) <= LONGEST + 50, (what, said)
        now = files(folder)
        for name, content in files(home).items():
            assert now.get(name) == content or command[0] == SLOW, (what, name)  # training removes old checkpoints
        with contextlib.chdir(folder):
            assert run(command) == 0, (what, capfd.readouterr())
            assert result(command, folder.relative_to(folder)) == intact[place], what
