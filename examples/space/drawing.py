"""What the demo shows, as HTML: timelines of witnesses, verdicts, comparisons, heat maps. Every text is escaped.

The classes are those of style.css. Nothing here computes anything but what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from answering import MOST_LIMIT, Attention, Candidate, Comparison, Solved

from hf_symbinv import Formula, parse_trace, to_infix, trace_to_infix
from hf_symbinv.logic import FormulaSyntaxError

# What Spot said, in words and as a class of style.css.
VERDICTS = {
    "correct": ("verified", "good"),
    "incorrect": ("wrong", "bad"),
    "invalid": ("no witness", "bad"),
    "timeout": ("timeout", "open"),
    "error": ("Spot failed", "open"),
    "unchecked": ("not checked", "open"),
}
# Of a heat map: pixels of a cell, letters of a label.
CELL, LONGEST_LABEL = 24, 14
# Letters of a formula on each side of a fault: with the caret between them they fit the width of a phone.
MARGIN = 17
LEGEND = (
    '<p class="legend"><span><b class="yes">1</b> true</span> <span><b class="no">0</b> false</span> '
    '<span><b class="any"></b> either</span></p>'
)


def timeline(answer: str, names: Sequence[str] = ()) -> str:
    """A trace as a table: a row for each proposition, a column for each step, the loop marked.

    Args:
        answer: In prefix notation; what is no trace is shown as it is.
        names: Propositions that get a row even where the trace does not mention them, in this order.
    """
    try:
        trace = parse_trace(answer)
    except FormulaSyntaxError as error:
        return f'<p class="why">{escape(answer) or "an empty answer"}: {escape(str(error))}</p>'
    steps = (*trace.prefix, *trace.cycle)
    start, count = len(trace.prefix), len(trace.cycle)
    heads = f'<th colspan="{start}">prefix</th>' if start else ""
    heads += f'<th class="loop" colspan="{count}">loop</th>'
    numbers = "".join(f"<th{_classes(index, start)}>{index}</th>" for index in range(len(steps)))
    parts = [literals(step) for step in steps]
    rows = "".join(
        _timeline_row(name, [values.get(name) for values, _ in parts], start)
        for name in dict.fromkeys((*names, *trace.symbols()))
    )
    rests = [" and ".join(map(to_infix, rest)) for _, rest in parts]
    if any(rests):
        cells = "".join(f"<td{_classes(i, start)}><code>{escape(rest)}</code></td>" for i, rest in enumerate(rests))
        rows += f'<tr class="rest"><th scope="row">also</th>{cells}</tr>'
    before = f'<td colspan="{start}"></td>' if start else ""
    back = f'<tr class="back"><td></td>{before}<td colspan="{count}"><div></div></td></tr>'
    head = f'<tr><td></td>{heads}</tr><tr><th scope="row">step</th>{numbers}</tr>'
    table = f'<table class="timeline"><thead>{head}</thead><tbody>{rows}{back}</tbody></table>'
    return _scrolling("Timeline", "scroll", table)


def _scrolling(label: str, kind: str, content: str) -> str:
    """What may be larger than its place; with the keyboard one can get there and scroll."""
    return f'<div class="{kind}" tabindex="0" role="group" aria-label="{label}">{content}</div>'


def literals(step: Formula) -> tuple[dict[str, bool], list[Formula]]:
    """What a step says of single propositions, name → whether it holds, and all else that it demands.

    A proposition that would have to hold and not to hold is left to the second part.
    """
    values: dict[str, bool] = {}
    rest, stack = [], [step]
    while stack:
        node = stack.pop()
        inner = node.operands[0] if node.operator == "!" else node
        if node.operator == "&":
            stack += reversed(node.operands)
        elif inner.name is not None and values.setdefault(inner.name, node is inner) == (node is inner):
            continue
        elif node.operator != "1":
            rest.append(node)
    return values, rest


def _timeline_row(name: str, values: Sequence[bool | None], start: int) -> str:
    cells = []
    for index, value in enumerate(values):
        text, kind, word = {
            True: ("1", "yes", "is true"),
            False: ("0", "no", "is false"),
            None: ('<span class="unseen">either</span>', "any", "may be true or false"),
        }[value]
        title = escape(f"{name} {word} at step {index}", quote=True)
        cells.append(f'<td{_classes(index, start, kind)} title="{title}">{text}</td>')
    return f'<tr><th scope="row" title="{escape(name, quote=True)}">{escape(name)}</th>{"".join(cells)}</tr>'


def _classes(index: int, start: int, kind: str = "") -> str:
    """The class attribute of a cell in a column; the loop begins at column `start`."""
    classes = f"{kind}{' loop' * (index >= start)}".strip()
    return f' class="{classes}"' if classes else ""


def badge(verdict: str) -> str:
    """What Spot said of an answer."""
    words, kind = VERDICTS[verdict]
    return f'<span class="badge {kind}">{words}</span>'


def witness(solved: Solved) -> str:
    """The best answer as a text and a timeline."""
    best = solved.best
    drawn = timeline(best.text, solved.formula.symbols())
    verdict = f'<p class="verdict" role="status">{badge(best.verdict)} <code>{infix(best.text)}</code></p>'
    label = escape(f"Witness of {to_infix(solved.formula)}", quote=True)
    told = "".join(f'<p class="busy" role="status">{escape(one)}.</p>' for one in solved.told)
    said = f"<h2>Witness</h2>{told}{_busy(solved)}{_missed(solved)}{verdict}{_why(best)}"
    return f'<section class="witness" aria-label="{label}">{said}{drawn}{LEGEND}</section>'


def _missed(solved: Solved) -> str:
    """A sentence if every answer is wrong: whether there are right ones at all."""
    if solved.search.status != "done" or any(one.verdict not in ("incorrect", "invalid") for one in solved.candidates):
        return ""
    said = "The model has found no witness, but Spot has: it is below, under “Spot searches”."
    if solved.search.witness is None:
        said = "No run makes this formula true, as Spot proves. So whatever the model answers is wrong."
    return f'<p role="status">{said}</p>'


def _busy(solved: Solved) -> str:
    """A sentence if Spot ran out of time on the answers."""
    left = sum(one.verdict == "unchecked" for one in solved.candidates)
    if not left and all(one.verdict != "timeout" for one in solved.candidates):
        return ""
    rest = f"; {left} answer{'s were' if left > 1 else ' was'} not checked" if left else ""
    remedy = "Give it more time under Settings."
    if solved.limit == MOST_LIMIT:
        remedy = "This page gives no more: `symbinv solve --timeout` does."
    if solved.crowded:
        remedy = "It had no more time because others wait for it with such formulas: ask again in a minute."
    return (
        f'<p class="busy" role="status">Spot was busy for {solved.limit:g} s with this formula and was stopped at its '
        f"limit{rest}. {remedy}</p>"
    )


def candidates(solved: Solved) -> str:
    """The n-best list with verdicts; each can be unfolded to a timeline."""
    items = []
    for one in solved.candidates:
        shown = timeline(one.text, solved.formula.symbols())
        took = f" · Spot {duration(one.seconds)}" if one.verdict != "unchecked" else ""
        items.append(
            f'<li><details name="answers"><summary>{badge(one.verdict)} <code>{infix(one.text)}</code> '
            f'<span class="meta">score {score(one.score)}{took}</span></summary>{_why(one)}{shown}</details></li>'
        )
    return f'<ol class="answers">{"".join(items)}</ol>'


def infix(answer: str) -> str:
    """An answer in infix notation, escaped; a text that is no trace stays as it is."""
    try:
        return escape(trace_to_infix(parse_trace(answer)))
    except FormulaSyntaxError:
        return escape(answer) or "(empty)"


def score(value: float | None) -> str:
    return "–" if value is None else f"{value:.6f}"


def duration(seconds: float) -> str:
    """Seconds as a reader compares them: `0.4 ms`, `12 ms`, `1.30 s`."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _why(one: Candidate) -> str:
    return f'<p class="why">{escape(one.message)}</p>' if one.message else ""


