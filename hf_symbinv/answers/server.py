"""A small server on this machine that answers questions by HTTP, and keeps the portfolio's processes warm.

A question is the body of a `POST` to `/ltl`, `/prop`, `/tlsf` or `/cnf`, as a file of that kind has it; the answer is
its certificate. Questions are answered one after the other. Bodies and questions that wait are bounded, and what
is beyond a bound is refused with a sentence. Nothing that comes in is run.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hf_symbinv.answers.certificates import certify
from hf_symbinv.answers.clauses import Clauses, answer_clauses, certify_clauses, read_dimacs
from hf_symbinv.answers.portfolio import Portfolio
from hf_symbinv.answers.specification import Specification, SpecificationError, read_specification
from hf_symbinv.answers.tlsf import read_tlsf
from hf_symbinv.errors import explain

HOST = "127.0.0.1"
# Bytes of a question. Our choice: some hundred pages.
LONGEST_BODY = 1 << 20
# Questions that wait while one is answered. Our choice: more than the editors of one person ask.
MOST_WAITING = 16
# Seconds in which a client must send what it has begun to send, or ask again.
PATIENCE = 10.0
# Bytes of a body that is too long which are read and forgotten, so that the client hears why it is refused.
FORGOTTEN = 16 * LONGEST_BODY


class HungUpError(Exception):
    """The client went away before its answer was there."""


KINDS: dict[str, Callable[[str], Specification | Clauses]] = {
    "/ltl": read_specification,
    "/prop": partial(read_specification, propositional=True),
    "/tlsf": read_tlsf,
    "/cnf": read_dimacs,
}
USAGE = f"POST a specification to one of {', '.join(KINDS)}; the answer is its certificate"


class AnswerServer(ThreadingHTTPServer):
    """Serves until `shutdown`; a thread for each connection, and one question at a time for the portfolio.

    Args:
        port: Of this machine; 0 for any that is free. OSError if it is not free.
        portfolio: Answers the questions, within its limits.
    """

    daemon_threads = True
    request_queue_size = 4 * MOST_WAITING

    def __init__(self, port: int, portfolio: Portfolio) -> None:
        self.portfolio = portfolio
        self.places = threading.Semaphore(MOST_WAITING + 1)
        self.turn = threading.Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of the server; all others keep their traceback."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError, HungUpError)):
            super().handle_error(request, client_address)

    @contextmanager
    def turn_of(self, look: Callable[[], None]) -> Iterator[bool]:
        """The turn of a question, for which it waits; False if too many wait already. What `look` raises ends both."""
        if not self.places.acquire(blocking=False):
            yield False
            return
        try:
            while not self.turn.acquire(timeout=0.1):
                look()
            try:
                look()
                with self.portfolio.watched(look):
                    yield True
            finally:
                self.turn.release()
        finally:
            self.places.release()

    def certificate(self, question: Specification | Clauses) -> dict[str, Any]:
        """The certificate of the answer to a question, as JSON has it."""
        if isinstance(question, Clauses):
            return certify_clauses(answer_clauses(question, self.portfolio))
        return certify(self.portfolio.answer(question), self.portfolio)


class _Handler(BaseHTTPRequestHandler):
    """One connection, which may ask several questions."""

    server: AnswerServer
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    # Headers and body are two packets, and the second would wait for the client's word on the first: some 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.reply(HTTPStatus.OK if self.path == "/" else HTTPStatus.NOT_FOUND, {"usage": USAGE})

    def do_POST(self) -> None:
        body = self.body()
        if body is None:
            return
        if self.path not in KINDS:
            self.refuse(HTTPStatus.NOT_FOUND, f"{self.path[:100]}: {USAGE}")
            return
        try:
            text = body.decode("utf-8").replace("\r\n", "\n")
            with self.server.turn_of(self.look) as is_mine:
                content = self.server.certificate(KINDS[self.path](text)) if is_mine else None
        except UnicodeDecodeError as error:
            self.refuse(HTTPStatus.BAD_REQUEST, f"not text in UTF-8 ({error.reason} at byte {error.start})")
        except SpecificationError as error:
            self.refuse(HTTPStatus.BAD_REQUEST, str(error))
        except HungUpError:
            raise
        except Exception as error:  # a bug, or Spot cannot be started: the client hears of it, and so does the operator
            reason = explain(error) or "the server failed; its output has the traceback"
            self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR, reason)
            raise
        else:
            if content is None:
                self.refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_WAITING} questions wait already; ask again later")
            else:
                self.reply(HTTPStatus.OK, content)

    def handle_expect_100(self) -> bool:
        """Let a client go on that asks before it sends its body, if the body is not too long."""
        return not self.is_too_long(self.headers.get("Content-Length", "")) and super().handle_expect_100()

    def body(self) -> bytes | None:
        """The body of a request; None if it was refused."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in (HOST, "localhost"):  # a page elsewhere whose name was made to lead here
            self.refuse(HTTPStatus.FORBIDDEN, f"the host is {host[:100]!r}; ask {self.server.url}")
            return None
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdigit()):
            self.refuse(HTTPStatus.LENGTH_REQUIRED, "say in Content-Length how many bytes the question has")
            return None
        if self.is_too_long(length):
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise HungUpError
        return body

    def is_too_long(self, length: str) -> bool:
        """Whether a body is too long, which then is refused."""
        if not length.isdigit() or int(length[:20]) <= LONGEST_BODY:
            return False
        self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"over {LONGEST_BODY:,} bytes; split the question")
        self.connection.shutdown(socket.SHUT_WR)
        left = FORGOTTEN
        while left > 0 and (data := self.connection.recv(min(left, 1 << 16))):
            left -= len(data)
        return True

    def look(self) -> None:
        """Look whether the client is still there."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        if readable and not self.connection.recv(1, socket.MSG_PEEK):
            raise HungUpError

    def refuse(self, status: HTTPStatus, reason: str) -> None:
        """Answer with a sentence, and end the connection: what may follow is part of what was refused."""
        self.close_connection = True
        self.reply(status, {"error": reason})

    def reply(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses, such as a line that is no request, as a sentence too."""
        self.refuse(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written for each question."""
