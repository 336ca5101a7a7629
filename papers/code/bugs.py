"""Bugs that are put into functions: a variable in the place of another, and two arguments exchanged.

Read `Bug`, what a kind of bug is, and then the functions that `BUGS` names.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import pyarrow

from papers.code.functions import Function, write

# Our choice: functions whose positional arguments may change places, and then mean the same.
SYMMETRIC = frozenset({
    "gcd", "hypot", "isclose", "lcm", "max", "min", "assertAlmostEqual", "assertCountEqual", "assertDictEqual",
    "assertEqual", "assertEquals", "assertIs", "assertIsNot", "assertListEqual", "assertMultiLineEqual",
    "assertNotAlmostEqual", "assertNotEqual", "assertSequenceEqual", "assertSetEqual", "assertTupleEqual",
})  # fmt: skip

_INT, _STRING = pyarrow.int32(), pyarrow.string()
_SYMBOL = {"start": _INT, "end": _INT, "name": _STRING, "line": _INT, "column": _INT, "is_use": pyarrow.bool_()}
_PLACE = {"start": _INT, "end": _INT}
_SHARED = {
    "text": (_STRING, "a function, or method, without comments"),
    "symbols": (pyarrow.list_(pyarrow.struct(_SYMBOL)), "its variables, in the order of the text: from start to end "
                "stands name; line and column, from 1, in the file; is_use if its value is read there"),
    "file": (_STRING, "the file"),
    "function": (_STRING, "its name, with the classes around it"),
    "line": (_INT, "where it begins in the file, from 1"),
}  # fmt: skip
Row = dict[str, Any]


class Bug(NamedTuple):
    """A kind of bug, and the data set of it.

    Attributes:
        title: Its name for people.
        story: What is done to half of the functions, and what the columns say of it.
        category: The Hub's name of the task.
        source: The papers that first made such bugs.
        columns: Of a row, with their types and meanings.
        places: Where it can be put into a function; empty if nowhere.
        row: A function as a row, with the bug at one of the places, drawn at random, or, for None, without.
    """

    title: str
    story: str
    category: str
    source: str
    columns: dict[str, tuple[pyarrow.DataType, str]]
    places: Callable[[Function], list[Any]]
    row: Callable[[Function, random.Random | None], Row]


def row_of(function: Function, text: str, symbols: list[tuple[int, int, int]]) -> Row:
    """What all data sets say of a function whose text has changed.

    Args:
        function: As it was.
        text: As it is.
        symbols: (start, end, index of the symbol in the function) in the order of the text.
    """
    rows = []
    for start, end, index in symbols:
        line, column = function.position(function.symbols[index].start)
        rows.append({"start": start, "end": end, "name": text[start:end], "line": line, "column": column,
                     "is_use": function.symbols[index].is_use})  # fmt: skip
    return {"text": text, "symbols": rows, "file": function.file, "function": function.name,
            "line": function.position(0)[0]}  # fmt: skip


def misusable(function: Function) -> list[int]:
    """The uses of variables, by index, in whose place another variable could stand and that are not all of theirs."""
    often = Counter(symbol.variable for symbol in function.symbols)
    return [index for index, one in enumerate(function.symbols) if one.others and often[one.variable] > 1]


def misused(function: Function, draw: random.Random | None) -> Row:
    """A function with one use of a variable replaced by another variable, or, for None, as it is."""
    names, wrong, right = [name for _, _, name in function.spans()], -1, list[int]()
    if draw is not None:
        wrong = draw.choice(misusable(function))
        names[wrong] = function.variables[draw.choice(function.symbols[wrong].others)]
        variable = function.symbols[wrong].variable
        right = [at for at, one in enumerate(function.symbols) if one.variable == variable and at != wrong]
    text, places = write(function.text, [(one.start, one.end) for one in function.symbols], names)
    symbols = [(*place, index) for index, place in enumerate(places)]
    return {**row_of(function, text, symbols), "wrong": wrong, "right": right}


def exchangeable(function: Function) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of positional arguments of a call that differ, each with a variable in it, by their places in the text."""
    text, starts = function.text, [symbol.start for symbol in function.symbols]

    def has_symbol(place: tuple[int, int]) -> bool:
        return any(place[0] <= start < place[1] for start in starts)

    return [
        (one, other)
        for call in function.calls
        if call.callee not in SYMMETRIC
        for one, other in combinations(filter(has_symbol, call.arguments), 2)
        if text[slice(*one)] != text[slice(*other)]
    ]


def exchanged(function: Function, draw: random.Random | None) -> Row:
    """A function with two arguments of a call exchanged, or, for None, as it is."""
    text, arguments = function.text, list[dict[str, int]]()
    symbols = [(one.start, one.end, index) for index, one in enumerate(function.symbols)]
    if draw is not None:
        (start, middle), (later, end) = draw.choice(exchangeable(function))
        longer = (end - later) - (middle - start)
        text = text[:start] + text[later:end] + text[middle:later] + text[start:middle] + text[end:]

        def moved(place: int) -> int:
            inside = (start, middle, end - middle), (middle, later, longer), (later, end, start - later)
            return place + next((by for first, last, by in inside if first <= place < last), 0)

        symbols = sorted((moved(first), moved(first) + last - first, index) for first, last, index in symbols)
        arguments = [{"start": start, "end": start + end - later}, {"start": later + longer, "end": end}]
    label = int(draw is not None)
    return {**row_of(function, text, symbols), "label": label, "arguments": arguments}


BUGS = {
    "misuse": Bug(
        "Misused variables in Python functions",
        "In half of the functions one use of a variable was replaced by another variable that can be named there "
        "and gets a value before.",
        "token-classification",
        "Allamanis, Brockschmidt, Khademi. Learning to Represent Programs with Graphs. ICLR, 2018. The two positions "
        "to point at: Vasic, Kanade, Maniatis, Bieber, Singh. Neural Program Repair by Jointly Learning to Localize "
        "and Repair. ICLR, 2019.",
        {
            **_SHARED,
            "wrong": (_INT, "which of symbols is the wrong one; -1 in a function that was left as it is"),
            "right": (pyarrow.list_(_INT), "which of symbols are the variable that belongs there; empty if none is"),
        },
        misusable,
        misused,
    ),
    "exchange": Bug(
        "Exchanged arguments in Python functions",
        "In half of the functions two positional arguments of a call were exchanged. They differ, and each has a "
        "variable in it.",
        "text-classification",
        "Pradel, Sen. DeepBugs: A Learning Approach to Name-Based Bug Detection. OOPSLA, 2018.",
        {
            **_SHARED,
            "label": (pyarrow.int64(), "1 if two arguments were exchanged, else 0"),
            "arguments": (pyarrow.list_(pyarrow.struct(_PLACE)), "where in text these two stand; empty if label is 0"),
        },
        exchangeable,
        exchanged,
    ),
}  # fmt: skip