def times(solved: Solved) -> str:
    """How long the model took and how long Spot, to check and to search."""
    checked = [one for one in solved.candidates if one.verdict != "unchecked"]
    late = any(one.verdict == "timeout" for one in checked)
    number = f"{len(checked)} answer{'s' * (len(checked) != 1)}"
    stopped = f"stopped at its limit of {solved.limit:g} s"
    if solved.search.status == "done":
        witness = solved.search.witness
        found = "no witness exists" if witness is None else f"<code>{infix(witness)}</code>"
    else:
        found = stopped if solved.search.status == "timeout" else escape(solved.search.message)
    boxes = (
        ("Model", duration(solved.model_seconds), f"{solved.beams} beams on the CPU"),
        ("Spot checks", duration(sum(one.seconds for one in checked)), stopped if late else f"checked {number}"),
        ("Spot searches", duration(solved.search.seconds), found),
    )
    cells = "".join(f"<div><h4>{name}</h4><b>{value}</b><p>{text}</p></div>" for name, value, text in boxes)
    return f'<div class="times">{cells}</div>'


def problem(message: str) -> str:
    """Why a text is not answered."""
    return f'<p class="problem" role="alert">{escape(message)}</p>'


def fault(error: FormulaSyntaxError) -> str:
    """Why a text is no formula, under the line that is wrong with a caret where it is."""
    start = error.text.rfind("\n", 0, error.position) + 1
    line = error.text[start:].split("\n", 1)[0]
    place = error.position - start
    left, right = max(0, place - MARGIN), min(len(line), place + MARGIN)
    before = f"{'…' * (left > 0)}{line[left:place]}"
    after = f"{line[place:right]}{'…' * (right < len(line))}"
    # The caret stands after an unseen copy of what is before it: so it is right in any font, for any letters.
    caret = f'<span aria-hidden="true"><span class="before">{escape(before)}</span><b class="caret">^</b></span>'
    return (
        f'<div class="problem" role="alert"><pre>{escape(before)}{escape(after)}\n{caret}</pre>'
        f"<p>{escape(error.reason[0].upper() + error.reason[1:])}.</p></div>"
    )


