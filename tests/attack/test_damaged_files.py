"""Any file of data, a run or a model is damaged: the same comes out, or one sentence that says where.

A bit flips, a file is cut, lost or exchanged, or JSON holds values of other kinds, too deep or too long. Then a command
reads it. Where a checksum is known (of data, of checkpoints, of the weights of a run) nothing else may come out than
without the damage.
"""

import contextlib
import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from hf_symbinv.errors import LONGEST

from .homes import SIZES, SLOW, made, run

# What each part is read by. The words of a command are paths in the folder of the try.
COMMANDS = {
    "rows": [
        ["evaluate", "run", "--data", "rows", "--rows", "4"],
        ["evaluate", "run", "--data", "rows", "--rows", "4", "--novel", "--json"],
        ["data", "--from", "rows", "--output", "made", "--reduce", "5"],
        ["data", *SIZES, "--output", "rows"],
        ["train", "recipe.yaml", "--data", "rows", "--output", "made", "trainer.max_steps=1"],
        ["push", "rows", "alice/rows"],
    ],
    "run": [
        ["solve", "--task", "copy", "--model", "run", "ab", "bab"],
        ["evaluate", "run", "--data", "rows", "--rows", "4"],
        ["card", "run", "--output", "made"],
        ["push", "run", "alice/run"],
        ["train", "recipe.yaml", "--data", "rows", "--output", "run"],
        ["train", "recipe.yaml", "--data", "rows", "--output", "made", "start=run", "trainer.max_steps=1"],
    ],
    "unfinished": [["train", "recipe.yaml", "--data", "rows", "--output", "unfinished"]],
    "measured": [
        ["plot", "heatmap", "measured/tiny.json", "--output", "made.svg"],
        ["card", "run", "--results", "measured/tiny.json", "--output", "made"],
    ],
}
# As often as each is drawn.
PARTS = ("rows", "run", "run", "unfinished", "measured")
# Damage of these is found by their checksums, whatever it is.
KNOWN = re.compile(r"rows/data/.*|unfinished/checkpoint-\d/(?!sha256).*|run/[^/]*\.safetensors")
# Seconds of a command, far above what any takes.
HANGS = 120
JUNK = [
    None, True, False, 0, -1, 1, 3.5, 10**30, -(10**30), 1e308, float("inf"), float("nan"), "", "nope", "é\x00",
    "\ud800", "x" * 100_000, "../..", [], [[]], [1, "a", None], {}, {"a": {"b": [1]}}, {"": ""},
]  # fmt: skip
TEXTS = [
    "", " ", "{", "[", "null", "3", '"text"', "[]", "{}", "[{}]", "NaN", "[" * 100_000, '{"a":' * 100_000, "\ufeff{}",
    '{"a": 1', '{"a": "\\ud800"}', "x" * 1_000_000, '"' + "x" * 1_000_000 + '"', "---\na: [\n---\n", "1" * 10_000,
    "---\n- - -\n---\n",
]  # fmt: skip


class Hanging(BaseException):
    """A command that did not end."""


def ended(*_):
    raise Hanging(f"a command took {HANGS} s")


def printed(command, capsys):
    """The exit code of a command, and what it printed on stdout and stderr, without times."""
    capsys.readouterr()
    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(HANGS)
    try:
        code = run(command)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    found = capsys.readouterr()
    return code, re.sub(r'"?(train_|test_|eval_)?\w*(seconds|runtime|per_second)"?:? *[\d.]+', "", found.out), found.err


@pytest.fixture(scope="session")
def whole(home, tmp_path_factory):
    """`whole(command, capsys)`: what a command does to undamaged files; each is run once."""
    known = {}

    def found(command, capsys):
        if tuple(command) not in known:
            folder = tmp_path_factory.mktemp("command") / "home"
            shutil.copytree(home, folder)
            with contextlib.chdir(folder):
                known[tuple(command)] = (*printed(command, capsys), made(command, Path()))
        return known[tuple(command)]

    return found


