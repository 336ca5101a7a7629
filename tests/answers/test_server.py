"""The server answers real requests, refuses what is too much with a sentence, and outlives bad clients."""

import http.client
import json
import random
import socket
import threading
import time
from contextlib import closing, contextmanager

import pytest

from hf_symbinv.answers import AnswerServer, Portfolio
from hf_symbinv.answers.server import LONGEST_BODY, MOST_WAITING, USAGE

pytest.importorskip("spot")

# Spot works on its automaton for minutes.
HARD = " & ".join(f"(G F a{i} -> G F b{i})" for i in range(12)) + " & F(a0 & X(a1 & X !a2))"


@contextmanager
def serving(members, timeout):
    with Portfolio(members, timeout=timeout) as portfolio, AnswerServer(0, portfolio) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server():
    with serving(["spot", "bounded"], 10) as made:
        yield made


@pytest.fixture(scope="module")
def slow_server():
    """It takes three seconds for HARD."""
    with serving(["spot"], 3) as made:
        yield made


def ask(server, path, body, headers=()):
    """Status and content of the answer to one request."""
    with closing(http.client.HTTPConnection(*server.server_address, timeout=60)) as connection:
        connection.request("POST", path, body, dict(headers))
        reply = connection.getresponse()
        return reply.status, json.load(reply)


def raw(server, request):
    """What comes back for bytes that may be no request, until the server closes the connection."""
    with closing(socket.create_connection(server.server_address, timeout=60)) as connection:
        connection.sendall(request)
        return connection.makefile("rb").read()


def is_well(server):
    return ask(server, "/ltl", "F a")[1]["result"] == "satisfiable"


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/ltl", "G(request -> F grant)\r\nF request", {"result": "satisfiable", "found_by": "spot"}),
        ("/ltl", "x: F a; y: G !a; z: b", {"result": "unsatisfiable", "subset": ["x", "y"], "minimal": True}),
        ("/ltl", "traces finite\nG X[!] 1", {"result": "unsatisfiable", "finite": True}),
        ("/prop", "a & !b", {"result": "satisfiable", "witness": "a=1, b=0"}),
        ("/tlsf", "INFO {} MAIN { INPUTS { a; } OUTPUTS { b; } ASSERT { a && b; } }", {"result": "satisfiable"}),
        ("/cnf", "p cnf 2 2\n1 0\n-1 -2 0\n", {"result": "satisfiable", "model": [1, -2]}),
    ],
)
def test_the_answer_to_a_question_is_its_certificate(path, body, expected, server):
    status, content = ask(server, path, body)
    assert status == 200 and content["certificate"] == 1
    assert {key: content[key] for key in expected} == expected


def test_a_connection_may_ask_several_questions(server):
    with closing(http.client.HTTPConnection(*server.server_address, timeout=60)) as connection:
        for text in ("F a", "G a & F !a", "X b"):
            connection.request("POST", "/ltl", text)
            assert json.load(connection.getresponse())["specification"] == text


def test_how_to_ask_is_told(server):
    with closing(http.client.HTTPConnection(*server.server_address, timeout=60)) as connection:
        connection.request("GET", "/")
        assert "POST a specification to one of /ltl, /prop, /tlsf, /cnf" in json.load(connection.getresponse())["usage"]
    assert ask(server, "/", "F a") == (404, {"error": f"/: {USAGE}"})


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/ltl", "G(a", "1:4: expected ')' for the '(' at 1:2"),
        ("/ltl", "", "1:1: expected a formula, the text ends here"),
        ("/ltl", b"\xff", "not text in UTF-8 (invalid start byte at byte 0)"),
        ("/prop", "F a", "1:1: operator F: belongs to linear temporal logic"),
        ("/tlsf", "INFO {} GLOBAL {} MAIN {}", "1:9: GLOBAL belongs to the full form"),
        ("/cnf", "p cnf 1 1", "1: 0 clauses, where the line with p has 1"),
    ],
)
def test_what_is_no_question_is_refused_with_a_sentence(path, body, message, server):
    status, content = ask(server, path, body)
    assert status == 400 and content["error"].startswith(message)