def comparisons(own: Comparison, baseline: Comparison) -> str:
    """What both models make of the renamed formula, side by side."""
    moves = ", ".join(
        f"<code>{escape(name)}</code> → <code>{escape(own.renaming[name])}</code>"
        for name in own.formula.symbols()
        if own.renaming[name] != name
    )
    head = f"<p>{moves}</p><p>The formula is now <code>{escape(to_infix(own.renamed))}</code>.</p>"
    sides = _side("Symbol-invariant model", own) + _side("Baseline: a learned row for each name", baseline)
    return f'<section class="renaming">{head}<div class="sides">{sides}</div></section>'


def _side(title: str, one: Comparison) -> str:
    if one.refusal:
        return f'<div class="side"><h4>{title}</h4><p class="why">{escape(one.refusal)}</p></div>'
    before, after = one.before[one.shown], one.after[one.shown]
    names = one.renamed.symbols()
    same = before.score == after.score
    scores = f"score {score(before.score)} → {score(after.score)}: {'the same bits' if same else 'another score'}"
    if one.follows:
        word = f'<span class="badge good">follows</span> all {len(one.after)} answers and scores, bit for bit'
    elif one.same_texts:
        word = '<span class="badge bad">does not follow</span> the answers are renamed, their scores are others'
    else:
        others = sum(answer.text not in one.expected for answer in one.after)
        what = f"{others} of {len(one.after)} answers are others" if others else "its answers come in another order"
        word = f'<span class="badge bad">does not follow</span> {what}'
    wanted = one.expected[one.shown]
    missed = "" if wanted == after.text else f"<p>Renamed it would be <code>{infix(wanted)}</code></p>"
    return (
        f'<div class="side"><h4>{title}</h4><p class="outcome">{word}</p>'
        f"<p>Before {badge(before.verdict)} <code>{infix(before.text)}</code></p>"
        f"<p>After {badge(after.verdict)} <code>{infix(after.text)}</code></p>{missed}"
        f'<p class="meta">{scores}</p>{timeline(after.text, names)}</div>'
    )


def tally(history: Iterable[tuple[bool, bool | None]]) -> str:
    """How often each model followed so far; None for a model that could not be asked."""
    rows = list(history)
    own = sum(first for first, _ in rows)
    asked = [second for _, second in rows if second is not None]
    baseline = f"the baseline {sum(asked)} of {len(asked)}" if asked else "the baseline could not be asked"
    return (
        f'<p class="tally">Renamings followed so far: the symbol-invariant model {own} of {len(rows)}, {baseline}.</p>'
    )


def heatmap(attention: Attention) -> str:
    """Attention weights as an SVG: rows look at columns; tokens of the stream's own symbol are marked."""
    rows, columns = attention.rows, attention.columns
    left = 10 + 8 * min(LONGEST_LABEL, max(map(len, rows)))
    top = 10 + 8 * min(LONGEST_LABEL, max(map(len, columns)))
    largest = max(max(row) for row in attention.weights) or 1.0
    parts = []
    for j, word in enumerate(columns):
        x = left + (j + 0.5) * CELL
        place = f'transform="translate({x:g} {top - 6}) rotate(-90)" dy="4"'
        parts.append(f"<text {place}{_own(word, attention)}>{_label(word)}</text>")
    for i, (word, row) in enumerate(zip(rows, attention.weights, strict=True)):
        y = top + i * CELL
        place = f'x="{left - 6}" y="{y + CELL / 2 + 4:g}" text-anchor="end"'
        parts.append(f"<text {place}{_own(word, attention)}>{_label(word)}</text>")
        for j, weight in enumerate(row):
            title = escape(f"{word} looks at {columns[j]}: {weight:.0%}")
            parts.append(
                f'<rect x="{left + j * CELL}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
                f'style="--w:{weight / largest:.3f}"><title>{title}</title></rect>'
            )
    width, height = left + CELL * len(columns) + 2, top + CELL * len(rows) + 2
    stream = f"the stream of <code>{escape(attention.stream)}</code>" if attention.stream else "the only stream"
    picture = (
        f'<svg class="heatmap" role="img" aria-label="{len(rows)} rows that look at {len(columns)} columns" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
        f"{''.join(parts)}</svg>"
    )
    return (
        f'<p class="meta">In {stream}, each row looks at the columns; the strongest cell is {largest:.0%}.</p>'
        f"{_scale(largest)}{_scrolling('Attention weights', 'scroll map', picture)}"
    )


def _scale(largest: float) -> str:
    """What the colours of a map mean: from nothing to its strongest cell."""
    marks = "".join(f"<span>{share * largest:.0%}</span>" for share in (0, 0.25, 0.5, 0.75, 1))
    return (
        f'<div class="scale"><p>Share of the attention in a row</p><div class="colours"></div><div>{marks}</div></div>'
    )


def _own(word: str, attention: Attention) -> str:
    return ' class="own"' if attention.stream and word == attention.stream else ""


def _label(word: str) -> str:
    return escape(word if len(word) <= LONGEST_LABEL else f"{word[: LONGEST_LABEL - 1]}…")
