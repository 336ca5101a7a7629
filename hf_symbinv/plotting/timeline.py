"""A witness as a timeline: what each step says of each proposition, and which steps repeat, as a picture.

A step is a formula, not a valuation: a proposition is true in it, false, free, or bound up with others (`a | b`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hf_symbinv.logic import Formula, Trace, Worlds, to_infix, to_prefix
from hf_symbinv.logic.notation import read_words
from hf_symbinv.plotting.figures import PictureError, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = Literal["1", "0", "any", "?"]
# Our choice: a truth table of 4,096 rows; and more columns or rows than these cannot be read in one picture.
LARGEST_TABLE, MOST_STEPS, MOST_SYMBOLS = 12, 120, 60


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the steps of a trace say.

    Attributes:
        symbols: The propositions, in the order of their first appearance.
        steps: The steps in infix.
        loop: The first step of the cycle; the last step is followed by it.
        values: For each symbol and step: `1` or `0` in all valuations of the step, `any` if the step does not mention
            it or does not care, `?` if it is bound up with others.
        impossible: Steps that no valuation satisfies.
    """

    symbols: tuple[str, ...]
    steps: tuple[str, ...]
    loop: int
    values: tuple[tuple[Value, ...], ...]
    impossible: tuple[int, ...]

    @classmethod
    def of(cls, trace: Trace) -> Timeline:
        """The timeline of a trace."""
        steps = (*trace.prefix, *trace.cycle)
        columns = [_values(step) for step in steps]
        symbols = trace.symbols()
        return cls(
            symbols,
            tuple(to_infix(step) for step in steps),
            len(trace.prefix),
            tuple(tuple((column or {}).get(symbol, "any") for column in columns) for symbol in symbols),
            tuple(place for place, column in enumerate(columns) if column is None),
        )

    def notes(self) -> list[str]:
        """Sentences on the steps that the cells do not tell."""
        places = range(len(self.steps))
        bound = [place for place in places if any(row[place] == "?" for row in self.values)]
        lines = []
        for where, found in (("? in", bound), ("no valuation satisfies", self.impossible)):
            for step in dict.fromkeys(self.steps[place] for place in found):
                same = [str(place) for place in found if self.steps[place] == step]
                lines.append(f"{where} step{'s' * (len(same) > 1)} {', '.join(same)}: {step}")
        return lines


def _values(step: Formula) -> dict[str, Value] | None:
    """What a step says of its symbols; None if no valuation satisfies it."""
    symbols = step.symbols()
    if len(symbols) > LARGEST_TABLE:
        return _literals(step) or dict.fromkeys(symbols, "?")
    # Bit r of a table is the value in row r, in which symbol s is true if bit s of r is set.
    places = {name: place for place, name in enumerate(symbols)}
    words = [word if name is None else places[name] for _, word, name in read_words(to_prefix(step))]
    worlds = Worlds([(1 << len(symbols), 0, 1)], len(symbols))
    holds = worlds.truth(words)[0]
    if not holds:
        return None
    found: dict[str, Value] = {}
    for s, name in enumerate(symbols):
        table = worlds.truth([s])[0]
        true, false = holds & table, holds & ~table
        if not false:
            found[name] = "1"
        elif not true:
            found[name] = "0"
        else:
            found[name] = "any" if true >> (1 << s) == false else "?"
    return found


def _literals(step: Formula) -> dict[str, Value] | None:
    """What a conjunction of literals says of its symbols; None if the formula is none, or contradicts itself."""
    found: dict[str, Value] = {}
    stack = [step]
    while stack:
        node = stack.pop()
        value: Value = "1"
        if node.operator == "&":
            stack += node.operands
            continue
        if node.operator == "!":
            node, value = node.operands[0], "0"
        if node.name is None or found.setdefault(node.name, value) != value:
            return None
    return found


