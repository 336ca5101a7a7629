"""What the page does in the browser itself, as JavaScript for Gradio: without asking the server, hence at once."""

from __future__ import annotations

import json
from collections.abc import Sequence

import drawing

_VISIBLE = '{__type__: "update", visible: true}'
_HIDDEN = '{__type__: "update", visible: "hidden"}'
# What was asked for moves into sight, as on a phone it is below the question; what is in sight stays where it is.
_MOVE = """(selector) => setTimeout(() => {
    const shown = document.querySelector(selector);
    if (!shown) return;
    const {top} = shown.getBoundingClientRect();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (top < 0 || top > innerHeight / 2) shown.scrollIntoView({behavior: still ? "auto" : "smooth"});
}, 50)"""  # until it has been drawn

FULL = "So many visitors are here that this page cannot take your question now: ask again in a minute."

# For the hint, the results and the problem: all that was said is about another formula.
CLEAR = f"() => [{_VISIBLE}, {_HIDDEN}, {_HIDDEN}]"
# For the same three: what was found, unless the box holds another formula by now.
SHOW = f"""(text, asked, problem) => {{
    if (text !== asked) return [{_VISIBLE}, {_HIDDEN}, {_HIDDEN}];
    ({_MOVE})(problem ? "#problem" : "#answer");
    return problem ? [{_VISIBLE}, {_HIDDEN}, {_VISIBLE}] : [{_HIDDEN}, {_VISIBLE}, {_HIDDEN}];
}}"""


def refuse(ask: str) -> str:
    """For the same three, why there is no answer, and the button, which can be pressed again."""
    problem = f"{{...{_VISIBLE}, value: {json.dumps(drawing.problem(FULL))}}}"
    return f"() => [{_HIDDEN}, {_HIDDEN}, {problem}, {json.dumps(ask)}]"


def choose(values: Sequence[str], first: int = 0) -> str:
    """Of these values the one whose number was chosen or typed, or the nearest, where counting begins with `first`."""
    place = f"Math.min({len(values) - 1}, Math.max(0, Math.round(number) - {first} || 0))"
    return f"(number) => {json.dumps(values)}[{place}]"


def give(value: str) -> str:
    """Always this value."""
    return f"() => {json.dumps(value)}"


def move(selector: str) -> str:
    """What the selector finds moves into sight."""
    return f"() => {{ ({_MOVE})({json.dumps(selector)}) }}"
