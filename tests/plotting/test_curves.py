"""Alpha-covariance is drawn as it was measured."""

import math
from statistics import mean

import pytest

from hf_symbinv.metrics.intervals import NORMAL_QUANTILE
from hf_symbinv.plotting.curves import Series, alpha_covariance_series, alpha_covariance_table, draw_alpha_covariance
from hf_symbinv.plotting.figures import LINES, LONGEST_NAME, PictureError, save_picture, short


def evaluation(model, data="data/ltl", **values):
    parts = [
        {"symbols": int(key[1:]), "alpha_covariance": mean(found), "examples": len(found), "values": found}
        for key, found in values.items()
    ]
    return {"model": model, "data": data, "alpha_covariance": {"by_symbols": parts}}


class TestAlphaCovariance:
    def test_intervals_are_those_of_the_mean(self):
        (series,) = alpha_covariance_series([evaluation("m", k1=[1.0, 1.0], k2=[0.2, 0.4, 0.6], k3=[0.5])])
        assert series.points[0] == (1, 1.0, 1.0, 1.0) and series.points[2] == (3, 0.5, None, None)
        half = NORMAL_QUANTILE * 0.2 / math.sqrt(3)
        assert series.points[1] == pytest.approx((2, 0.4, 0.4 - half, 0.4 + half))

    def test_the_table_has_a_column_for_every_number_of_symbols(self):
        series = alpha_covariance_series([evaluation("m", k1=[1.0], k3=[0.5]), evaluation("other", k2=[0.25, 0.25])])
        assert alpha_covariance_table(series).splitlines() == [
            "symbols      1                      2      3",
            "m        1.000                      -  0.500",
            "other        -  0.250 (0.250 - 0.250)      -",
        ]

    def test_a_model_that_comes_twice_is_told_apart_by_the_data(self):
        names = [
            line.name for line in alpha_covariance_series([evaluation("m", "x", k1=[1]), evaluation("m", "y", k1=[1])])
        ]
        assert names == ["m on x", "m on y"]

    @pytest.mark.parametrize(
        ("evaluations", "message"),
        [
            ([], "no evaluations; give at least one file"),
            ([{"model": "m", "alpha_covariance": None}], "m: has no alpha"),
            ([evaluation("m", k2=[-1])], "m: its alpha-covariance of 2 symbols, -1, is not the mean of values from 0"),
        ],
    )
    def test_what_has_none(self, evaluations, message):
        with pytest.raises(PictureError, match=message):
            alpha_covariance_series(evaluations)

    def test_a_picture_has_a_line_for_each_model_that_differs_without_colour(self):
        figure = draw_alpha_covariance(alpha_covariance_series([evaluation(f"$m_{n}$", k1=[0.5]) for n in range(3)]))
        lines = [line for line in figure.axes[0].lines if line.get_marker() in {"o", "s", "^"}]
        assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 3
        assert len({marker for _, _, marker in LINES}) == len({str(dashes) for _, dashes, _ in LINES}) == len(LINES)


def test_an_unknown_kind_of_picture(tmp_path):
    with pytest.raises(PictureError, match=r"x\.bmp: unknown kind of picture; end it in \.png, \.svg, \.pdf"):
        save_picture(None, tmp_path / "x.bmp")


def test_a_long_name_keeps_its_end():
    assert short("run") == "run" and short("a" * 60 + "end").endswith("aend")
    assert len(short("a" * 60)) == LONGEST_NAME


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "curves.svg"
    path.write_text("old")
    figure = draw_alpha_covariance([Series("run", ((1, 1.0, None, None), (2, 0.5, 0.25, 0.75)))])
    figure.text(0, 0, r"$\frac$")  # what matplotlib finds out while it writes
    with pytest.raises(ValueError, match="frac"):
        save_picture(figure, path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
