"""Every metric of the package is a Space: pushed, and loaded back by `evaluate.load("OWNER/NAME")`."""

from pathlib import Path

import pytest

import hf_symbinv
from hf_symbinv.metrics.registration import METRICS

from .fixtures import run

PUSH = """
from hf_symbinv.cli import main
result = [main(["push", f"{given['folder']}/{name}", f"alice/{name}"]) for name in given["names"]]
"""
# What a metric is given, and what is right by hand: Wilson's interval for 1 of 2 is [0.0945, 0.9055].
COMPUTE = """
import evaluate

loaded = {name: evaluate.load(f"alice/{name}") for name in given}
result = {
    "modules": sorted({type(metric).__module__ for metric in loaded.values()}),
    "alpha_covariance": loaded["alpha_covariance"].compute(
        predictions=[["a;{b}", "b;{a}"], ["{a}", "{a}"]],
        renamings=[[{"a": "a", "b": "b"}, {"a": "b", "b": "a"}], [{"a": "a"}, {"a": "b"}]],
    )["alpha_covariance"],
    "edit_distance": loaded["edit_distance"].compute(
        predictions=["abca", "p3 p27"], references=["a b c a", "p3 p27 p3"]
    )["per_example"],
    "ltl_witness": loaded["ltl_witness"].compute(
        predictions=["a;{b}", "{b}"], formulas=["&aXb", "&aXb"], workers=1, timeout=60
    ),
    "prop_assignment": loaded["prop_assignment"].compute(
        predictions=["b0a1", "a1"], formulas=["&a!b", "&a!b"], workers=1, timeout=60
    ),
}
"""


@pytest.mark.slow
def test_every_metric_is_loaded_from_its_space_and_is_right(server, tmp_path):
    folder = Path(hf_symbinv.__file__).parent / "metrics"
    given = {"folder": str(folder), "names": METRICS}
    assert run(server, PUSH, given, tmp_path / "alice") == [0] * len(METRICS)
    server.requests.clear()
    found = run(server, COMPUTE, METRICS, tmp_path / "user")
    for name in METRICS:
        assert f"GET /spaces/alice/{name}/resolve/main/{name}.py" in server.requests
    assert all(module.startswith("evaluate_modules.metrics.alice--") for module in found["modules"])
    assert (found["alpha_covariance"], found["edit_distance"]) == (0.5, [0, 1])
    for name in ("ltl_witness", "prop_assignment"):
        assert (found[name]["accuracy"], found[name]["incorrect"]) == (0.5, 0.5)
        assert [round(bound, 4) for bound in found[name]["accuracy_interval"]] == [0.0945, 0.9055]
