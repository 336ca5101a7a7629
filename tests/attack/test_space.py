"""The page of examples/space gets random and hostile values in every field: it answers, or refuses in a sentence.

The functions behind its buttons are called as Gradio calls them, with what passes the guard before them; and the guard
gets random requests.
"""

import asyncio
import html.parser
import json
import re
import string
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "examples" / "space"
# Seconds of a call, at most: Spot may take ten in each of three turns, and a batch of the model some seconds, also on a
# busy machine.
MOST_SECONDS = 90.0
HERE = [str(ROOT), sys.prefix, tempfile.gettempdir(), str(Path.home()), "site-packages", 'File "', "Traceback (most"]
FORMULAS = [
    "(request U grant) & X(grant U (done & X !request))", "G(request -> F grant)", "F(req & X ack) & G !err", "a", "1",
    "0", "GF tick & GF !tick", "a & X b & !a", "X[3] a", "F[2:5] b", '"next state" U "a b"', "a R b", "a W (b M c)",
    "a xor b", "a <-> !b",
]  # fmt: skip
PIECES = [
    *"!&|^()[]{}XFGURWM01ab\"\\ ,;=:.<>'`$%\n\t\r\0\x1b\x7f", "->", "<->", "U", " U ", "X[999999999]", "F[0:99999]",
    "G[9:1]", "[-1]", "[!]", "é", "ё", "文", "😀", "\u202e", "\u2028", "\ufeff", "\u0661", "١", "p26", "request", "a=b",
    "=", "a=a", '"', '""', "<b>", "</pre>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "javascript:alert(1)", '" onmouseover="alert(1)', "{{7*7}}", "${7*7}", "%s%n", "../../etc/passwd", "file:///etc",
    "'; DROP TABLE a; --", "\\u0000", "&lt;", "&#60;script&#62;",
]  # fmt: skip
# What no visitor may bring into the page.
TAGS, HANDLER = {"script", "img", "iframe", "object", "embed", "link", "meta", "form", "base"}, re.compile("on[a-z]+")
PROBLEM = 'class="problem"'


@pytest.fixture(scope="module")
def page():
    """What the page does, on its models."""
    sys.path.insert(0, str(SPACE))
    from answering import Answering
    from app import Page

    with Answering() as answering:
        yield Page(answering)
    sys.path.remove(str(SPACE))


def text(draw):
    """Something to type: noise, a formula with faults, one that is deep, long or has many names, or names anew."""
    kind = draw.randrange(9)
    if kind == 0:
        return "".join(draw.choices(string.printable, k=draw.randrange(60)))
    if kind == 1:
        return "".join(draw.choices(PIECES, k=draw.randrange(40)))
    if kind == 2:
        return draw.choice(["(", "!", "X", "a & (", "a U ("]) * draw.choice([3, 40, 400, 2_000])
    if kind == 3:
        return draw.choice([" & ", " U ", " -> ", " "]).join(f"a{n}" for n in range(draw.choice([1, 5, 30, 600])))
    if kind == 4:
        return ", ".join(
            f"{draw.choice(['request', 'grant', 'a', 'b', *PIECES])}={draw.choice(['a', 'b', 'c', *PIECES])}"
            for _ in range(draw.randrange(6))
        )
    if kind == 5:
        return "".join(chr(draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)])) for _ in range(20))
    if kind == 6:
        return ""
    faulty = list(draw.choice(FORMULAS))
    for _ in range(draw.choice([0, 0, 1, 3])):
        faulty.insert(draw.randrange(len(faulty) + 1), draw.choice(PIECES))
    return "".join(faulty)


def value(draw):
    """What a program may send where the page sends another kind of value; the guard lets no lists and objects pass."""
    return draw.choice([None, True, 0, -1, 1.5, 10**400, 1e308, float("nan"), float("inf"), "5", "", text(draw)])


class Seen(html.parser.HTMLParser):
    """Collects what a browser would run or fetch."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [tag] * (tag in TAGS)
        self.found += [name for name, _ in attrs if HANDLER.fullmatch(name) or name in ("src", "href")]


def call(function, *inputs):
    """What one of the page's functions returns within its time; nothing in it says where the program lies."""
    start = time.monotonic()
    found = function(*inputs)
    seconds = time.monotonic() - start
    assert seconds < MOST_SECONDS, (function.__name__, inputs, seconds)
    return found


