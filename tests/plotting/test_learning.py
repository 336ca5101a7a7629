"""Learning curves: the panels that a run's log has something for."""

import pytest

pytest.importorskip("matplotlib")

from hf_symbinv.plotting import learning


@pytest.mark.parametrize("shares", [[], [0.25], [0.25, 0.5]])
def test_a_run_has_a_panel_of_right_answers_if_it_was_evaluated_while_it_trained(shares, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(learning, "save_picture", lambda figure, path: drawn.append(figure))
    log = [{"step": step, "loss": 3.0 / step} for step in (1, 2)]
    log += [{"step": step, "eval_accuracy": share} for step, share in enumerate(shares, start=1)]
    assert learning.save_learning_curve({"log": log}, tmp_path).startswith(str(tmp_path / "learning.png"))
    names = [axes.get_ylabel() for axes in drawn[0].axes]
    assert names == ["loss", "right answers to validation questions (%)"][: 2 if shares else 1]
    curves = [list(line.get_ydata()) for axes in drawn[0].axes for line in axes.lines]
    assert curves == [[3.0, 1.5], *([[100 * share for share in shares]] if shares else [])]
