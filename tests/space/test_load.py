"""Too many visitors at once: who comes then is told so. `benchmarks/visitors.py` measures how long the others wait."""

import sys
import threading
import uuid
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import TimeoutError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))  # its visitors ask the page here too

from visitors import event, served


@pytest.fixture(scope="module")
def page():
    """A page of its own, which is left while it is busy."""
    with served() as (url, process):
        yield url, process


@pytest.fixture
def crowded(page):
    """The page's address, its queue kept full, and what the server says to programs that come too late."""
    url, _ = page
    solve, said, done = event(url, "solve"), [], threading.Event()
    formula = " & ".join(f"x{i}" for i in range(25))  # takes the model seconds

    def come():
        with httpx.Client(base_url=f"{url}/gradio_api/queue", timeout=60) as client:
            refused = False
            while not done.wait(0.05 if refused else 0):
                question = {"data": [formula, 10, 10.0], "fn_index": solve, "session_hash": uuid.uuid4().hex}
                answer = client.post("/join", json=question)
                refused = answer.status_code != 200
                if refused:
                    said.append((answer.status_code, answer.json()["detail"]))
                    full.set()

    full, visitors = threading.Event(), threading.Thread(target=come)
    visitors.start()
    assert full.wait(60)
    yield url, said
    done.set()
    visitors.join()


@pytest.mark.slow
def test_who_comes_when_the_queue_is_full_is_told_so_at_once(crowded, browser):
    visitor = browser.new_page()
    url, said = crowded
    problem = visitor.locator("#problem", has_text="So many visitors are here")
    for _ in range(6):  # an answered batch leaves places for a moment, and the visitor may get one of them
        visitor.goto(url)
        visitor.wait_for_selector("#witness table")
        visitor.click("#solve")
        with suppress(TimeoutError):
            problem.wait_for(timeout=20_000)
            break
    assert problem.is_visible()
    assert not visitor.locator("#results").is_visible() and not visitor.locator("#hint").is_visible()
    visitor.get_by_role("button", name="Find a witness", exact=True).wait_for()
    visitor.close()
    assert set(said) == {(503, "Queue is full. Max size is 60 and size is 60.")}
