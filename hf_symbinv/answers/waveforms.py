"""Waveforms (VCD) of any simulator, read as a stream: only the signals that are asked for are kept.

Everything is read as words between white space. Headers need not be text in any encoding, and what a simulator adds
beyond the standard is passed over. Source: IEEE 1800-2017, section 21.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, takewhile
from pathlib import Path

from hf_symbinv.answers.recordings import CYCLE, VALUES, Names, TraceFileError
from hf_symbinv.errors import in_short
from hf_symbinv.files import reading

# Bytes that are read at once, and of the longest word. Our choice.
BLOCK = 1 << 20
# Bits of a signal at most. Our choice: a memory of a megabyte in one word.
MOST_BITS = 1 << 23
# Digits of a time, or of a number of bits, at most.
_DIGITS = 20
# What is no number of bits.
_NO_BITS = frozenset({"real", "realtime", "shortreal", "string", "event"})
_BITS = "01xzuwlh-"
_SCALARS = frozenset((_BITS + _BITS.upper()).encode())
_VECTORS, _OTHERS, _TIME, _COMMAND = frozenset(b"bB"), frozenset(b"rRsS"), ord("#"), ord("$")
_RANGE = re.compile(r"(?s)(.*?)\s*\[(-?[0-9]{1,20}):(-?[0-9]{1,20})\]")
_INDEX = re.compile(r"\[-?[0-9]+\]\Z")

# A bit of a signal: its code, its place from the right, and how many bits there are.
Bit = tuple[bytes, int, int]
Values = tuple[bool | None, ...]


def samples(path: Path, symbols: Iterable[str], clock: str | None, source: str) -> Iterator[tuple]:
    """The propositions of a waveform, `CYCLE` too if it has that, and then the values of each step.

    A step is a rising edge of the clock, and has the values before it. Without a clock, a step is each time at which
    something changes, and has the values after it. A vector's bits are propositions of their own, `data[0]` and so on.

    Raises:
        TraceFileError: If it is no waveform, or lacks a proposition; `source` is what it calls the file.
        OSError: If it cannot be read.
    """
    names = Names(dict.fromkeys([*symbols, CYCLE, *([] if clock is None else [clock])]))
    with reading(path, TraceFileError) as file:
        words = chain.from_iterable(_blocks(file.read, source))
        _read_header(words, names, source)
        wanted = tuple(symbol for symbol in names.wanted if symbol != CYCLE or names.has(CYCLE))
        bits: list[Bit] = [names.key(symbol, source) for symbol in wanted]  # type: ignore[misc]
        edge = None if clock is None else wanted.index(clock)
        yield wanted
        for before, after in _times(words, bits, source):
            if edge is None:
                yield after
            elif before[edge] is False and after[edge] is True:
                yield before


def _blocks(read: Callable[[int], bytes], source: str) -> Iterator[list[bytes]]:
    """The words of a file, many at a time."""
    rest = b""
    while block := read(BLOCK):
        block = rest + block
        words = block.split()
        rest = words.pop() if words and not block[-1:].isspace() else b""
        if len(rest) > BLOCK:
            raise _none(f"a word of over {BLOCK:,} bytes", source)
        yield words
    yield [rest] if rest else []


def _read_header(words: Iterator[bytes], names: Names, source: str) -> None:
    """Tells `names` of the signals."""
    scopes: list[str] = []
    ends = tuple(f".{_INDEX.sub('', symbol)}" for symbol in names.wanted)
    for word in words:
        if not word.startswith(b"$"):
            raise _none(f"{in_short(_text([word]))} where a header should be", source)
        told = list(takewhile(lambda one: one != b"$end", words))
        if word == b"$enddefinitions":
            return
        if word == b"$scope":
            scopes.append(_text(told[1:]))
        elif word == b"$upscope":
            if not scopes:
                raise _none("$upscope where no scope is open", source)
            scopes.pop()
        elif word == b"$var" and len(told) > 3 and _text(told[:1]) not in _NO_BITS:
            # This package writes what has no scope into `trace`.
            around = [] if scopes == ["trace"] else filter(None, scopes)
            name = ".".join([*around, _text(told[3:])])
            names.show(name)
            base = _RANGE.fullmatch(name)
            if f".{base[1] if base else _INDEX.sub('', name)}".endswith(ends) or f".{name}".endswith(ends):
                _add(names, name, told[2], int(told[1][:_DIGITS]) if told[1].isdigit() else 1, source)
    raise _none("it has no $enddefinitions", source)


def _add(names: Names, name: str, code: bytes, size: int, source: str) -> None:
    """Tells `names` of the bits of a signal, of which the first is the most significant."""
    given = _RANGE.fullmatch(name)
    if given is None and size == 1:
        names.add(name, (code, 0, 1))
        return
    first, last = (int(given[2]), int(given[3])) if given else (size - 1, 0)
    base, step = given[1] if given else name, 1 if last >= first else -1
    count = abs(last - first) + 1
    if count > MOST_BITS:
        raise _none(f"{in_short(name)} has over {MOST_BITS:,} bits", source)
    for place in range(count):
        names.add(f"{base}[{first + step * place}]", (code, count - 1 - place, count))


def _times(words: Iterator[bytes], bits: list[Bit], source: str) -> Iterator[tuple[Values, Values]]:
    """The values before and after each time at which something changes."""
    scalars: dict[bytes, list[tuple[int, bool | None]]] = {}  # word → places of `bits` and their values
    vectors: dict[bytes, list[tuple[int, int]]] = {}  # code → places of `bits`, and places from the right
    for place, (code, bit, _) in enumerate(bits):
        vectors.setdefault(code, []).append((place, bit))
        for character in _BITS + _BITS.upper():
            # One character fills a vector as Verilog does: 0 and 1 with zeros, others with themselves.
            value = False if bit and character in "01" else VALUES[character.lower()]
            scalars.setdefault(character.encode() + code, []).append((place, value))
    current: list[bool | None] = [None] * len(bits)
    before, time, changed = tuple(current), -1, False
    for word in words:
        first = word[0]
        if first in _SCALARS:
            changed = True
            if len(word) == 1:
                word += next(words, b"")
            for place, value in scalars.get(word, ()):
                current[place] = value
        elif first == _TIME:
            if not word[1:].isdigit() or len(word) > _DIGITS:
                raise _none(f"{in_short(_text([word]))} is no time", source)
            now = int(word[1:])
            if now < time:
                raise _none(f"time goes back from {time} to {now}", source)
            if now > max(time, 0) and changed:
                after = tuple(current)
                yield before, after
                before, changed = after, False
            time = now
        elif first in _VECTORS:
            code, digits = next(words, b""), word[1:].lower()
            if not code or not digits:
                raise _none(f"{in_short(_text([word]))} is the value of no signal", source)
            changed = True
            for place, bit in vectors.get(code, ()):
                fill = "0" if digits[0] in b"01" else chr(digits[0])
                character = chr(digits[-1 - bit]) if bit < len(digits) else fill
                if character not in _BITS:
                    raise _none(f"{in_short(_text([word]))} is no value", source)
                current[place] = VALUES[character]
        elif first in _OTHERS:
            next(words, b"")
            changed = True
        elif first == _COMMAND:
            if word == b"$comment":
                for _ in takewhile(lambda one: one != b"$end", words):
                    pass
        else:
            raise _none(f"{in_short(_text([word]))} is no change of a value", source)
    if changed:
        yield before, tuple(current)


def _text(words: Iterable[bytes]) -> str:
    """A name of one or several words, such as `data [3:0]`."""
    joined = b" ".join(words).replace(b" [", b"[")
    try:
        return joined.decode()
    except UnicodeDecodeError:
        return joined.decode("latin-1")


def _none(reason: str, source: str) -> TraceFileError:
    return TraceFileError(f"{source}: no waveform ({reason}); give a VCD as simulators write it")
