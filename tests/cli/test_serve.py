"""`symbinv serve` as a process of its own."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from hf_symbinv.cli import serve

pytest.importorskip("spot")

COMMAND = [sys.executable, "-m", "symbinv", "serve", "--without", "model"]


@pytest.fixture
def process():
    with subprocess.Popen(
        [*COMMAND, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Background jobs of a shell start with it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as started:
        yield started
        started.kill()


def ask(address, body):
    with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
        connection.request("POST", "/ltl", body)
        return json.load(connection.getresponse())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_prints_its_address_answers_and_ends_when_it_is_told(number, code, process):
    address = re.fullmatch(r"http://(127\.0\.0\.1:\d+)\n", process.stdout.readline())[1]
    assert ask(address, "G(request -> F grant)")["result"] == "satisfiable"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "") and "Traceback" not in err


def test_a_port_that_is_taken_is_one_sentence(symbinv):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = symbinv("serve", "--port", str(port))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"symbinv serve: --port {port}: Address already in use; choose another, or 0 for any\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "--port 70000: over 65535; use a smaller one"),
        (["--port", "-1"], "argument --port: '-1': must be an integer of at least 0"),
        (["--without", "spot", "--without", "bounded", "--without", "model"], "no member of the portfolio is left"),
    ],
)
def test_bad_usage_is_refused_with_a_sentence(arguments, message, symbinv):
    result = symbinv("serve", *arguments)
    assert result.code == 2 and message in result.err and "Traceback" not in result.err


def test_the_example_s_address_is_the_default():
    assert f"http://127.0.0.1:{serve.PORT}\n" in serve.EXAMPLE