def places(content, path=()):
    """The keys that lead to each value of a JSON value."""
    yield path
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def damage_values(draw, path):
    """Put junk into the values of a JSON file; what was done, None if the file holds none."""
    try:
        content = json.loads(path.read_text())
    except ValueError:
        return None
    found = [place for place in places(content) if place]
    if not found:
        return None
    told = []
    for *way, key in draw.sample(found, 1 if draw.random() < 0.7 else min(2, len(found))):
        inner = content
        for step in way:
            inner = inner[step] if isinstance(inner, (dict, list)) and len(told) == 0 else {}
        if not isinstance(inner, (dict, list)):
            continue
        kind = draw.random()
        if kind < 0.15 and isinstance(inner, dict):
            inner.pop(key, None)
            told.append(f"{key} gone")
        elif kind < 0.25 and isinstance(inner, dict):
            inner[f"{key}_"] = inner.pop(key, None)
            told.append(f"{key} called otherwise")
        elif kind < 0.35:
            deep = []
            for _ in range(draw.choice([30, 400])):
                deep = [deep] if draw.random() < 0.5 else {"a": deep}
            inner[key] = deep
            told.append(f"{key} too deep")
        else:
            inner[key] = draw.choice(JUNK)
            told.append(f"{key} = {inner[key]!r:.60}")
    path.write_text(json.dumps(content))
    return ", ".join(told) or None


def damage(draw, path):
    """Damage a file; what was done."""
    data, kind = path.read_bytes(), draw.random()
    if path.suffix == ".json" and kind < 0.5 and (told := damage_values(draw, path)):
        return told
    kind = draw.choice(["bits", "bits", "cut", "empty", "more", "zeros", "gone", "other", "text", "folder"])
    if kind == "bits":
        changed = bytearray(data)
        places_of_bits = [draw.randrange(8 * len(data)) for _ in range(draw.choice([1, 1, 2, 8]))] if data else []
        for place in places_of_bits:
            changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        return f"bits {places_of_bits}"
    if kind == "cut":
        path.write_bytes(data[: draw.randrange(len(data) or 1)])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "more":
        path.write_bytes(data + draw.randbytes(draw.choice([1, 8, 1000])))
    elif kind == "zeros":
        start = draw.randrange(len(data) or 1)
        path.write_bytes(data[:start] + bytes(min(512, len(data) - start)) + data[start + 512 :])
    elif kind == "gone":
        path.unlink()
    elif kind == "other":
        others = sorted(other for other in path.parents[1].rglob("*") if other.is_file() and other != path)
        same = [other for other in others if other.suffix == path.suffix]
        chosen = draw.choice(same or others)
        path.write_bytes(chosen.read_bytes())
        return f"exchanged for {chosen.relative_to(path.parents[1])}"
    elif kind == "text":
        text = draw.choice(TEXTS)
        path.write_text(text)
        return f"text {text[:30]!r}"
    else:
        path.unlink()
        path.mkdir()
    return kind


def files_of(folder):
    """The files of a folder, without code, which no command reads."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".lock"))


def damaged_and_read(draw, folder, home, whole, capsys):
    """Damage one file in a copy of `home`, run a command that reads it, and make sure that the law holds."""
    part = draw.choice(PARTS)
    command = draw.choice([one for one in COMMANDS[part] if one[0] != SLOW or draw.random() < 0.5] or COMMANDS[part])
    intact = whole(command, capsys)
    shutil.copytree(home, folder)
    files = files_of(folder / part)
    path = draw.choice([one for one in files if part == "unfinished" or one.parent.name != "checkpoint-6"])
    name = path.relative_to(folder).as_posix()
    what = (" ".join(command), name, damage(draw, path))
    with contextlib.chdir(folder):
        code, out, err = printed(command, capsys)
        left = made(command, Path())
    sentences = [line for line in err.splitlines() if line.startswith((f"symbinv {command[0]}: ", "error: "))]
    assert "Traceback" not in err, (what, err)
    assert max(map(len, err.splitlines()), default=0) <= LONGEST + 50, (what, err)
    if code == 2:
        assert sentences, (what, err)
        assert intact[0] == 2 or path.name in sentences[-1] or part in sentences[-1], (what, err)
    elif KNOWN.fullmatch(name):
        assert code == intact[0] and left == intact[3], (what, err)
        assert out == intact[1] or command[0] == SLOW, (what, err)  # the mean loss is that of the last call
    else:
        assert code in (0, 1), (what, err)


def test_a_damaged_file_changes_nothing_or_is_named(attack, home, whole, capsys):
    for attempt in attack.tries(4):
        damaged_and_read(attempt.random, attempt.folder / "home", home, whole, capsys)