def test_a_body_that_is_too_long_is_refused_before_it_is_read(server):
    status, content = ask(server, "/ltl", "a" * (LONGEST_BODY + 1))
    assert (status, content) == (413, {"error": "over 1,048,576 bytes; split the question"})
    head = b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"
    with closing(socket.create_connection(server.server_address, timeout=60)) as connection:
        connection.sendall(head % 10**30)
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    assert is_well(server)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (b"POST /ltl HTTP/1.1\r\nHost: localhost\r\n\r\n", b" 411 "),
        (b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nF a\r\n0\r\n\r\n", b" 411 "),
        (b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b" 411 "),
        (b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nContent-Length: \xb2\r\n\r\n", b" 411 "),
        (b"POST /ltl HTTP/1.1\r\nHost: evil.example:80\r\nContent-Length: 3\r\n\r\nF a", b" 403 "),
        (b"POST /ltl HTTP/1.1\r\nContent-Length: 3\r\n\r\nF a", b" 403 "),
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", b" 501 "),
        (b"POST /ltl HTTP/9.9\r\n\r\n", b"Invalid HTTP version (9.9)"),
        (b"nonsense\r\n\r\n", b"Bad request syntax"),
        (b"POST /ltl HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", b" 431 "),
    ],
)
def test_requests_that_are_none_are_refused(request_, told, server):
    reply = raw(server, request_)
    assert told in reply and b'"error"' in reply
    assert is_well(server)


def test_junk_does_not_end_the_server(server, capfd):
    rng = random.Random(0)
    for _ in range(30):
        raw(server, rng.randbytes(rng.randint(1, 300)) + b"\r\n\r\n")
        status, content = ask(
            server, rng.choice(["/ltl", "/prop", "/tlsf", "/cnf"]), rng.randbytes(rng.randint(0, 300))
        )
        assert status == 400 and content["error"].count("\n") == 0
        words = [*"GFab()&|;:U[]{}#p10-2", "->", '"', "\n", "cnf", "INFO", "MAIN", "INPUTS"]
        body = " ".join(rng.choice(words) for _ in range(rng.randint(1, 40)))
        assert ask(server, rng.choice(["/ltl", "/prop", "/tlsf", "/cnf"]), body)[0] in (200, 400)
    assert is_well(server) and "Traceback" not in capfd.readouterr().err


def test_of_many_at_once_some_wait_and_the_others_are_refused(slow_server):
    """One is answered, so many wait, and what is more is told to come back."""
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ask(slow_server, "/ltl", "F a"))) for _ in range(3 * MOST_WAITING)
    ]
    first = threading.Thread(target=ask, args=(slow_server, "/ltl", HARD))
    first.start()
    wait_for(lambda: slow_server.turn.locked())
    for thread in threads:
        thread.start()
    for thread in (first, *threads):
        thread.join()
    refused = [content for status, content in found if status == 503]
    assert len(found) == len(threads) and len(refused) == 2 * MOST_WAITING
    assert refused[0] == {"error": f"{MOST_WAITING} questions wait already; ask again later"}
    assert all(content["result"] == "satisfiable" for status, content in found if status == 200)


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("waits", [False, True])
def test_a_client_that_hangs_up_frees_its_place_at_once(waits, slow_server):
    """Its question would take three seconds, and another one waits for it."""
    head = b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b"
    connection = socket.create_connection(slow_server.server_address)
    connection.sendall(head % (len(HARD), HARD.encode()))
    wait_for(lambda: slow_server.turn.locked())
    if waits:
        behind = socket.create_connection(slow_server.server_address)
        behind.sendall(head % (len(HARD), HARD.encode()))
        wait_for(lambda: slow_server.places._value == MOST_WAITING - 1)
        behind.close()
    connection.close()
    wait_for(lambda: slow_server.places._value == MOST_WAITING + 1)
    assert is_well(slow_server)


def test_a_client_that_sends_half_a_body_and_goes_is_forgotten(server):
    connection = socket.create_connection(server.server_address)
    connection.sendall(b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nF a")
    connection.close()
    assert is_well(server)


def test_a_client_that_never_sends_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr("hf_symbinv.answers.server._Handler.timeout", 0.2)
    assert raw(server, b"POST /ltl HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nF a") == b""
    assert is_well(server)


def test_what_nobody_answers_in_time_is_unknown(slow_server):
    status, content = ask(slow_server, "/ltl", HARD)
    assert (status, content["result"]) == (200, "unknown")
