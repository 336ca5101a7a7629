"""Curves go through what was logged and measured."""

import json
import math
from statistics import mean

import pytest

from hf_symbinv.metrics.intervals import NORMAL_QUANTILE
from hf_symbinv.plotting.curves import (
    Curves,
    alpha_covariance_series,
    alpha_covariance_table,
    curves_table,
    draw_alpha_covariance,
    draw_curves,
    read_curves,
)
from hf_symbinv.plotting.figures import LINES, LONGEST_NAME, PictureError, save_picture, short

LOG = [
    {"step": 10, "loss": 2.0}, {"step": 20, "loss": 1.0}, {"step": 20, "eval_loss": 1.5},
    {"step": 20, "eval_accuracy": 0.5}, {"step": 40, "loss": 0.5}, {"step": 40, "eval_loss": 0.75},
    {"step": 40, "eval_accuracy": 0.25}, {"step": 40, "train_loss": 1.0},
]  # fmt: skip


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


class TestCurves:
    @pytest.mark.parametrize("name", ["run.json", "trainer_state.json", "checkpoint-40/trainer_state.json"])
    def test_they_are_read_from_what_a_run_leaves(self, tmp_path, name):
        path = tmp_path / "ltl" / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"log" if name == "run.json" else "log_history": LOG}))
        expected = Curves("ltl", ((10, 2.0), (20, 1.0), (40, 0.5)), ((20, 1.5), (40, 0.75)), ((20, 0.5), (40, 0.25)))
        assert read_curves(tmp_path / "ltl") == read_curves(path) == expected

    def test_the_table_has_the_last_losses_and_the_best_share(self):
        runs = [
            Curves("a", ((10, 2.0), (4000, 1.0)), ((4000, 1.5),), ((10, 0.5), (4000, 0.25))),
            Curves("b", ((1, 1.0),), (), ()),
        ]
        assert curves_table(runs).splitlines() == [
            "run  steps  training loss  validation loss  verified    best",
            "a    4,000         1.0000           1.5000    25.0 %  50.0 %",
            "b        1         1.0000                -         -       -",
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "not JSON .*; give a run's folder or a trainer_state.json"),
            ("[]", "holds no JSON object; give a run's folder"),
            ('{"log": [1]}', "holds no log"),
            ('{"log": []}', "holds no loss"),
        ],
    )
    def test_files_without_a_log(self, tmp_path, text, message):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(PictureError, match=message):
            read_curves(tmp_path)
        with pytest.raises(FileNotFoundError):
            read_curves(tmp_path / "none")

    def test_a_picture_has_two_panels_where_answers_were_verified(self, tmp_path):
        run = Curves("a", ((10, 2.0), (20, 0.0)), ((20, 1.5),), ((20, 0.5),))
        assert len(draw_curves([run]).axes) == 2
        assert len(draw_curves([Curves("a", ((10, 2.0),), (), ())]).axes) == 1
        paths = [tmp_path / name for name in ("1.svg", "2.svg")]
        for path in paths:
            save_picture(draw_curves([run]), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()
        with pytest.raises(PictureError, match="no runs; give at least one folder"):
            draw_curves([])


def test_an_unknown_kind_of_picture(tmp_path):
    with pytest.raises(PictureError, match=r"x\.bmp: unknown kind of picture; end it in \.png, \.svg, \.pdf"):
        save_picture(None, tmp_path / "x.bmp")


def test_a_long_name_keeps_its_end():
    assert short("run") == "run" and short("a" * 60 + "end").endswith("aend")
    assert len(short("a" * 60)) == LONGEST_NAME


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "curves.svg"
    path.write_text("old")
    figure = draw_curves([Curves("run", ((1, 2.0), (2, 1.0)), (), ())])
    figure.text(0, 0, r"$\frac$")  # what matplotlib finds out while it writes
    with pytest.raises(ValueError, match="frac"):
        save_picture(figure, path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
