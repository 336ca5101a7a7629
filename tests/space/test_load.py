"""Many visitors at once: nobody waits behind a formula that keeps Spot busy, and who is too many is told so."""

import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import TimeoutError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))  # its visitors ask the page here too

from visitors import HOG, ask, event, memory, served

VISITORS = 6


@pytest.fixture(scope="module")
def page():
    """A page of its own, which is left while it is busy."""
    with served() as (url, process):
        yield url, process


@pytest.mark.slow
def test_all_visitors_are_answered_while_others_wait_for_spot_with_long_formulas(page):
    url, process = page
    solve = event(url, "solve")
    formulas = [f"(request U g{i}) & X(g{i} U (done & X !request))" for i in range(VISITORS)]
    crowd = ThreadPoolExecutor(VISITORS + 3)
    # The first keeps Spot busy for twenty seconds, the last waits for a minute.
    hogs = [crowd.submit(ask, url, solve, HOG, 10.0) for _ in range(3)]
    answers = list(crowd.map(lambda formula: ask(url, solve, formula), formulas))
    assert not all(hog.done() for hog in hogs)
    for i, answer in enumerate(answers):
        asked, problem, witness, *_ = answer.parts
        assert (asked, problem) == (formulas[i], "")
        assert ">verified<" in witness and f"g{i}" in witness
    assert memory(process) < 16_000
    crowd.shutdown(wait=False)


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
