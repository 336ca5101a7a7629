"""What programs send to the server in place of the page is refused in a sentence, or answered, and never a fault."""

import json
import uuid

import httpx
import pytest

pytestmark = pytest.mark.slow

GOOD = ["a U b", 1, 0.5]
# A page's state has no value of its own in a request: the server knows it by the visit.
LOOK = [None, "how the answer is written", "a", 1, 1]


@pytest.fixture(scope="module")
def server(site):
    """Sends things to the page's server; at the end it has failed at none of them."""
    with httpx.Client(base_url=f"{site.url}gradio_api", timeout=120) as client:
        yield client
    assert not [line for line in site.lines if "Traceback" in line or "Error" in line]


@pytest.fixture(scope="module")
def events(site):
    """Name → number of each event that the server answers."""
    return {one["api_name"]: one["id"] for one in httpx.get(f"{site.url}config").json()["dependencies"]}


def join(server, event, data, **others):
    """Sends an event as the page does."""
    message = {"data": data, "fn_index": event, "session_hash": uuid.uuid4().hex, **others}
    headers = {"content-type": "application/json"}
    return message["session_hash"], server.post("/queue/join", content=json.dumps(message), headers=headers)


def outputs(server, event, data, **others):
    """What the server answers to an event that it takes."""
    session, joined = join(server, event, data, **others)
    assert joined.status_code == 200, joined.text
    with server.stream("GET", "/queue/data", params={"session_hash": session}) as lines:
        for line in lines.iter_lines():
            message = json.loads(line.removeprefix("data:") or "{}")
            if message.get("msg") == "process_completed":
                assert message["success"], message
                return message["output"]["data"]
    raise AssertionError("the stream ended without an answer")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (0, "<img src=x> U", "<pre>&lt;img src=x&gt; U\n"),
        (1, 10**400, "must be a whole number from 1 to 10."),
        (2, float("inf"), "Seconds for Spot: inf must be a number from 0.5 to 10."),
    ],
)
def test_a_value_that_is_out_of_range_is_refused_in_a_sentence(server, events, place, value, said):
    data = [*GOOD]
    data[place] = value
    _, problem, *_ = outputs(server, events["solve"], data)
    assert said in problem and problem.count("<p>") + problem.count('<p class="problem"') == 1


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (1, "elsewhere", "&#x27;elsewhere&#x27; is no view"),
        (3, 99, "Layer: 99 must be a whole number from 1 to"),
        (4, "<b>", "Head: &#x27;&lt;b&gt;&#x27; must be a whole number from 1 to"),
    ],
)
def test_an_attention_map_that_there_is_not_is_refused_in_its_place(server, events, place, value, said):
    visit = uuid.uuid4().hex
    _, problem, witness, *_, heatmap = outputs(server, events["solve"], GOOD, session_hash=visit)
    assert not problem and "Witness of a U b" in witness and not heatmap
    data = [*LOOK]
    data[place] = value
    (heatmap,) = outputs(server, events["look"], data, session_hash=visit)
    assert said in heatmap
    (heatmap,) = outputs(server, events["look"], LOOK, session_hash=visit)
    assert "In the stream of <code>a</code>" in heatmap


DATA = "`data` must be a list of 3 inputs: texts, numbers, booleans and nulls."
EVENT = "`fn_index` is no event of this page: send one of those that /config lists."
VISIT = "`session_hash` names the visit"
A_FILE = {"path": "http://127.0.0.1:9/x", "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        *(({"data": data}, 422, DATA) for data in (
            [*GOOD[:2], [1]], [A_FILE, *GOOD[1:]], GOOD[:2], [*GOOD, 1], "a U b", None
        )),
        *(({"fn_index": number}, 422, EVENT) for number in (None, -1, 10**9, "3", True, 3.0, [3])),
        *(({"session_hash": session}, 422, VISIT) for session in (None, "", 5, "x" * 101, ["x"])),
        ({"data": ["a" * 64_000, *GOOD[1:]]}, 413, "The request is too large: this page takes at most 64,000 bytes."),
        ({"data": ["\ud800", *GOOD[1:]]}, 400, "The request is not JSON in UTF-8"),
    ],
)  # fmt: skip
def test_an_event_of_another_form_is_refused_in_a_sentence(server, events, change, status, said):
    _, answer = join(server, events["solve"], **{"data": GOOD, **change})
    assert answer.status_code == status and answer.json()["detail"].startswith(said)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 60_000, b'{"data": 1' + b"0" * 5000 + b"}", b"[]", b"3"])
def test_what_is_no_event_is_refused_in_a_sentence(server, body):
    answer = server.post("/queue/join", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422) and answer.json()["detail"].startswith("The request is n")


@pytest.mark.parametrize(
    "path", ["/upload", "/run/solve", "/api/solve", "/call/solve", "/component_server", "/nothing"]
)
def test_nothing_goes_around_the_queue_and_nothing_is_uploaded(server, path):
    answer = server.post(path, files={"files": ("a.txt", b"a")})
    assert answer.status_code == 404 and "events of the page go to" in answer.json()["detail"]


def test_a_body_that_comes_in_pieces_is_counted_too(server):
    answer = server.post("/queue/join", content=(b" " * 1_000 for _ in range(1_000)))
    assert answer.status_code == 413 and "at most 64,000 bytes" in answer.json()["detail"]


def test_after_all_this_the_page_answers(server, events):
    asked, problem, witness, *_ = outputs(server, events["solve"], ["a & X b", 2, 5])
    assert (asked, problem) == ("a & X b", "") and ">verified<" in witness