def draw_timeline(timeline: Timeline) -> Figure:
    """The picture: a row for each proposition, a column for each step, the cycle on grey under an arrow back.

    Raises:
        PictureError: If there are more steps or propositions than one picture can show.
    """
    count, rows = len(timeline.steps), len(timeline.symbols)
    for number, limit, what in ((count, MOST_STEPS, "steps"), (rows, MOST_SYMBOLS, "propositions")):
        if number > limit:
            raise PictureError(f"{number} {what}: a picture shows {limit} at most; read the trace instead")
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    names = [short(name) for name in timeline.symbols] or ["no proposition"]
    free: Value = "any"
    table = timeline.values or ((free,) * count,)
    notes = timeline.notes()
    # Inches: letters of 9 and 8 points are some 0.08 and 0.075 wide; the legend takes 2.6.
    left, width, height = 0.35 + 0.08 * max(map(len, names)), 0.42 * count, 0.36 * len(table)
    below = 0.75 + 0.2 * len(notes)
    total_width = max(left + width + 0.25, 2.7, 0.3 + 0.075 * max(map(len, notes), default=0))
    total_height = height + 0.75 + below
    figure = Figure(figsize=(total_width, total_height))
    axes = figure.add_axes((left / total_width, below / total_height, width / total_width, height / total_height))
    axes.set_xlim(0, count)
    axes.set_ylim(len(table), 0)
    axes.add_patch(Rectangle((timeline.loop, 0), count - timeline.loop, len(table), color="0.9", linewidth=0))
    for row, values in enumerate(table):
        for step, value in enumerate(values):
            _draw_cell(axes, step, row, value)
    for step in timeline.impossible:
        for bottom, top in ((0, len(table)), (len(table), 0)):
            axes.plot([step, step + 1], [bottom, top], color="black", linewidth=1)
    axes.set_xticks([step + 0.5 for step in range(count)], [str(step) for step in range(count)], fontsize=8)
    axes.set_yticks([row + 0.5 for row in range(len(table))], names, fontsize=9, parse_math=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("step", fontsize=8, loc="left")
    _draw_loop(axes, timeline.loop, count)
    _add_legend(figure, timeline, notes)
    return figure


# Only a cell that is false is an empty box: one that may be either is striped, one that is bound up with others grey.
_STYLES: dict[Value, dict[str, Any]] = {
    "1": {"facecolor": "0.15", "edgecolor": "0.35", "linewidth": 0.7},
    "0": {"facecolor": "white", "edgecolor": "0.35", "linewidth": 0.7},
    "any": {"facecolor": "none", "edgecolor": "0.55", "linewidth": 0, "hatch": "/////"},
    "?": {"facecolor": "0.78", "edgecolor": "0.35", "linewidth": 0.7},
}


def _draw_cell(axes: Axes, step: int, row: int, value: Value) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((step + 0.06, row + 0.12), 0.88, 0.76, **_STYLES[value]))
    if value != "any":
        colour = "white" if value == "1" else "black"
        axes.text(step + 0.5, row + 0.51, value, color=colour, fontsize=8, ha="center", va="center")


def _draw_loop(axes: Axes, loop: int, count: int) -> None:
    """Above the columns: where prefix and cycle are, and an arrow from the last step back to the cycle's first."""
    above = -0.12
    if loop:
        axes.text(loop / 2, above, "prefix", fontsize=8, ha="center", va="bottom")
        axes.plot([loop, loop], [0, axes.get_ylim()[0]], color="black", linewidth=1.2)
    middle = (loop + count) / 2
    start, end = (count - 0.35, loop + 0.35) if count - loop > 1 else (count - 0.15, loop + 0.15)
    # Heights are in rows: an arc that rises by half an inch at most, however wide it is.
    bend = min(0.9 / max(start - end, 0.5), 0.9)
    axes.annotate(
        "", xy=(end, above), xytext=(start, above), annotation_clip=False,
        arrowprops={"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "color": "black", "linewidth": 1.1},
    )  # fmt: skip
    axes.text(middle, above - 0.75, "cycle", fontsize=8, ha="center", va="bottom")


def _add_legend(figure: Figure, timeline: Timeline, notes: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    used = {value for row in timeline.values for value in row} or {"any"}
    kinds: dict[Value, str] = {"1": "true", "0": "false", "any": "either"}
    handles = [Patch(**_STYLES[value], label=label) for value, label in kinds.items() if value in used]
    width, height = figure.get_size_inches()
    figure.legend(
        handles=handles, ncols=len(handles), fontsize=8, frameon=False, loc="lower left",
        bbox_to_anchor=(0.1 / width, (0.02 + 0.2 * len(notes)) / height),
    )  # fmt: skip
    for place, note in enumerate(reversed(notes)):
        figure.text(0.15 / width, (0.08 + 0.2 * place) / height, note, fontsize=8, parse_math=False)


__all__ = ["Timeline", "draw_timeline"]
