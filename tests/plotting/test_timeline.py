"""A timeline says of each step what its formula says, and its picture shows that without colour."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, Trace, read_trace
from hf_symbinv.plotting.figures import PictureError
from hf_symbinv.plotting.timeline import LARGEST_TABLE, Timeline, draw_timeline
from tests.solvers.semantics import Lasso, holds

NAMES = "abc"
STEPS = st.recursive(
    st.sampled_from([*map(Formula.ap, NAMES), Formula.true(), Formula.false()]),
    lambda inner: st.one_of(
        inner.map(lambda node: ~node), st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] ^ pair[1]),
    ),
    max_leaves=6,
)  # fmt: skip


def by_brute_force(step, name):
    """What all valuations of a step say of a symbol: its value, `any`, or `?`; None if there are none."""
    valuations = [dict(zip(NAMES, values, strict=True)) for values in product([False, True], repeat=3)]
    kept = [valuation for valuation in valuations if holds(step, Lasso((), (valuation,)))]
    if not kept:
        return None
    values = {valuation[name] for valuation in kept}
    if len(values) == 1:
        return str(int(values.pop()))
    return "any" if all({**valuation, name: not valuation[name]} in kept for valuation in kept) else "?"


@given(st.lists(STEPS, max_size=3), st.lists(STEPS, min_size=1, max_size=3))
def test_values_are_those_of_all_valuations(prefix, cycle):
    timeline = Timeline.of(Trace(tuple(prefix), tuple(cycle)))
    assert timeline.loop == len(prefix)
    for place, step in enumerate((*prefix, *cycle)):
        assert (place in timeline.impossible) == (by_brute_force(step, "a") is None)
        for name, row in zip(timeline.symbols, timeline.values, strict=True):
            if place not in timeline.impossible:
                assert row[place] == by_brute_force(step, name)


def test_what_cells_do_not_tell_is_noted():
    timeline = Timeline.of(read_trace("request; a|b; cycle{a|b; a & !a}"))
    assert timeline.notes() == ["? in steps 1, 2: a | b", "no valuation satisfies step 3: a & !a"]
    assert Timeline.of(read_trace("a; cycle{!b}")).notes() == []


def test_steps_with_many_symbols_are_read_without_a_table():
    names = [f"p{number}" for number in range(LARGEST_TABLE + 8)]
    conjunction = " & ".join(names[:-1]) + f" & !{names[-1]}"
    (*first, last) = Timeline.of(read_trace(f"cycle{{{conjunction}}}")).values
    assert set(first) == {("1",)} and last == ("0",)
    assert set(Timeline.of(read_trace(f"cycle{{{' | '.join(names)}}}")).values) == {("?",)}


@pytest.mark.parametrize(
    "text", ["cycle{1}", '"$a_b$"; cycle{grant; request | !grant; a & !a}', "; ".join("abcdef" * 8) + "; cycle{a}"]
)
def test_every_text_of_a_picture_lies_inside_it(text):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    figure = draw_timeline(Timeline.of(read_trace(text)))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    width, height = canvas.get_width_height()
    boxes = [item.get_window_extent() for item in figure.findobj(Text) if item.get_visible() and item.get_text()]
    assert len(boxes) > 3
    for box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


def test_what_no_picture_can_show():
    long = Timeline.of(read_trace("cycle{" + "; ".join(["a"] * 121) + "}"))
    with pytest.raises(PictureError, match="121 steps: a picture shows 120 at most; read the trace instead"):
        draw_timeline(long)
    wide = Timeline.of(read_trace("cycle{" + " & ".join(f"p{n}" for n in range(61)) + "}"))
    with pytest.raises(PictureError, match="61 propositions: a picture shows 60 at most"):
        draw_timeline(wide)
