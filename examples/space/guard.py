"""What reaches the page's functions: requests of visitors that are small and of the form that the page sends.

Gradio reads bodies of any size, takes uploads, and fetches what an input names as a file. The page needs none of it, so
the server refuses it in a sentence. What the values mean is checked where they are used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Our choice, in bytes: thirty times the longest formula. Only the newest FastAPI has such a limit of its own.
LARGEST_BODY = 64_000
# Our choice: browsers name their sessions with some ten characters.
LONGEST_SESSION = 100
# What a page posts to: events, and their end.
JOIN = "/queue/join"
POSTED = (JOIN, "/cancel", "/reset")
# Writes what a session holds into a file, and this page has no button for it.
DEEP_LINK = "/deep_link"


class Refusal(Exception):
    """A request that is not answered, with its status of HTTP."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Guard:
    """ASGI middleware that refuses what the page never sends.

    Args:
        app: What is behind it.
        events: The events that the server answers, each with the number of its inputs.
    """

    def __init__(self, app: ASGIApp, events: Mapping[int, int]) -> None:
        self.app = app
        self.events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except Refusal as refusal:
            await JSONResponse({"detail": str(refusal)}, refusal.status)(scope, receive, send)
            return
        if body is not None:
            receive = _replayed(body, receive)
        await self.app(scope, receive, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body, checked; None for a request that needs none.

        Raises:
            Refusal: If the request has no answer here.
        """
        path = scope["path"].rstrip("/")
        if path.endswith(DEEP_LINK):
            raise Refusal(404, "This page keeps no links to answers: send the formula itself.")
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return None
        if not path.endswith(POSTED):
            raise Refusal(404, f"Nothing is sent to this place: events of the page go to /gradio_api{JOIN}.")
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "The request ended before its body.")
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY:
                raise Refusal(413, f"The request is too large: this page takes at most {LARGEST_BODY:,} bytes.")
            if not message.get("more_body", False):
                break
        if path.endswith(JOIN):
            self._check_event(body)
        return body

    def _check_event(self, body: bytes) -> None:
        try:
            event = json.loads(body)
            json.dumps(event, ensure_ascii=False).encode()  # halves of characters are no text, and break every answer
        except (ValueError, RecursionError) as error:
            raise Refusal(400, "The request is not JSON in UTF-8: send an object as the page does.") from error
        if not isinstance(event, dict):
            raise Refusal(422, "The request is no object: send one as the page does.")
        data, number, session = (event.get(key) for key in ("data", "fn_index", "session_hash"))
        if type(number) is not int or number not in self.events:
            raise Refusal(422, "`fn_index` is no event of this page: send one of those that /config lists.")
        if not isinstance(data, list) or len(data) != self.events[number] or not all(map(_is_plain, data)):
            raise Refusal(
                422, f"`data` must be a list of {self.events[number]} inputs: texts, numbers, booleans and nulls."
            )
        if not isinstance(session, str) or not 0 < len(session) <= LONGEST_SESSION:
            raise Refusal(422, f"`session_hash` names the visit: send a text of 1 to {LONGEST_SESSION} characters.")


def _is_plain(value: Any) -> bool:
    """Whether a value has no parts: Gradio takes some objects for files, and fetches them."""
    return value is None or isinstance(value, str | int | float)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives this body, and after it what the server has."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
