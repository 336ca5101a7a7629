"""Grids say what was counted, refuse what contradicts itself, and are drawn so that grey shows them too."""

import json
import math
from itertools import pairwise
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.evaluation.grid import Box, Cell, Grid, GridError, region_of, tables_csv
from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.plotting.figures import PictureError
from hf_symbinv.plotting.heatmap import draw_heatmaps, save_heatmaps

CELLS = (Cell(1, 3, 40, 40), Cell(2, 3, 40, 37), Cell(2, 5, 20, 9), Cell(2, 6, 0, 0))


def grid(cells=CELLS, **fields):
    return Grid(**{"model": "tiny", "data": "ltl", "cells": cells, "training_box": Box(2, 4), **fields})


@st.composite
def grids(draw):
    questions = draw(st.sampled_from(["formula", "string"]))
    metric = draw(st.sampled_from(["accuracy", "edit_distance"]))
    places = draw(st.sets(st.tuples(st.integers(1, 4), st.integers(7, 12)), min_size=1, max_size=8))
    cells = []
    for place in sorted(places):
        count = draw(st.integers(1, 200))
        total = draw(st.integers(0, count if metric == "accuracy" else 10 * count))
        cells.append(Cell(*place, count, total))
    return grid(tuple(cells), questions=questions, metric=metric)


