"""What tables and waveforms share: which of their names a proposition means, and what a value says."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from hf_symbinv.errors import UserError, in_short, nearest

CYCLE = "symbinv.cycle"
# Names that a message shows.
MOST_SHOWN = 100
# What files say of one bit, in small letters: as Verilog and the nine values of VHDL (IEEE 1164), and as spreadsheets.
VALUES: dict[str, bool | None] = {
    **dict.fromkeys(["0", "l", "false", "f", "0.0", "low"], False),
    **dict.fromkeys(["1", "h", "true", "t", "1.0", "high"], True),
    **dict.fromkeys(["", "x", "z", "u", "w", "-", "?", "nan", "na", "n/a", "null", "none"], None),
}


class TraceFileError(UserError):
    """A file that is no trace, or lacks propositions."""


class Names:
    """Finds propositions among the names of a file: `irq` is what that calls `top.cpu.irq`, if nothing else ends so.

    Args:
        wanted: The propositions.
    """

    def __init__(self, wanted: Iterable[str]) -> None:
        self.wanted = tuple(wanted)
        self._found: dict[str, dict[str, dict[Hashable, None]]] = {symbol: {} for symbol in self.wanted}
        self._shown: list[str] = []

    def add(self, name: str, key: Hashable) -> None:
        """A name of the file, and what stands for its values: two names with the same key are one signal."""
        for symbol, found in self._found.items():
            if name.endswith(symbol) and name[: -len(symbol)][-1:] in ("", "."):
                found.setdefault(name, {})[key] = None

    def show(self, name: str) -> None:
        """Has messages list a name of the file."""
        if len(self._shown) < MOST_SHOWN:
            self._shown.append(name)

    def has(self, symbol: str) -> bool:
        """Whether the file has a name for a proposition."""
        return bool(self._found[symbol])

    def key(self, symbol: str, source: str) -> Hashable:
        """What stands for the values of a proposition."""
        found = self._found[symbol]
        if symbol in found:
            found = {symbol: found[symbol]}
        for name, keys in found.items():
            if len(keys) > 1:
                raise TraceFileError(f"{source}: {len(keys)} signals are called {name}; give each its own name")
        signals = {key for keys in found.values() for key in keys}
        if len(signals) == 1:
            return signals.pop()
        parts = [name.rpartition(".")[2] for name in self._shown]
        remedy, stem = "write its full name", symbol.rpartition(".")[2].partition("[")[0]
        vectors = [
            name for name, part in zip(self._shown, parts, strict=True) if part.startswith(f"{stem}[") or part == symbol
        ]
        if not found and vectors:
            remedy = f'a bit of a vector is called "{_last_bit(vectors[-1])}"'
        elif not found and (near := nearest(symbol, parts)):
            remedy = f"did you mean {near}?"
        has = f"has {in_short(', '.join(self._shown))}" if any(self._shown) else "names none"
        if found:
            has = f"has several that end so, {in_short(', '.join(found))}"
        raise TraceFileError(f"{source}: no signal is called {symbol}, and it {has}; {remedy}")


def _last_bit(vector: str) -> str:
    """The last bit of a vector, which a file calls `top.data[7:4]`, `data[4]` or `data`: `top.data[4]`, and so on."""
    bits = re.search(r"\[(?:-?\d+:)?(-?\d+)\]$", vector)
    return f"{vector[: bits.start()]}[{bits[1]}]" if bits else f"{vector}[0]"
