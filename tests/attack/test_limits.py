"""Tasks that want all time and memory: each command ends at its limit, and no process stays behind.

Methods of tasks hang, eat memory, die, start processes, or return something else than they should.
"""

import contextlib
import os
import threading
import time
from pathlib import Path

import pytest

from hf_symbinv.cli import main
from hf_symbinv.errors import LONGEST
from hf_symbinv.solvers.worker import LONGEST_TRACEBACK

from .homes import SIZES

MARK = "HF_SYMBINV_TEST_OF_LIMITS"
# Seconds and GB of a call.
TIMEOUT, MEMORY = 1.0, 0.5
# GB that a worker has before it computes anything, at most.
LOADED = 0.4


def marked(mark):
    """The processes that were started after this mark was put into the environment, but for this one."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            try:
                environment, state = (path / "environ").read_bytes(), (path / "stat").read_text().rpartition(")")[2]
            except OSError:
                continue
            if mark in environment and state.split()[0] != "Z":
                found.append(path)
    return found


class Watch:
    """Looks at the processes that are started inside of a `with` block.

    Attributes:
        largest: The most memory that one of them had, in GB.
        pause: The longest time, in seconds, in which a thread of this process that wanted to run could not: what a busy
            machine adds to each limit.
    """

    def __init__(self):
        self.largest = self.pause = 0.0

    def __enter__(self):
        self.mark = f"{time.monotonic_ns()}".encode()
        os.environ[MARK] = self.mark.decode()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        del os.environ[MARK]

    def look(self):
        last = time.monotonic()
        while not self.over.wait(0.05):
            now = time.monotonic()
            self.pause, last = max(self.pause, now - last), now
            for path in marked(self.mark):
                try:
                    pages = int((path / "statm").read_text().split()[1])
                except (OSError, IndexError):
                    continue
                self.largest = max(self.largest, pages * os.sysconf("SC_PAGESIZE") / 1e9)

    def left(self):
        """The processes that stay, after a moment in which the kernel ends them."""
        end = time.monotonic() + 10
        while (found := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.02)
        return found


TASK = """
import os
import re
import signal
import subprocess
import sys
import threading
import time

from hf_symbinv.tasks.copying import CopyTask


class Hostile(CopyTask):
    name = "hostile"

    def METHOD(self, *arguments):
        BODY
        return super().METHOD(*arguments)


