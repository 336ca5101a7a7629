"""`symbinv plot`: files in, pictures and tables out."""

import json
import subprocess
import sys

import pytest

GRID = {
    "model": "tiny", "data": "ltl", "training_box": {"symbols": 2, "size": 4},
    "cells": [
        {"symbols": 1, "size": 3, "count": 40, "correct": 40}, {"symbols": 2, "size": 5, "count": 20, "correct": 9},
    ],
}  # fmt: skip


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.json"
    path.write_text(json.dumps(GRID))
    return path


def test_every_output_is_written_of_every_grid(symbinv, tmp_path, grid):
    outputs = [tmp_path / name for name in ("h.png", "h.svg", "h.pdf", "h.csv")]
    both = tmp_path / "both.json"
    both.write_text(json.dumps([GRID, {**GRID, "model": "other"}]))  # a list is as good as many files
    result = symbinv("plot", "heatmap", grid, both, *(f"--output={path}" for path in outputs))
    assert result.code == 0 and result.out.count("tiny on ltl") == 2 and result.out.count("other on ltl") == 1
    assert result.out.count("in training box 100.0 %") == 3 and all(path.stat().st_size for path in outputs)
    assert outputs[0].read_bytes().startswith(b"\x89PNG") and outputs[3].read_text().count("\n") == 1 + 3 * 2
    assert outputs[3].read_text().count("model,data") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ('{"model": 1}', "model=1: must be text"), ("[]", "bad.json: has no grid; give a grid as")],
)
def test_a_file_that_holds_no_grid(symbinv, tmp_path, text, message):
    path = tmp_path / "bad.json"
    path.write_text(text)
    result = symbinv("plot", "heatmap", path, "--output", tmp_path / "h.png")
    assert result.code == 2 and message in result.err and result.err.count("\n") == 1


def test_paths_that_cannot_be(symbinv, tmp_path, grid):
    result = symbinv("plot", "heatmap", tmp_path / "none.json")
    assert result.code == 2 and "none.json: No such file or directory; check the path" in result.err
    result = symbinv("plot", "heatmap", grid, "--output", "heat.bmp")
    assert result.code == 2 and "--output heat.bmp: unknown kind of file; end it in .png" in result.err


def test_without_matplotlib_the_extra_is_named_and_tables_still_work(tmp_path, grid):
    program = """if True:
        import sys, symbinv
        sys.modules["matplotlib"] = None
        print(symbinv.main())
        sys.argv[-1] = "t.png"
        sys.exit(symbinv.main())"""
    command = [sys.executable, "-c", program, "plot", "heatmap", str(grid), "--output", "t.csv"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 2 and result.stdout.endswith("0\n")
    assert "needs matplotlib, which is not installed; in a checkout, run pip install '.[plot]'" in result.stderr
