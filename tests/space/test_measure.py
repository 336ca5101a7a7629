"""The times that the page and its README give come from a script that anybody can run."""

import re
import runpy
import sys
from pathlib import Path

import app
import pytest

from hf_symbinv.cli import main

SPACE = Path(app.__file__).parent
LINE = re.compile(r"(\w+): ([\d,]+) formulas, half of them within ([\d.]+) ms, nine in ten within ([\d.]+) ms")


def test_the_page_gives_the_time_that_its_readme_shows():
    spot, model = LINE.findall((SPACE / "README.md").read_text())
    assert "Spot alone finds most witnesses in a few milliseconds" in app.ABOUT and 1 < float(spot[3]) < 10
    assert "the model in about a tenth of a\nsecond" in app.ABOUT and 50 < float(model[2]) < 150


@pytest.mark.slow
def test_both_are_timed_on_the_formulas_of_a_data_set(tmp_path, monkeypatch, capsys):
    data = tmp_path / "speed"
    assert main(["data", "--output", str(data), "--rows", "12", "--max-size", "12", "--workers", "1"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["measure.py", str(data)])
    runpy.run_path(str(SPACE / "measure.py"), run_name="__main__")
    printed = capsys.readouterr().out
    found = [LINE.fullmatch(line).groups() for line in printed.splitlines()]
    assert [(who, count) for who, count, *_ in found] == [("Spot", "12"), ("model", "12")]
    assert all(0 < float(half) <= float(most) for _, _, half, most in found)