TASK = Hostile()
"""
PRINTED = "printed" * 10**4
EVIL = {
    "sleeps": "time.sleep(10**6)",
    "spins": "while True: pass",
    "spins in C": "re.match('(a+)+$', 'a' * 60 + 'b')",
    "eats": "held = []\n        while True: held.append(b'x' * 10**6)",
    "eats at once": "held = b'x' * 10**11",
    "recurses": "self.METHOD(*arguments)",
    "raises": "raise draw",
    "raises at length": "raise ValueError('x' * 2 * 10**6)",
    "raises many lines": "raise ValueError('x\\n' * 10**6)",
    "raises memory": "raise MemoryError",
    "misses a library": "import no_such_library",
    "leaves": "sys.exit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "ends": "os._exit(0)",
    "dies": "os.kill(os.getpid(), signal.SIGSEGV)",
    "starts a process": "subprocess.Popen(['sleep', '600'])",
    "forks": "os.fork() or time.sleep(600)",
    "starts a thread": "threading.Thread(target=time.sleep, args=(600,)).start()",
    "closes files": "os.closerange(3, 100)",
    "prints": f"print('{PRINTED}')",
    "writes to files": "[os.write(int(name), b'x' * 99) for name in os.listdir('/dev/fd') if 2 < int(name) < 9]",
}
JUNK = [
    "None", "True", "-1", "3.5", "10**30", "float('nan')", "''", "'x' * 10**6", "b'a'", "[]", "[None]", "['a', 3]",
    "['\\ud800']",
    "{'a': 1}", "('correct',)", "('correct', None)", "('perfect', '')", "('incorrect', 'x' * 10**6)", "iter(['ab'])",
    "lambda: 1", "object()", "[['a']]", "['x' * 10**6]", "['a' * n for n in range(2000)]", "self", "os", "range(10**9)",
]  # fmt: skip
METHODS = ["draw", "prepare", "solve", "judge"]
# Of what they return alone: these two are asked in this process.
MEASURES = ["size", "symbols"]
COMMANDS = [
    ["data", "--output", "made", *SIZES[2:]],
    ["verify", "ab", "ab"],
    ["solve", "--model", "tiny", "ab"],
    ["task", "check", "--questions", "5"],
]


@pytest.fixture
def low(monkeypatch):
    """Limits that no option sets, low enough to wait for."""
    monkeypatch.setattr("hf_symbinv.solvers.pool.PREPARE_SECONDS", 20.0)
    monkeypatch.setattr("hf_symbinv.datasets_scripts.questions.sampling.DRAW_SECONDS", 3.0)
    monkeypatch.setattr("hf_symbinv.datasets_scripts.questions.rounds.FRUITLESS_ROUNDS", 1)
    monkeypatch.setattr("hf_symbinv.tasks.contract.DRAW_SECONDS", 3.0)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A model for copies."""
    from hf_symbinv import COPY, SymbolInvariantForConditionalGeneration

    folder = tmp_path_factory.mktemp("limits") / "tiny"
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 8}
    model = SymbolInvariantForConditionalGeneration(COPY.config(**sizes))
    model.generation_config.max_new_tokens = 4
    model.save_pretrained(folder)
    COPY.tokenizer().save_pretrained(folder)
    return folder


def hostile(draw):
    """A method, and what it does before or instead of its work."""
    if draw.random() < 0.35:
        return draw.choice(METHODS[:1] + METHODS[2:] + MEASURES), f"return {draw.choice(JUNK)}"
    if draw.random() < 0.1:
        return "size", EVIL[draw.choice(["raises", "raises at length", "raises many lines"])]
    return draw.choice(METHODS), EVIL[draw.choice(sorted(EVIL))]


def test_a_hostile_task_ends_no_command_late_and_leaves_nothing(attack, low, tiny, capfd, caplog):
    for attempt in attack.tries(3):
        draw = attempt.random
        method, body = hostile(draw)
        name = f"hostile_{draw.randrange(10**12)}.py"  # a module is imported once
        (attempt.folder / name).write_text(TASK.replace("BODY", body).replace("METHOD", method))
        (attempt.folder / "tiny").symlink_to(tiny)
        command = list(draw.choice(COMMANDS))
        command += [name] if command[0] == "task" else ["--task", name]
        command += ["--timeout", f"{TIMEOUT:g}", "--memory", f"{MEMORY:g}"]
        what = (" ".join(command[:2]), method, body)
        capfd.readouterr()
        caplog.clear()
        with contextlib.chdir(attempt.folder), Watch() as watch:
            started = time.monotonic()
            try:
                code = main(command)
            except SystemExit as exit_:
                code = exit_.code or 0
            seconds = time.monotonic() - started
            left = watch.left()
        said = capfd.readouterr()
        assert code in (0, 1, 2), what
        sentences = [line for line in said.err.splitlines() if line.startswith((f"symbinv {command[0]}: ", "error: "))]
        assert code != 2 or sentences, (what, said)
        assert max(map(len, sentences), default=0) <= LONGEST + 50, what
        # What a task prints is its author's, and goes to the error stream as it is.
        shown = (said.err + caplog.text.removesuffix("\n")).replace(PRINTED, "")
        assert len(shown) <= LONGEST_TRACEBACK + 3 * LONGEST, (what, len(shown))
        assert not left, what
        assert seconds < 120 + 10 * watch.pause, (what, seconds)
        assert watch.largest < MEMORY + LOADED + watch.pause, (what, watch.largest)
