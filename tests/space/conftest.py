"""The demo's modules importable, its models loaded once, its page served once, and a browser for it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

SPACE = Path(__file__).resolve().parents[2] / "examples" / "space"
sys.path.insert(0, str(SPACE))  # app.py finds its neighbours in the same way when it is run

# A Space has no settings but these; the audit hook writes down every address that the server turns to.
SERVER = """
import runpy, sys

def note(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        print("TURNS TO", arguments[1][0], flush=True)
    elif event == "socket.getaddrinfo":
        print("TURNS TO", arguments[0], flush=True)

sys.addaudithook(note)
sys.path.insert(0, sys.argv[1])
runpy.run_path(sys.argv[1] + "/app.py", run_name="__main__")
"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# No connections of the browser's own, which would hide those of the page.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


class Site(NamedTuple):
    url: str
    lines: list[str]  # what the server has printed so far


@pytest.fixture(scope="session")
def busy_formula():
    """A formula that Spot works on for eight seconds or more, and the model for a second."""
    return " U ".join(f"(a{i} | G b{i})" for i in range(8))


@pytest.fixture(scope="session")
def answering():
    from answering import Answering

    with Answering() as one:
        yield one


@pytest.fixture(scope="session")
def site():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(SPACE)],
        env={**os.environ, "GRADIO_SERVER_PORT": str(port), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    lines, ready = [], threading.Event()

    def read():
        for line in process.stdout:
            lines.append(line.rstrip())
            if "Running on local URL" in line:
                ready.set()
        ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert ready.wait(300), "the server has not started within five minutes"
    assert process.poll() is None, "\n".join(lines)
    yield Site(f"http://127.0.0.1:{port}/", lines)
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(30)
    reader.join(30)
    process.stdout.close()


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; the tests that need one fail without it, because nothing else shows that the page works."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail(
            "the page can only be tested in a browser: install Chromium, on Debian with "
            "`apt-get install --no-install-recommends chromium`"
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        yield one
        one.close()
