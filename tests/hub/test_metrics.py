"""Every metric of the package is a Space: pushed, and loaded back by `evaluate.load("OWNER/NAME")`."""

import json
from pathlib import Path

import pytest

import hf_symbinv
from hf_symbinv.metrics.registration import METRICS

from .fixtures import run, tokens_in

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
    "renaming_invariance": loaded["renaming_invariance"].compute(
        predictions=[["x", "x"], ["yes", "no"]], references=["x", "yes"]
    ),
    "ltl_witness": loaded["ltl_witness"].compute(
        predictions=["a;{b}", "{b}"], formulas=["&aXb", "&aXb"], workers=1, timeout=60
    ),
    "prop_assignment": loaded["prop_assignment"].compute(
        predictions=["b0a1", "a1"], formulas=["&a!b", "&a!b"], workers=1, timeout=60
    ),
}
"""

# What a Space does: it takes the files of the repository and runs the app; a visitor then fills in the form.
VISIT = """
import os, runpy
from gradio_client import Client
from huggingface_hub import snapshot_download

result = {}
for name in given:
    os.chdir(snapshot_download(f"alice/{name}", repo_type="space"))
    app = runpy.run_path("app.py")
    result[name] = app["inputs"]
    if name != "alpha_covariance":
        continue
    _, url, _ = app["demo"].launch(prevent_thread_lock=True, quiet=True)
    visitor = Client(url, verbose=False)
    renamings = [[[["a", "a"], ["b", "b"]], [["a", "b"], ["b", "a"]]]]
    result["answer"] = visitor.predict('[["a;{b}", "b;{b}"]]', json.dumps(renamings), api_name="/compute")
    try:
        visitor.predict("[", "[]", api_name="/compute")
    except Exception as error:
        result["error"] = str(error)
    app["demo"].close()
"""


@pytest.fixture(scope="module")
def pushed(server, tmp_path_factory):
    """Makes sure that the metrics are on the Hub."""
    folder = Path(hf_symbinv.__file__).parent / "metrics"
    given = {"folder": str(folder), "names": METRICS}
    home = tmp_path_factory.mktemp("alice")
    assert run(server, PUSH, given, home) == [0] * len(METRICS)
    assert tokens_in(home) == []


@pytest.mark.slow
def test_every_metric_is_loaded_from_its_space_and_is_right(server, pushed, tmp_path):
    server.requests.clear()
    found = run(server, COMPUTE, METRICS, tmp_path)
    for name in METRICS:
        assert f"GET /spaces/alice/{name}/resolve/main/{name}.py" in server.requests
    assert all(module.startswith("evaluate_modules.metrics.alice--") for module in found["modules"])
    assert (found["alpha_covariance"], found["edit_distance"]) == (0.5, [0, 1])
    assert (found["renaming_invariance"]["changed"], found["renaming_invariance"]["worst"]) == (0.5, 0.5)
    for name in ("ltl_witness", "prop_assignment"):
        assert (found[name]["accuracy"], found[name]["incorrect"]) == (0.5, 0.5)
        assert [round(bound, 4) for bound in found[name]["accuracy_interval"]] == [0.0945, 0.9055]


@pytest.mark.slow
def test_the_app_of_every_space_runs(server, pushed, tmp_path):
    found = run(server, VISIT, METRICS, tmp_path)
    assert found["alpha_covariance"] == ["predictions", "renamings"]
    assert found["edit_distance"] == ["predictions", "references"]
    assert found["renaming_invariance"] == ["predictions", "references"]
    assert set(found["ltl_witness"]) == set(found["prop_assignment"]) == {"predictions", "references", "formulas"}
    assert json.loads(found["answer"])["alpha_covariance"] == 0.0
    assert "Expecting value: line 1 column 2" in found["error"]
