"""Draws `docs/rooms.svg`, the rooms of the code and their arrows: those of CONTRIBUTING's table, and the earlier ones.

    python docs/rooms.py

An arrow that follows from others is left out. Each box says how many lines of Python its room holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "rooms.svg"
# The arrows and lines that `tests/test_architecture.py` and `wc` told of commit d43420c.
BEFORE = {
    "cli": {"evaluation", "training", "datasets_scripts", "hub", "cards", "metrics", "tasks", "solvers", "logic",
            "modeling"},
    "evaluation": {"training", "tasks", "metrics", "datasets_scripts", "hub", "logic"},
    "training": {"modeling", "tasks", "metrics", "cards", "hub"},
    "datasets_scripts": {"tasks", "logic", "solvers", "cards"},
    "hub": set(),
    "cards": {"tasks"},
    "metrics": {"logic", "solvers"},
    "tasks": {"logic", "solvers", "modeling"},
    "solvers": {"logic"},
    "logic": set(),
    "modeling": set(),
}  # fmt: skip
LINES_BEFORE = {
    "cli": 2082, "evaluation": 5924, "training": 1828, "datasets_scripts": 4212, "hub": 456, "cards": 1443,
    "metrics": 939, "tasks": 877, "solvers": 1447, "logic": 1776, "modeling": 4767,
}  # fmt: skip
# Row from the top, and centre from the left in units of a box.
PLACES_BEFORE = {
    "cli": (0, 1.5), "evaluation": (1, 1.5), "training": (2, 1), "datasets_scripts": (2, 2), "hub": (3, 0.5),
    "metrics": (3, 1.5), "cards": (3, 2.5), "tasks": (4, 2), "solvers": (5, 1.5), "modeling": (5, 2.5),
    "logic": (6, 1.5),
}  # fmt: skip
PLACES = {
    "papers": (0, 1), "cli": (0, 2), "plotting": (1, 1.5), "evaluation": (2, 1.5),
    "answers": (1, 2.5), "training": (3, 1),
    "datasets_scripts": (3, 2), "metrics": (4, 1), "hub": (4, 2), "tasks": (5, 2), "solvers": (6, 1.5),
    "modeling": (6, 2.5), "logic": (7, 1.5),
}  # fmt: skip
# The one room whose box says more.
NOTES = {("before", "evaluation"): "1,024 evaluate"}
WIDTH, HEIGHT, ACROSS, DOWN = 140, 46, 148, 76


class Row(NamedTuple):
    """What CONTRIBUTING's table says of a room.

    Attributes:
        imports: The rooms that it may import; None for the public names alone.
        packages: The packages that it may import besides the standard library; None for any.
    """

    imports: frozenset[str] | None
    packages: frozenset[str] | None


def read_table() -> dict[str, Row]:
    """The rows of CONTRIBUTING's table by room, from the top.

    Raises:
        ValueError: If the table is not there.
    """
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.search(r"^\| room \| holds \| may import \|\n\|[-|]+\|\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    if table is None:
        raise ValueError("CONTRIBUTING.md: has no table 'room | holds | may import'")
    rows = {}
    for line in table[1].splitlines():
        room, _, cell = (part.strip() for part in line.strip("|").split(" | "))
        rooms, limited, packages = cell.partition("; of other packages only ")
        rows[room.strip("`")] = Row(
            None if rooms == "public names" else frozenset(re.findall(r"`(\w+)`", rooms)),
            frozenset(re.findall(r"`(\w+)`", packages)) if limited else None,
        )
    return rows


def reduced(arrows: Mapping[str, frozenset[str] | set[str]]) -> set[tuple[str, str]]:
    """The arrows (from, to) without those that follow from others; there must be no circle."""

    def reached(room: str) -> set[str]:
        return set(arrows[room]).union(*(reached(target) for target in arrows[room]))

    return {
        (room, target)
        for room, targets in arrows.items()
        for target in targets
        if not any(target in reached(other) for other in targets - {target})
    }


def arrows_of(rows: Mapping[str, Row]) -> dict[str, frozenset[str]]:
    """Room → rooms that it may import, of the rooms that do not keep to the public names."""
    return {room: row.imports for room, row in rows.items() if row.imports is not None}


def count_lines(room: str) -> int:
    """Lines of Python in a room, without its tests."""
    folder = next(place for place in (ROOT / room, ROOT / "hf_symbinv" / room) if place.is_dir())
    files = (path for path in folder.rglob("*.py") if folder / "tests" not in path.parents)
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def _panel(
    name: str,
    title: str,
    top: float,
    places: Mapping[str, tuple[int, float]],
    arrows: set[tuple[str, str]],
    lines: Mapping[str, int],
) -> list[str]:
    """The elements of one of the two pictures, which begins at height `top`."""

    def centre(room: str) -> tuple[float, float]:
        row, column = places[room]
        return column * ACROSS, top + 64 + row * DOWN

    found = [f'<text x="222" y="{top + 22:g}" class="title">{title}</text>']
    for start, end in sorted(arrows):
        (x1, y1), (x2, y2) = centre(start), centre(end)
        found.append(
            f'<line class="arrow" data-picture="{name}" data-from="{start}" data-to="{end}" x1="{x1:g}" '
            f'y1="{y1 + HEIGHT / 2:g}" x2="{x2:g}" y2="{y2 - HEIGHT / 2 - 2:g}" marker-end="url(#head)"/>'
        )
    for room in places:
        x, y = centre(room)
        note = NOTES.get((name, room))
        said = f"{lines[room]:,} lines" if note is None else f"{lines[room]:,}; {note}"
        width = WIDTH if note is None else WIDTH + 26
        found += [
            f'<rect x="{x - width / 2:g}" y="{y - HEIGHT / 2:g}" width="{width}" height="{HEIGHT}" rx="6"/>',
            f'<text x="{x:g}" y="{y - 3:g}" class="room">{room}</text>',
            f'<text x="{x:g}" y="{y + 15:g}" class="lines">{said}</text>',
        ]
    return found


def draw() -> str:
    """The picture, from the table and the files as they are.

    Raises:
        ValueError: If a room has no place.
    """
    rows = read_table()
    arrows = arrows_of(rows)
    for room in arrows.keys() - PLACES.keys():
        raise ValueError(f"{room}: has no place in the picture; give it one in PLACES of docs/rooms.py")
    second = 64 + 7 * DOWN
    height = second + 64 + 8 * DOWN - 14
    elements = [
        *_panel("before", "Before", 0, PLACES_BEFORE, reduced(BEFORE), LINES_BEFORE),
        *_panel("today", "Today", second, {room: PLACES[room] for room in arrows}, reduced(arrows),
                {room: count_lines(room) for room in arrows}),
    ]  # fmt: skip
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 {height:g}" font-family="sans-serif" '
        'text-anchor="middle">',
        "<title>The rooms of the code and their arrows, before and today</title>",
        "<style>.title { font-size: 20px; font-weight: bold } .room { font-size: 14px; font-weight: bold } "
        ".lines { font-size: 13px } .arrow { stroke: black; stroke-width: 1.5 } "
        "rect { fill: white; stroke: black }</style>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L10 5 L0 10 z"/></marker></defs>',
        f'<rect width="520" height="{height:g}" style="stroke: none"/>',
        *elements,
        "</svg>",
        "",
    ])  # fmt: skip


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