class TestNumbers:
    @given(grids())
    def test_a_grid_survives_json(self, one):
        assert Grid.from_dict(json.loads(json.dumps(one.to_dict()))) == one

    @given(grids())
    def test_the_mean_is_that_of_the_samples_not_of_the_cells(self, one):
        samples = [cell.total / cell.count for cell in one.cells for _ in range(cell.count)]
        assert one.means()["all"].value == pytest.approx(sum(samples) / len(samples))
        assert one.means()["all"].count == len(samples)

    @given(grids())
    def test_inside_and_outside_of_the_training_box_make_the_whole(self, one):
        whole, *parts = one.means().values()
        assert len(parts) == 2 and sum(part.count for part in parts) == whole.count
        assert sum(part.value * part.count for part in parts if part.count) == pytest.approx(whole.value * whole.count)

    def test_the_interval_is_wilsons_over_all_samples(self):
        mean = grid().means()["all"]
        assert (mean.low, mean.high) == wilson_interval(86, 100)
        assert math.isnan(grid(metric="edit_distance").means()["all"].low)

    @given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9)), min_size=2, max_size=30))
    def test_the_interval_of_edit_distances_is_that_of_the_samples_not_of_the_cells(self, samples):
        counted = Grid.count(
            [(symbols, 9, distance) for symbols, distance in samples], model="m", data="d", metric="edit_distance"
        )
        assert Grid.from_dict(json.loads(json.dumps(counted.to_dict()))) == counted
        mean, side = counted.means()["all"], 1.96 * stdev(value for _, value in samples) / math.sqrt(len(samples))
        assert mean.high - mean.value == pytest.approx(side, rel=1e-3, abs=1e-6)
        assert mean.low == pytest.approx(max(mean.value - side, 0), rel=1e-3, abs=1e-3)
        assert f"{mean.value:.2f} ({mean.low:.2f} - {mean.high:.2f}) of {len(samples)}" in counted.headline()[1]

    def test_a_cell_lies_in_the_box_beyond_its_symbols_or_only_beyond_its_size(self):
        cells = (Cell(2, 4, 1, 1), Cell(2, 5, 1, 1), Cell(3, 5, 1, 1), Cell(3, 4, 1, 1))
        assert [region_of(cell, Box(2, 4)) for cell in cells] == ["in the box", "longer", *["more symbols"] * 2]

    def test_the_table_tells_impossible_from_empty_and_both_from_zero(self):
        cells = (Cell(0, 1, 5, 0), Cell(3, 9, 0, 0), Cell(3, 6, 10, 5))
        rows = [line.split() for line in grid(cells).table().splitlines()[2:]]
        assert rows == [
            ["symbols", *"123456789", "all"],
            ["0", "0", *"--------", "0"],
            ["3", *"....", "-", "50", *"---", "50"],
        ]

    def test_markdown_has_a_column_for_every_range_of_sizes(self):
        cells = tuple(Cell(1, size, 10, 9) for size in range(1, 51))
        lines = grid(cells).table(markdown=True).splitlines()
        assert (
            lines[3] == "| symbols | 1-5 | 6-10 | 11-15 | 16-20 | 21-25 | 26-30 | 31-35 | 36-40 | 41-45 | 46-50 | all |"
        )
        assert lines[5] == "| 1 |" + " 90 |" * 11

    def test_csv_has_a_line_for_every_cell(self):
        low, high = wilson_interval(37, 40)
        lines = tables_csv([grid()]).splitlines()
        assert len(lines) == 1 + len(CELLS)
        assert lines[2] == f"tiny,ltl,accuracy,2,3,40,0.925,{low:.6g},{high:.6g}"
        assert lines[4] == "tiny,ltl,accuracy,2,6,0,,,"

    @given(st.integers(0, 8), st.integers(1, 15))
    def test_strings_of_k_symbols_have_k_tokens_and_formulas_the_operators_too(self, symbols, size):
        assert grid(questions="string").is_possible(symbols, size) == (size in range(symbols, 99))
        assert grid(questions="question").is_possible(symbols, size)
        smallest = symbols + max(symbols - 1, 0) if symbols else 1
        assert grid().is_possible(symbols, size) == (size >= smallest)


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("cells", "fields", "message"),
        [
            ((), {}, "tiny: all 0 cells are empty; evaluate"),
            ((Cell(1, 3, 0, 0),), {}, "all 1 cells are empty"),
            ((Cell(1, 3, 1, 1), Cell(2, 3, -1, 0)), {}, "cell symbols=2, size=3: count=-1: no number may be below 0"),
            ((Cell(1, 3, 4, 5),), {}, "correct=5 does not fit count=4"),
            ((Cell(1, 3, 4, math.nan),), {"metric": "edit_distance"}, "total_distance=nan does not fit"),
            (
                (Cell(1, 3, 4, 8, 15),),
                {"metric": "edit_distance"},
                "total_squared_distance=15 does not fit total_distance=8, count=4",
            ),
            ((Cell(1, 3, 4, 2, 2),), {}, "total_squared_distance=2 does not fit correct=2, count=4"),
            ((Cell(3, 4, 4, 2),), {}, "no formula of 4 tokens has 3 symbols; check the counts"),
            ((Cell(5, 4, 4, 2),), {"questions": "string"}, "no string of 4 tokens has 5 symbols"),
            ((Cell(1, 3, 4, 2), Cell(1, 3, 1, 1)), {}, "cell symbols=1, size=3: listed twice"),
        ],
    )  # fmt: skip
    def test_counts_that_contradict_each_other(self, cells, fields, message):
        with pytest.raises(GridError) as caught:
            grid(cells, **fields)
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ([], "grid: []: must be an object"),
            ({"model": "m", "data": "d"}, "must be an object with cells; give a grid as `symbinv plot --help` shows"),
            ({"model": "m", "data": "d", "cells": [], "metric": "loss"}, "metric='loss': must be 'accuracy' or 'edit"),
            ({"model": "m", "data": "d", "cells": [{"symbols": 1}]}, "must be an object with size"),
            (
                {"model": "m", "data": "d", "cells": [{"symbols": 1, "size": 2, "count": 3}]},
                "cell {'symbols': 1, 'size': 2, 'count': 3}: has no correct",
            ),
            ({"model": "m", "data": "d", "cells": [], "training_box": [5, 35]}, "training_box=[5, 35]: must be"),
        ],
    )  # fmt: skip
    def test_json_that_is_no_grid(self, content, message):
        with pytest.raises(GridError) as caught:
            Grid.from_dict(content)
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("others", "message"),
        [
            ([], "no grids; give at least one"),
            ([grid(), grid(metric="edit_distance")], "metric: tiny has accuracy, tiny has edit_distance"),
            ([grid(), grid(questions="string")], "questions: tiny has formula, tiny has string"),
        ],
    )
    def test_grids_that_cannot_stand_side_by_side(self, others, message):
        with pytest.raises(PictureError) as caught:
            draw_heatmaps(others)
        assert message in str(caught.value)


