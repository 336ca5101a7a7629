"""A server on this machine that speaks as much of OpenAI's protocol as is needed."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Says what the server's `reply` makes of a question, or fails with the status that it gives."""

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], question))
        reply = self.server.reply(question["messages"][0]["content"])
        if isinstance(reply, int):
            self.send_error(reply)
            return
        message = {"role": "assistant", "content": reply}
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 1, "model": question["model"], "system_fingerprint": "x",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(reply: Callable[[str], str | int]) -> Iterator[ThreadingHTTPServer]:
    """A server with its `url`, what it has `asked`: path, key and question, and its `reply`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.reply, server.asked, server.url = reply, [], f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
