"""The example that joins formulas: its witnesses satisfy them, it finds none exactly where Spot finds none, and parts
have no symbol in common.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.cli import main
from hf_symbinv.solvers.ltl import find_witness
from hf_symbinv.tasks import LTL, load_task

EXAMPLE = f"{Path(__file__).resolve().parents[2] / 'examples' / 'ltl_joined.py'}:JOINED"
JOINED = load_task(EXAMPLE)
NAMES = "abcdefghij"


@pytest.mark.parametrize("seed", range(3))
def test_witnesses_satisfy_formulas_and_where_there_is_none_spot_finds_none(seed):
    drawn = JOINED.draw(NAMES, 5, 30, seed, 150)
    assert drawn == JOINED.draw(NAMES, 5, 30, seed, 150) and all(5 <= JOINED.size(text) <= 30 for text in drawn)
    known = {text: JOINED.solve(text) for text in drawn}
    assert all(LTL.judge(text, answer) == ("correct", "") for text, answer in known.items() if answer is not None)
    without = [text for text, answer in known.items() if answer is None and len(JOINED.symbols(text)) <= 6]
    assert without and all(find_witness(text) is None for text in without)


@given(st.integers(0, 10**6))
def test_any_formula_has_a_witness_exactly_if_spot_finds_one(seed):
    """Also one whose parts share symbols, which this task never draws."""
    for text in LTL.draw(["a", "b", "c"], 1, 20, seed, 10):
        answer = JOINED.solve(text)
        assert (answer is None) == (find_witness(text) is None), text
        assert answer is None or LTL.judge(text, answer) == ("correct", "")


def test_formulas_are_long_and_have_many_symbols():
    drawn = JOINED.draw(NAMES, 15, 50, 0, 1000)
    counts = [len(JOINED.symbols(text)) for text in drawn]
    assert all(counts.count(number) > 50 for number in range(6, 11))
    assert sum(JOINED.size(text) > 35 for text in drawn) > len(drawn) / 4


def test_a_joined_trace_says_what_both_say():
    both = JOINED.solve("&&aXb&cX!c")
    assert both == "&ac;&b!c;{1}"
    assert LTL.judge("&aXb", both)[0] == LTL.judge("&cX!c", both)[0] == "correct"


def test_the_task_passes_the_checker_and_its_data_extend_those_of_ltl(capsys, tmp_path):
    assert main(["task", "check", EXAMPLE]) == 0, capsys.readouterr().err
    common = ["--num-symbols", "8", "--workers", "1", "--output"]
    joined, few, more = (str(tmp_path / name) for name in ("joined", "few", "more"))
    of_task = ["--task", EXAMPLE, "--min-size", "10", "--max-size", "40", "--rows", "60"]
    assert main(["data", *of_task, *common, joined]) == 0, capsys.readouterr().err
    assert main(["data", "--max-size", "10", "--rows", "60", *common, few]) == 0, capsys.readouterr().err
    assert main(["data", "--from", few, "--extend", joined, "--ordered", "--output", more]) == 0
    assert "train" in capsys.readouterr().out
