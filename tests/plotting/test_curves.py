"""Lines differ without colour, and a picture is whole or not there."""

import pytest

from hf_symbinv.plotting.curves import Series, draw_by_symbols
from hf_symbinv.plotting.figures import LINES, LONGEST_NAME, PictureError, save_picture, short

POINTS = ((1, 1.0, 0.9, 1.0), (2, 0.5, 0.25, 0.75))


def test_a_picture_has_a_line_for_each_series_that_differs_without_colour():
    figure = draw_by_symbols([Series(f"$m_{n}$", POINTS) for n in range(3)], "share")
    lines = [line for line in figure.axes[0].lines if line.get_marker() in {"o", "s", "^"}]
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 3
    assert len({marker for _, _, marker in LINES}) == len({str(dashes) for _, dashes, _ in LINES}) == len(LINES)


def test_an_unknown_kind_of_picture(tmp_path):
    with pytest.raises(PictureError, match=r"x\.bmp: unknown kind of picture; end it in \.png, \.svg, \.pdf"):
        save_picture(None, tmp_path / "x.bmp")


def test_a_long_name_keeps_its_end():
    assert short("run") == "run" and short("a" * 60 + "end").endswith("aend")
    assert len(short("a" * 60)) == LONGEST_NAME


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path):
    path = tmp_path / "curves.svg"
    path.write_text("old")
    figure = draw_by_symbols([Series("run", POINTS)], "share")
    figure.text(0, 0, r"$\frac$")  # what matplotlib finds out while it writes
    with pytest.raises(ValueError, match="frac"):
        save_picture(figure, path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
