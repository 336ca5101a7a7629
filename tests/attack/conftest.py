"""Attacks: tests that throw random damage at the package, in as many tries as there is time for.

Try N of an attack draws from the seed, the name of the attack and N alone, so it can be repeated without those before
it. A failure prints both: `ATTACK_SEED=7 ATTACK_TRY=12 pytest tests/attack/test_….py -k …` repeats that try.

ATTACK_SEED      the seed; 0 where none is given, so that the suite finds the same on every machine
ATTACK_SECONDS   of all attacks together, shared equally; where it is not given, an attack has its short number of tries
ATTACK_TRY       the number of the only try
"""

import itertools
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from .homes import make_home

SEED = os.environ.get("ATTACK_SEED", "0")
# The property of a report that counts tries; such properties come through from the processes of xdist.
TRIES = "tries"


class Try(NamedTuple):
    """One try of an attack.

    Attributes:
        random: What it draws from.
        folder: Empty, and removed after the try.
    """

    random: random.Random
    folder: Path


class Attack:
    """What an attack is given.

    Args:
        name: Of the test.
        folder: In which the folders of the tries are made.
        seconds: Of this attack; None for its short number of tries.
    """

    def __init__(self, name: str, folder: Path, seconds: float | None):
        self.name, self.folder, self.seconds = name, folder, seconds
        self.count, self.last = 0, 0

    def tries(self, short: int) -> Iterator[Try]:
        """The tries: `short` of them, or as many as begin in the seconds of the attack."""
        only = os.environ.get("ATTACK_TRY")
        end = None if self.seconds is None else time.monotonic() + self.seconds
        for number in itertools.count() if only is None else [int(only)]:
            if only is None and (number >= short if end is None else time.monotonic() >= end):
                return
            folder = self.folder / f"try-{number}"
            folder.mkdir()
            self.count += 1
            self.last = number
            yield Try(random.Random(f"{SEED} {self.name} {number}"), folder)
            shutil.rmtree(folder)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small one of everything that commands read; nobody writes into it."""
    folder = tmp_path_factory.mktemp("home")
    make_home(folder)
    return folder


@pytest.fixture
def attack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attack]:
    """`for attempt in attack.tries(20)`: the tries of this attack."""
    seconds = os.environ.get("ATTACK_SECONDS")
    share = None
    if seconds is not None:
        attacks = sum("attack" in getattr(item, "fixturenames", ()) for item in request.session.items)
        share = float(seconds) * int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) / attacks
    made = Attack(request.node.name, tmp_path, share)
    yield made
    print(f"the last try: ATTACK_SEED={SEED} ATTACK_TRY={made.last}")  # shown if it failed
    request.node.user_properties.append((TRIES, made.count))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How often each attack tried."""
    reports = itertools.chain.from_iterable(terminalreporter.stats.values())
    counts = {
        report.nodeid: count
        for report in reports
        for name, count in getattr(report, "user_properties", ())
        if name == TRIES and report.when == "teardown"
    }
    if counts:
        terminalreporter.section(f"attacks of seed {SEED}")
        for name, count in sorted(counts.items()):
            terminalreporter.write_line(f"{count:>8,} tries  {name}")