def lightness(colour):
    """CIE L* of an sRGB colour, 0 (black) to 100 (white)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * (luminance ** (1 / 3) if luminance > 216 / 24389 else luminance * 841 / 108 + 4 / 29) - 16


def filled(figure, panel=0):
    """(x, y, area, colour) of what is filled of every cell of a panel."""
    found = []
    for collection in figure.axes[panel].collections:
        if collection.get_hatch() is None:
            for path, colour in zip(collection.get_paths(), collection.get_facecolors(), strict=True):
                box = path.get_extents()
                found.append(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box.width * box.height, tuple(colour)))
    return found


class TestPicture:
    def test_in_grey_a_better_cell_is_lighter(self):
        cells = tuple(Cell(1, 1 + place, 100, correct) for place, correct in enumerate(range(0, 101, 5)))
        found = sorted(filled(draw_heatmaps([grid(cells)])))
        levels = [lightness(colour) for *_, colour in found]
        assert all(high - low > 1 for low, high in pairwise(levels))

    def test_in_grey_a_shorter_edit_distance_is_lighter(self):
        cells = tuple(Cell(1, 1 + place, 10, 10 * place) for place in range(10))
        levels = [
            lightness(colour) for *_, colour in sorted(filled(draw_heatmaps([grid(cells, metric="edit_distance")])))
        ]
        assert levels == sorted(levels, reverse=True) and levels[0] - levels[-1] > 50

    def test_as_much_of_a_cell_is_filled_as_it_has_of_the_samples_that_fill_one(self):
        cells = (Cell(1, 3, 100, 1), Cell(1, 4, 250, 1), Cell(1, 5, 25, 1), Cell(1, 6, 1, 1))
        assert [area for _, _, area, _ in sorted(filled(draw_heatmaps([grid(cells)])))] == pytest.approx(
            [1, 1, 0.25, 0.01]
        )
        few = (Cell(1, 3, 20, 1), Cell(1, 4, 10, 1))
        assert [area for _, _, area, _ in sorted(filled(draw_heatmaps([grid(few)])))] == pytest.approx([1, 0.5])

    def test_every_cell_is_filled_or_has_the_hatch_of_the_empty_or_of_the_impossible(self):
        figure = draw_heatmaps([grid((Cell(0, 1, 5, 5), Cell(1, 2, 5, 5), Cell(2, 4, 5, 5)))])
        hatched = {c.get_hatch(): len(c.get_paths()) for c in figure.axes[0].collections if c.get_hatch()}
        # Of 3 x 4 cells three have samples; two symbols do not fit into one or two tokens.
        assert len(filled(figure)) == 3 and hatched == {"//////": 7, "......": 2}

    @pytest.mark.parametrize("panels", [1, 3])
    def test_all_edges_of_a_training_box_that_ends_where_the_grid_does_are_seen(self, panels):
        cells = tuple(Cell(k, n, 5, 5) for k in range(11) for n in range(max(2 * k - 1, 1), 51))
        figure = draw_heatmaps([grid(cells, training_box=Box(10, 50))] * panels)
        figure.draw_without_rendering()
        for axes in figure.axes[:panels]:
            box, frame = axes.patches[-1].get_window_extent(), axes.get_window_extent()
            thickness = axes.patches[-1].get_linewidth() * figure.dpi / 72
            gaps = [box.x0 - frame.x0, box.y0 - frame.y0, frame.x1 - box.x1, frame.y1 - box.y1]
            assert min(gaps) > thickness

    @pytest.mark.parametrize("panels", [1, 2, 4, 8])
    def test_no_text_overlaps_another_or_leaves_the_picture(self, panels):
        names = ["streams", "learned, full vocabulary of ten symbols", "x" * 200, "$\\alpha$ renaming"] * 2
        cells = tuple(
            Cell(symbols, size, 100, 40) for symbols in range(11) for size in range(1, 51) if size >= 2 * symbols - 1
        )
        figure = draw_heatmaps([grid(cells, model=name, training_box=Box(5, 35)) for name in names[:panels]])
        figure.draw_without_rendering()
        whole, boxes = figure.bbox, [figure.legends[0].get_window_extent().padded(-1)]
        for axes in figure.axes:
            texts = [axes.title, axes.xaxis.label, axes.yaxis.label]
            for axis in (axes.xaxis, axes.yaxis):
                low, high = axis.get_view_interval()
                texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            shown = [text for text in texts if text.get_text() and text.get_visible()]
            boxes += [text.get_window_extent().padded(-1) for text in shown]
        for place, box in enumerate(boxes):
            assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
            assert not any(box.overlaps(other) for other in boxes[:place])

    @pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
    def test_the_same_grid_is_the_same_bytes(self, tmp_path, suffix, start):
        paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
        for path in paths:
            save_heatmaps([grid()], path)
        assert paths[0].read_bytes() == paths[1].read_bytes() and paths[0].read_bytes().startswith(start)