def shown(output):
    """The text of an output that is HTML; None if the output stays as it is."""
    if isinstance(output, dict):
        output = output.get("value")
    if output is None:
        return None
    assert isinstance(output, str)
    assert not [word for word in HERE if word in output], output
    seen = Seen()
    seen.feed(output)
    assert not seen.found, (seen.found, output)
    return output


def is_problem(output):
    """Whether an output is a refusal, which is one sentence."""
    if output is None or PROBLEM not in output:
        return False
    said = re.sub(r"<[^>]*>", "", output).strip()
    assert said and output.count(PROBLEM) == 1, output
    return True


class TestPage:
    def test_every_field_gets_an_answer_or_a_sentence(self, attack, page):
        for attempt in attack.tries(4):
            draw = attempt.random
            formula = draw.choice([text(draw), text(draw), text(draw), value(draw)])
            beams = draw.choice([1, 2, 5, 10, 5.0, value(draw)])
            limit = draw.choice([0.5, 1, 1.0, 2.5, value(draw)])
            asked, problem, witness, times, answers, solved, history, renamed, _, _, heatmap = call(
                page.solve, formula, beams, limit
            )
            assert asked == formula or asked != asked  # NaN
            parts = [shown(part) for part in (problem, witness, times, answers, renamed, heatmap)]
            refused = is_problem(parts[0])
            assert refused == (solved is None), (formula, beams, limit, parts[0])
            if refused:
                solved = page.solve(draw.choice(FORMULAS[:3]), 2, 0.5)[5]
            for _ in range(3):
                wanted = draw.choice([text(draw), text(draw), value(draw)])
                output, longer = call(page.rename, solved, history, wanted)
                assert is_problem(shown(output)) == (len(longer) == len(history)), (formula, wanted)
                history = longer
                view = draw.choice(["how the formula is read", "how the answer is written", value(draw)])
                places = [draw.choice([1, 2, value(draw)]) for _ in range(2)]
                stream = draw.choice(["a", "request", None, value(draw)])
                assert shown(call(page.look, solved, view, stream, *places))

    def test_the_guard_lets_nothing_pass_that_the_page_does_not_send(self, attack, page):
        from guard import LARGEST_BODY, Guard

        passed = []

        async def behind(scope, receive, send):
            passed.append((await receive())["body"])

        for attempt in attack.tries(100):
            draw, answers = attempt.random, []
            event = {"data": ["a", 1, 0.5], "fn_index": 3, "session_hash": "x"}
            for name in draw.sample(sorted(event), draw.randrange(3)):
                event[name] = draw.choice([value(draw), [value(draw)] * 3, [{"path": "/etc/passwd"}, 1, 1], {}])
            body = draw.choice([
                json.dumps(event).encode(), json.dumps(event).encode("utf-16"), draw.randbytes(draw.randrange(50)),
                b"[" * 9_000, b'"\\ud800"', text(draw).encode(), b" " * (LARGEST_BODY + 1), b"null",
            ])  # fmt: skip
            path = draw.choice(["/queue/join", "/gradio_api/queue/join", "/upload", "/deep_link", "/" + text(draw)])
            parts = [{"type": "http.request", "body": part, "more_body": True} for part in (body[:7], body[7:])]
            parts.append(draw.choice([{"type": "http.disconnect"}, {"type": "http.request", "body": b""}]))

            async def receive(parts=parts):
                return parts.pop(0)

            async def send(message, answers=answers):
                answers.append(message)

            passed.clear()
            scope = {"type": "http", "method": "POST", "path": path, "headers": []}
            asyncio.run(Guard(behind, {3: 3})(scope, receive, send))
            if passed:
                data = json.loads(passed[0])
                assert path.endswith(("/queue/join", "/cancel", "/reset")) and len(passed[0]) <= LARGEST_BODY
                assert data["fn_index"] == 3 and len(data["data"]) == 3 and isinstance(data["session_hash"], str)
                assert all(one is None or isinstance(one, str | int | float) for one in data["data"])
                assert not answers
            else:
                assert 400 <= answers[0]["status"] < 500
                said = json.loads(answers[1]["body"])["detail"]
                assert said.endswith(".") and "\n" not in said and not [word for word in HERE if word in said], said
