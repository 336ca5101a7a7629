"""The page of `examples/space` with thirty visitors at once, while one more has a formula that keeps Spot busy.

Everybody is a program that sends what a browser sends, over HTTP, and waits for the answer.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx
from harness import FOLDER, Row, Setting
from inputs import ltl_pairs

from hf_symbinv import parse_prefix, to_infix

APP = FOLDER.parent / "examples" / "space" / "app.py"
VISITORS = 30
# Spot works on it for minutes: it checks an answer and searches for one until it is stopped, twice ten seconds.
HOG = " U ".join(f"(a{i} | G b{i})" for i in range(8))
# What the page asks for when it has an answer, besides the name whose stream the attention map is of: its state, which
# the server knows by the visit, the view before the name, and the layer and the head after it.
MAP = (None, "how the answer is written"), (1, 1)
PATIENCE = 300.0
SAMPLE_SECONDS = 0.2


class Answer(NamedTuple):
    """What a visitor got.

    Attributes:
        seconds: From the question to the answer.
        parts: The outputs of the page's event; none if the queue was full.
        refusal: What was said then.
    """

    seconds: float
    parts: list[Any]
    refusal: str = ""


@contextmanager
def served(threads: int = 1) -> Iterator[tuple[str, int]]:
    """The page in a process of its own: its address, and the number of the process.

    Raises:
        RuntimeError: If it does not start.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "GRADIO_SERVER_PORT": str(port), "OMP_NUM_THREADS": str(threads)}
    url, end = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, str(APP)], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            while True:
                with suppress(httpx.TransportError):
                    httpx.get(f"{url}/config", timeout=PATIENCE).raise_for_status()
                    break
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise RuntimeError(f"the page does not start:\n{log.read()[-2000:].decode(errors='replace')}")
                time.sleep(SAMPLE_SECONDS)
            yield url, process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its workers end with it
            process.wait()


def event(url: str, name: str) -> int:
    """The number of an event of the page, such as `solve`."""
    known = httpx.get(f"{url}/config", timeout=PATIENCE).json()["dependencies"]
    return next(one["id"] for one in known if one["api_name"] == name)


def ask(url: str, number: int, formula: str, limit: float = 5.0, beams: int = 5, look: int | None = None) -> Answer:
    """A visitor asks for a witness and waits for it.

    Args:
        number: Of the event `solve`.
        limit: Seconds for Spot.
        look: Number of the event that a browser sends when it has the answer, for the map; None to send none.

    Raises:
        RuntimeError: If the page fails.
    """
    visit = uuid.uuid4().hex
    with httpx.Client(base_url=f"{url}/gradio_api/queue", timeout=PATIENCE) as client:
        answer = _sent(client, visit, number, [formula, beams, limit])
        if look is not None and not answer.refusal:
            *_, streams, _ = answer.parts
            before, after = MAP
            _sent(client, visit, look, [*before, streams["value"], *after])
    return answer


def _sent(client: httpx.Client, visit: str, number: int, data: list[Any]) -> Answer:
    """What an event of a visit comes to."""
    start = time.monotonic()
    joined = client.post("/join", json={"data": data, "fn_index": number, "session_hash": visit})
    if joined.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        return Answer(time.monotonic() - start, [], joined.json()["detail"])
    joined.raise_for_status()
    with client.stream("GET", "/data", params={"session_hash": visit}) as lines:
        for line in lines.iter_lines():
            message = json.loads(line.removeprefix("data:") or "{}")
            if message.get("msg") == "process_completed" and message["success"]:
                return Answer(time.monotonic() - start, message["output"]["data"])
            if message.get("success") is False:
                raise RuntimeError(f"{data}: the page failed: {message}")
    raise RuntimeError(f"{data}: the page ended without an answer")


def memory(root: int) -> float:
    """Resident memory of a process and of all below it in MB, on Linux; what they share is counted for each."""
    parents, resident = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, KeyError):
            lines = (folder / "status").read_text(encoding="utf-8").splitlines()
            fields = {key: value for key, _, value in (line.partition(":") for line in lines)}
            parents[int(folder.name)] = int(fields["PPid"])
            resident[int(folder.name)] = int(fields.get("VmRSS", "0 kB").split()[0]) * 1024 / 1e6
    tree = {root}
    while more := {one for one, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(resident.get(one, 0.0) for one in tree)


@contextmanager
def peak_memory(root: int) -> Iterator[list[float]]:
    """Looks at `memory` while the block runs; the one value of the list is the largest that was seen."""
    peak, done = [memory(root)], threading.Event()

    def look() -> None:
        while not done.wait(SAMPLE_SECONDS):
            peak[0] = max(peak[0], memory(root))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


class Crowd(NamedTuple):
    """What became of all visitors: their waits in seconds, how many were refused, and how the one with the hog fared.

    Attributes:
        first: How many had their answers when the hog was answered.
    """

    waits: list[float]
    refused: int
    first: int
    hog: float


def crowd(url: str, formulas: list[str], limit: float = 10.0) -> Crowd:
    """One visitor asks about the hog, and when that has come as far as Spot, another asks about each formula.

    Args:
        limit: Seconds for Spot with the hog.
    """
    number, look = event(url, "solve"), event(url, "look")
    with ThreadPoolExecutor(len(formulas) + 1) as visitors:
        hog = visitors.submit(ask, url, number, HOG, limit, look=look)
        time.sleep(1)
        others = [visitors.submit(ask, url, number, formula, look=look) for formula in formulas]
        slow = hog.result().seconds
        first = sum(one.done() for one in others)
        answers = [one.result() for one in others]
    answered = [one.seconds for one in answers if not one.refusal]
    return Crowd(answered, len(answers) - len(answered), first, slow)


def visitors(setting: Setting) -> list[Row]:
    """Median and worst wait of thirty visitors behind one whose formula takes Spot twenty seconds, and the memory."""
    count = 4 if setting.tiny else VISITORS
    pairs = ltl_pairs(max(10, count), 12 if setting.tiny else 35)[:count]
    formulas = [to_infix(parse_prefix(pair.question)) for pair in pairs]
    with served(setting.threads) as (url, process), peak_memory(process) as peak:
        found, peaks = [], []
        for _ in range(setting.repeats):
            peak[0] = 0.0
            found.append(crowd(url, formulas, 1.0 if setting.tiny else 10.0))
            peaks.append(peak[0])
    refused, first = sum(one.refused for one in found), min(one.first for one in found)
    note = (
        f"{refused} of {len(found) * count} refused; at least {first} of {count} answered before the busy one, which "
        f"waited {median(one.hog for one in found):.0f} s"
    )
    what = f"{count} visitors at once, and one whose formula keeps Spot busy"
    return [
        Row("visitors-median", f"median wait of {what}", "", "s", "at most", 5.0,
            [median(one.waits) for one in found], note=note, extra={"crowds": [one._asdict() for one in found]}),
        Row("visitors-worst", f"longest wait of {what}", "", "s", "at most", 20.0, [max(one.waits) for one in found]),
        Row("visitors-memory", "memory of the page and its processes meanwhile", "", "MB", "at most", 16_000, peaks),
    ]  # fmt: skip


BENCHMARKS = {"visitors": visitors}
