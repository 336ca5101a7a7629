"""The example that reads what layers know: the bundled prop-canonical computes one level of a formula in each pass."""

import re
from pathlib import Path

import pytest

from hf_symbinv.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "what_layers_know.py"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers") / "data"
    options = ["--task=prop", "--rows=1100", "--num-symbols=5", "--max-size=25", "--seed=3"]
    assert main(["data", f"--output={folder}", *options]) == 0
    return folder


def numbers(table: str) -> list[list[float]]:
    return [[float(cell) for cell in row.split("|")[2:-1]] for row in re.findall(r"^\| \d+ \|.*", table, re.MULTILINE)]


def test_each_pass_of_prop_base_computes_the_next_level(program, data):
    done = program(EXAMPLE, "prop-canonical", f"--data={data}", "--split=train", "--rows=800")
    assert done.code == 0, done.err
    truth, paths = map(numbers, done.out.split("R² of the path"))
    assert len(truth) == len(paths) == 13 and all(value <= 1 for row in (*truth, *paths) for value in row)
    for height in range(1, 5):
        assert truth[height][height] > 0.95 > 0.85 > truth[height - 1][height]
    assert min(paths[0]) > 0.999 and paths[-1][0] < 0.9


def test_what_has_no_such_layers_or_questions_is_refused(program, data):
    def refusal(*arguments: str) -> str:
        return program(EXAMPLE, *arguments).refusal()

    assert "prop-small: has symbol_embedding=streams, and canonical is needed" in refusal(
        "prop-small", f"--data={data}"
    )
    other = data.parent / "ltl"
    assert main(["data", f"--output={other}", "--task=ltl", "--rows=200", "--num-symbols=3", "--max-size=9"]) == 0
    said = refusal("prop-canonical", f"--data={other}", "--split=train")
    assert f"--data {other}: prop-canonical cannot read it (position" in said and said.endswith("name other data")
    assert "--split tset: " in refusal("prop-canonical", f"--data={data}", "--split=tset")
    assert "--rows: the split gives 4 questions, and at least 8" in refusal(
        "prop-canonical", f"--data={data}", "--rows=4"
    )
